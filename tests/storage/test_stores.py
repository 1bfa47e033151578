"""The store on a disk: bytes under the name of their hash, whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os

import pytest

from mlhub.core.errors import TooLargeError
from mlhub.storage.stores import DiskStore

CONTENT = b"some bytes" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def store(tmp_path) -> DiskStore:
    return DiskStore(tmp_path)


def files(store: DiskStore) -> list[str]:
    return sorted(p.name for p in store.root.rglob("*") if p.is_file())


def test_bytes_are_named_by_their_hash_and_kept_once(store):
    for _ in range(2):
        assert store.write(io.BytesIO(CONTENT), limit_bytes=10**6) == (SHA256, len(CONTENT))
    assert files(store) == [SHA256]
    with store.open(SHA256) as file:
        assert file.read() == CONTENT
    assert not store.path(SHA256).stat().st_mode & 0o222


def test_what_is_not_kept_leaves_nothing(store):
    with store.stage(limit_bytes=100) as staging:
        staging.write(b"half of it")
    assert files(store) == []
    with pytest.raises(RuntimeError), store.stage(limit_bytes=100):
        raise RuntimeError
    assert files(store) == []


def test_too_much_is_refused_and_leaves_nothing(store):
    with pytest.raises(TooLargeError) as refused:
        store.write(io.BytesIO(CONTENT), limit_bytes=100)
    assert refused.value.facts == {"limit_bytes": 100}
    assert files(store) == []


def test_bytes_that_rotted_are_noticed(store):
    store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    assert store.verify(SHA256)
    store.path(SHA256).chmod(0o644)
    store.path(SHA256).write_bytes(CONTENT[:-1] + b"?")
    assert not store.verify(SHA256)
    assert not store.verify("0" * 64)


def test_deleting_twice_is_deleting_once(store):
    store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    for _ in range(2):
        store.delete(SHA256)
        assert not store.exists(SHA256)
    with pytest.raises(FileNotFoundError):
        store.open(SHA256)
    assert store.age_s(SHA256) == float("inf")


@pytest.mark.parametrize("name", ["../../etc/passwd", "A" * 64, "0" * 63, ""])
def test_what_is_no_hash_names_no_file(store, name):
    with pytest.raises(ValueError, match="SHA-256"):
        store.path(name)


def test_what_dead_uploads_left_is_swept_once_it_is_old(store):
    dead, young = store.stage(limit_bytes=10), store.stage(limit_bytes=10)
    os.utime(dead.path, (0, 0))
    assert store.sweep_staging(older_than_s=3600) == 1
    assert files(store) == [young.path.name]
    young.discard()


def test_keeping_again_makes_bytes_young_again(store):
    store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    os.utime(store.path(SHA256), (0, 0))
    assert list(store.older_than(3600)) == [SHA256]
    store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    assert list(store.older_than(3600)) == []
