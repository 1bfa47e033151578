# SPDX-License-Identifier: Apache-2.0
"""Whether pods could train on this machine's GPUs: torch has CUDA, and CUDA starts inside a pod's sandbox."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mlhub.backends.local.gpu_driver import GpuReading
from mlhub.backends.local.gpus import COMMON_FILES
from mlhub.runtime.sandbox.pods import enclose

TIMEOUT_S = 60
TENANT = "doctor"
# by the driver alone: torch takes seconds to import
START_CUDA = """
import ctypes, sys
try:
    found = ctypes.CDLL("libcuda.so.1").cuInit(0)
except OSError as error:
    sys.exit(str(error))
sys.exit(f"cuInit: error {found}" if found else 0)
"""


def problem_of_gpus(readings: Sequence[GpuReading], *, scratch: Path) -> str:
    """Why no pod could use these GPUs; "" where they can. scratch: a folder on MLHub's own disk."""
    if torch_has_cuda() is False:
        return "The torch that is installed was built without CUDA."
    return problem_in_sandbox(readings, scratch=scratch)


def torch_has_cuda() -> bool | None:
    """By the file in which torch says how it was built; None where it says nothing."""
    found = importlib.util.find_spec("torch")
    for folder in (found.submodule_search_locations if found else None) or ():
        version = Path(folder, "version.py")
        built_for = re.search(r"^cuda\b[^=\n]*=\s*(\S+)", version.read_text() if version.exists() else "", re.MULTILINE)
        if built_for:
            return built_for[1] != "None"
    return None


def problem_in_sandbox(readings: Sequence[GpuReading], *, scratch: Path) -> str:
    """What CUDA says as it starts in a pod's sandbox with these GPUs; "" where it starts."""
    with tempfile.TemporaryDirectory(dir=scratch, prefix="doctor-") as folder:
        work = Path(folder, "work")
        work.mkdir()
        try:
            command = enclose(
                [sys.executable, "-I", "-S", "-c", START_CUDA],
                {"PATH": os.defpath, "CUDA_VISIBLE_DEVICES": ",".join(reading.uuid for reading in readings)},
                folder=Path(folder),
                work=work,
                readable=[],
                writable=[work],
                tenant=TENANT,
                devices=[*(f"/dev/nvidia{reading.minor}" for reading in readings), *COMMON_FILES],
                ingest=None,
            )
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"The sandbox did not start: {error}"
    if done.returncode == 0:
        return ""
    errors = done.stderr.strip().splitlines()
    return f"CUDA does not start in a pod's sandbox: {errors[-1] if errors else f'status {done.returncode}'}"
