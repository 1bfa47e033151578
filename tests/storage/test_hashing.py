# SPDX-License-Identifier: Apache-2.0
"""The SHA-256 of a large file is worked out by a thread that steps back; the request's own does not."""

from __future__ import annotations

import hashlib
import os
import threading

import pytest

from mlhub.storage import hashing


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.parametrize("n_bytes", [0, 1, hashing.BUFFER_BYTES, hashing.BUFFER_BYTES + 7])
def test_a_file_of_any_length_is_hashed(n_bytes, tmp_path):
    path, content = tmp_path / "file", os.urandom(n_bytes)
    path.write_bytes(content)
    assert hashing.sha256_of(path).hexdigest() == hashlib.sha256(content).hexdigest()
    with pytest.raises(FileNotFoundError):
        hashing.sha256_of(tmp_path / "none")


def test_hashing_stands_behind_all_that_the_process_does_besides():
    found, before = [], niceness()

    def chunks():
        for chunk in (b"a", b"bc"):
            found.append(niceness())
            yield chunk

    assert hashing.sha256_of_chunks(chunks()).hexdigest() == hashlib.sha256(b"abc").hexdigest()
    assert found == [min(19, before + hashing.NICENESS)] * 2
    assert niceness() == before
