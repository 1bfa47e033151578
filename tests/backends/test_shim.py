# SPDX-License-Identifier: Apache-2.0
"""What the shim of a pod knows of the pod's processes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest

from mlhub.backends.local import shim


@pytest.fixture
def family() -> Iterator[subprocess.Popen[str]]:
    """A process with a child that leads a session of its own."""
    script = "setsid sleep 600 & echo $!; wait"
    process = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("has_lists", [shim.HAS_CHILDREN, False])
def test_all_of_a_pod_s_processes_are_found_whether_or_not_the_kernel_lists_children(
    family: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, has_lists: bool
) -> None:
    monkeypatch.setattr(shim, "HAS_CHILDREN", has_lists)
    assert family.stdout is not None
    child = int(family.stdout.readline())
    try:
        assert shim.descendants(family.pid) == sorted({family.pid, child})
        assert shim.memory_of(family.pid) >= shim.private_memory(child) > 0
    finally:
        subprocess.run(["kill", "-9", str(child)], check=True)


def test_the_end_of_a_pod_is_noticed_at_once() -> None:
    process = subprocess.Popen(["sleep", "600"])
    end = shim.end_of(process)
    assert end.poll(0) == []
    process.kill()
    began = time.monotonic()
    assert end.poll(600_000)
    assert time.monotonic() - began < 60
    process.wait()
