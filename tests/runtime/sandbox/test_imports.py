# SPDX-License-Identifier: Apache-2.0
"""Programs find the platform's package where Landlock alone confines them, and nothing of what lies next to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlhub.runtime.sandbox import pods
from mlhub.runtime.sandbox.isolation import Isolation
from mlhub.runtime.sandbox.runner import PROJECT, run_isolated
from mlhub.runtime.sandbox.verdicts import SandboxLimits

ALONE = Isolation(has_namespaces=False, has_own_user=False, has_landlock=True, has_filter=True, confines_signals=True)
LIMITS = SandboxLimits(timeout_s=120.0, memory_bytes=2**31, scratch_bytes=2**30)
PROGRAM = f"""
import os
import mlhub.runtime.inspection.inspect
try:
    os.listdir({str(PROJECT)!r})
except PermissionError:
    print("imported, and no more")
"""


def test_a_run_imports_the_platform_and_cannot_list_what_lies_next_to_it(tmp_path: Path) -> None:
    ended = run_isolated(["-c", PROGRAM], folder=tmp_path, limits=LIMITS, within=ALONE)
    assert (ended.exit_code, ended.output) == (0, "imported, and no more\n"), ended.errors


@pytest.mark.parametrize("given", [str(PROJECT), f"{PROJECT}{os.pathsep}/nonexistent/layer", ""])
def test_a_pod_imports_the_platform_and_cannot_list_what_lies_next_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setattr(pods, "isolation", lambda: ALONE)
    folder, work = tmp_path / "pod", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    argv = pods.enclose(
        [sys.executable, "-c", PROGRAM], {"PYTHONPATH": given}, folder=folder, work=work, readable=[],
        writable=[work], tenant="acme", ingest=None,
    )  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "imported, and no more\n"), done.stderr
