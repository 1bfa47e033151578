# SPDX-License-Identifier: Apache-2.0
"""An accelerator for machines without one: a device of torch called `testdevice`, compiled from accelerator.cpp.

Its memory is apart from the processor's, so an operation that mixes the two fails as it does on a GPU. load() makes a
process have one; build() is for those who start the process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import types
from pathlib import Path

import torch

SOURCE = Path(__file__).with_name("accelerator.cpp")
NAME = "testdevice"
VARIABLE = "MLHUB_TEST_ACCELERATOR"  # the library to load
COMPILER = os.environ.get("CXX") or next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), "")


def build(folder: Path) -> Path:
    """Compiles the library into the folder."""
    library = folder / "accelerator.so"
    torch_folder = Path(torch.__file__).parent
    includes = [f"-I{torch_folder / 'include'}", f"-I{torch_folder / 'include/torch/csrc/api/include'}"]
    linked = [f"-L{torch_folder / 'lib'}", "-ltorch_cpu", "-lc10"]
    command = [COMPILER, "-O0", "-std=c++20", "-fPIC", "-shared", *includes, str(SOURCE), *linked, "-o", str(library)]
    subprocess.run(command, check=True, timeout=600)
    return library


def load() -> None:
    """Gives this process the accelerator that its environment names."""
    torch.ops.load_library(os.environ[VARIABLE])
    module = types.ModuleType(f"torch.{NAME}")
    module.is_available = lambda: True  # type: ignore[attr-defined]
    module.device_count = lambda: 1  # type: ignore[attr-defined]
    module.current_device = lambda: 0  # type: ignore[attr-defined]
    module._is_in_bad_fork = lambda: False  # type: ignore[attr-defined]
    module.manual_seed_all = lambda _: None  # type: ignore[attr-defined]
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, module)
