# SPDX-License-Identifier: Apache-2.0
"""A checkpoint for which the disk has no room: the error is the disk's, and nothing half-written is left."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from mlhub.runtime.checkpoints import step_folders
from mlhub.runtime.errors import classify
from mlhub.wire.exits import Cause, Fault

TENSORS = {"weight": torch.ones(64, 1024)}


@contextmanager
def file_size_limit(n_bytes: int) -> Iterator[None]:
    """The kernel lets this process write no file beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_the_disk_refuses_is_an_error_of_the_disk_and_leaves_no_file(tmp_path: Path) -> None:
    with file_size_limit(4096), pytest.raises(OSError, match="File too large") as caught:
        step_folders.write_tensors(tmp_path / "weights.safetensors", TENSORS)
    assert caught.value.errno == errno.EFBIG
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_under_checkpoints_is_not_the_fault_of_the_models_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(step_folders, "save_file", refuse)
    with pytest.raises(OSError, match="No space left on device") as caught:
        step_folders.write_tensors(tmp_path / "weights.safetensors", TENSORS)
    assert classify(caught.value)[1] is Cause.IO_ERROR
    assert Cause.IO_ERROR.fault is Fault.PLATFORM


def test_tensors_that_cannot_be_written_at_all_stay_an_error_of_the_code(tmp_path: Path) -> None:
    shared = torch.ones(4)
    with pytest.raises(RuntimeError, match="share memory"):
        step_folders.write_tensors(tmp_path / "weights.safetensors", {"a": shared, "b": shared})
