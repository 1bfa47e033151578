# SPDX-License-Identifier: Apache-2.0
"""What every store promises, tried on a disk and on a bucket: bytes under the name of their hash, or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import random
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlhub.core.errors import TooLargeError
from mlhub.storage import buckets
from mlhub.storage.bucket_staging import PIECE_BYTES
from mlhub.storage.buckets import BucketStore, StoreAwayError
from mlhub.storage.stores import BlobStore, DiskStore, blob_store
from tests.storage.bucket_server import BucketServer, Fault, bucket_server

CONTENT = b"some bytes" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
KEY = f"{SHA256[:2]}/{SHA256[2:4]}/{SHA256}"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mlhub")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    with bucket_server(tmp_path / "s3") as found:
        yield found


@pytest.fixture
def bucket(server: BucketServer, tmp_path: Path) -> BucketStore:
    return BucketStore(
        "s3://blobs/mlhub", staging=tmp_path / "staging", endpoint=server.url, pod_endpoint=server.url + "/"
    )


class Place:
    """A store and the folder that its bytes lie in, for tests that look or change them behind its back."""

    def __init__(self, store: BlobStore, root: Path, staging: Path) -> None:
        self.store, self.root, self.staging = store, root, staging

    def files(self) -> list[str]:
        return sorted(p.name for folder in (self.root, self.staging) for p in folder.rglob("*") if p.is_file())

    @property
    def blob(self) -> Path:
        return self.root / KEY


@pytest.fixture(params=["disk", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "disk":
        disk = DiskStore(tmp_path / "blobs")
        return Place(disk, disk.root, tmp_path / "nowhere")
    found: BucketStore = request.getfixturevalue("bucket")
    return Place(found, tmp_path / "s3" / "blobs" / "mlhub", found.staging)


def test_bytes_are_named_by_their_hash_and_kept_once(place: Place) -> None:
    for _ in range(2):
        assert place.store.write(io.BytesIO(CONTENT), limit_bytes=10**6) == (SHA256, len(CONTENT))
    assert place.files() == [SHA256]
    assert place.store.exists(SHA256)
    with place.store.open(SHA256) as file:
        assert file.read() == CONTENT


def test_a_part_is_read_without_the_rest(place: Place) -> None:
    place.store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    with place.store.open(SHA256) as file:
        file.seek(9_995)
        assert file.read(100) == CONTENT[9_995:]
        file.seek(3)
        assert file.read(4) == CONTENT[3:7]
        assert file.tell() == 7
        assert file.seek(0, os.SEEK_END) == len(CONTENT)
        assert file.read() == b""


def test_the_bytes_can_be_had_as_a_file_while_it_is_needed(place: Place) -> None:
    place.store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    with place.store.local_file(SHA256) as path:
        assert path.read_bytes() == CONTENT
    assert place.files() == [SHA256]
    with pytest.raises(FileNotFoundError), place.store.local_file("0" * 64):
        pass


def test_what_is_not_kept_leaves_nothing(place: Place) -> None:
    with place.store.stage(limit_bytes=100) as staging:
        staging.write(b"half of it")
    assert place.files() == []
    with pytest.raises(RuntimeError), place.store.stage(limit_bytes=100):
        raise RuntimeError
    assert place.files() == []


def test_too_much_is_refused_and_leaves_nothing(place: Place) -> None:
    with pytest.raises(TooLargeError) as refused:
        place.store.write(io.BytesIO(CONTENT), limit_bytes=100)
    assert refused.value.facts == {"limit_bytes": 100}
    assert place.files() == []


def test_bytes_that_rotted_are_noticed(place: Place) -> None:
    place.store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    assert place.store.verify(SHA256)
    place.blob.chmod(0o644)
    place.blob.write_bytes(CONTENT[:-1] + b"?")
    assert not place.store.verify(SHA256)
    assert not place.store.verify("0" * 64)


def test_deleting_twice_is_deleting_once(place: Place) -> None:
    place.store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    for _ in range(2):
        place.store.delete(SHA256)
        assert not place.store.exists(SHA256)
    with pytest.raises(FileNotFoundError):
        place.store.open(SHA256)
    assert place.store.age_s(SHA256) == float("inf")


@pytest.mark.parametrize("name", ["../../etc/passwd", "A" * 64, "0" * 63, ""])
def test_what_is_no_hash_names_no_blob(place: Place, name: str) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        place.store.open(name)


def test_keeping_again_makes_bytes_young_again(place: Place) -> None:
    place.store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    os.utime(place.blob, (0, 0))
    assert list(place.store.older_than(3600)) == [SHA256]
    assert place.store.age_s(SHA256) > 3600
    place.store.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    assert list(place.store.older_than(3600)) == []
    assert place.store.age_s(SHA256) < 3600


# of a disk alone


def test_what_dead_uploads_left_is_swept_once_it_is_old(tmp_path: Path) -> None:
    disk = DiskStore(tmp_path)
    dead, young = disk.stage(limit_bytes=10), disk.stage(limit_bytes=10)
    os.utime(dead.path, (0, 0))
    assert disk.sweep_staging(older_than_s=3600) == 1
    assert [path.name for path in disk.staging.iterdir()] == [young.path.name]
    young.discard()


def test_a_disk_is_read_in_place_and_never_written_again(tmp_path: Path) -> None:
    disk = DiskStore(tmp_path)
    disk.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    assert disk.uri(SHA256) == disk.path(SHA256).as_uri()
    assert disk.lend(SHA256) == ""
    assert not disk.path(SHA256).stat().st_mode & 0o222


# of a bucket alone


def test_a_blob_that_a_dead_process_was_reading_is_swept_once_it_is_old(bucket: BucketStore) -> None:
    bucket.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    for age_s, is_swept in ((60, False), (7200, True)):
        with bucket.local_file(SHA256) as path:
            begun = path.parent.stat().st_mtime - age_s
            os.utime(path.parent, (begun, begun))
            assert bucket.sweep_staging(older_than_s=3600) == is_swept
            assert path.exists() != is_swept
            path.parent.mkdir(exist_ok=True)  # its own context removes it as well


@pytest.mark.parametrize("n_bytes", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES + 5])
def test_a_stream_goes_into_the_bucket_in_pieces_that_it_joins_and_never_onto_this_machines_disk(
    bucket: BucketStore, server: BucketServer, tmp_path: Path, n_bytes: int
) -> None:
    content = random.Random(n_bytes).randbytes(n_bytes)
    with bucket.stage(limit_bytes=n_bytes) as staging:
        for at in range(0, n_bytes, 65_537):
            staging.write(content[at : at + 65_537])
        stored = staging.finish()
        assert stored == (hashlib.sha256(content).hexdigest(), n_bytes)
        with staging.open() as file:
            assert file.read(4) == content[:4]
        for _ in range(2):  # as after a collection
            assert bucket.keep(staging) == stored
            assert bucket.verify(stored.sha256)
            bucket.delete(stored.sha256)
        bucket.keep(staging)
    assert bucket.verify(stored.sha256)
    assert bucket.uri(stored.sha256) == ""
    n_pieces = -(-n_bytes // PIECE_BYTES) if n_bytes >= PIECE_BYTES else 0
    assert sum(verb == "PUT" and "/uploads/" in path for verb, path in server.requests) == n_pieces
    assert len(server.copies) == (3 * n_pieces if n_pieces > 1 else 0)
    assert not server.unfinished()
    assert [path.name for path in (server.root / "blobs").rglob("*") if path.is_file()] == [stored.sha256]
    assert not (tmp_path / "staging").exists()


def test_a_stream_that_breaks_off_passes_the_limit_or_loses_its_bucket_leaves_no_piece(
    bucket: BucketStore, server: BucketServer
) -> None:
    chunk = bytes(PIECE_BYTES)
    with bucket.stage(limit_bytes=10**9) as staging:
        staging.write(chunk)
    with bucket.stage(limit_bytes=2 * PIECE_BYTES) as staging:
        staging.write(chunk)
        staging.write(chunk)
        with pytest.raises(TooLargeError):
            staging.write(b"1")
        assert not [path for path in (server.root / "blobs").rglob("*") if path.is_file()]
    server.fault = lambda asked: Fault.LOST if asked.verb == "put" else Fault.NONE
    with pytest.raises(StoreAwayError), bucket.stage(limit_bytes=10**9) as staging:
        staging.write(chunk)
    server.fault = lambda _: Fault.NONE
    assert not [path for path in (server.root / "blobs").rglob("*") if path.is_file()]


def test_pieces_of_a_stream_whose_process_died_are_found_by_their_age(
    bucket: BucketStore, server: BucketServer
) -> None:
    dead = bucket.stage(limit_bytes=10**9)
    dead.write(bytes(PIECE_BYTES))
    assert not list(bucket.spool().older_than(3600))
    for path in (server.root / "blobs").rglob("*"):
        os.utime(path, (0, 0))
    [found] = bucket.spool().older_than(3600)
    bucket.spool().discard(found)
    assert not [path for path in (server.root / "blobs").rglob("*") if path.is_file()]


def test_a_blob_that_is_read_whole_costs_one_range(bucket: BucketStore, server: BucketServer) -> None:
    bucket.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    with bucket.open(SHA256) as file:
        assert file.read() == CONTENT
    assert [verb for verb, path in server.requests if path.endswith(SHA256)] == ["PUT", "HEAD", "GET"]


def test_who_has_the_address_reads_the_blob_without_credentials(bucket: BucketStore, server: BucketServer) -> None:
    bucket.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    address = bucket.lend(SHA256)
    assert address.startswith(f"{server.url}/blobs/mlhub/{KEY}?")
    assert "X-Amz-Signature=" in address
    assert "X-Amz-Expires=300" in address
    assert "a-secret" not in address
    with urllib.request.urlopen(address, timeout=600) as answer:
        assert answer.read() == CONTENT


def test_a_bucket_that_pods_do_not_reach_is_not_lent(server: BucketServer, tmp_path: Path) -> None:
    assert BucketStore("s3://blobs", staging=tmp_path, endpoint=server.url).lend(SHA256) == ""


def test_a_bucket_that_does_not_answer_is_away_and_not_empty(
    bucket: BucketStore, server: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.write(io.BytesIO(CONTENT), limit_bytes=10**6)
    impatient = BucketStore("s3://blobs/mlhub", staging=bucket.staging, endpoint="http://127.0.0.1:1")
    for ask in (impatient.exists, impatient.open, impatient.age_s, impatient.verify):
        with pytest.raises(StoreAwayError, match="object store cannot be used"):
            ask(SHA256)


@pytest.mark.parametrize("address", ["blobs", "s3://", "s3://UPPER/x", "gs://blobs", "s3:/blobs"])
def test_an_address_that_means_nothing_names_the_setting(address: str) -> None:
    with pytest.raises(ValueError, match="MLHUB_STORE is"):
        buckets.parse_address(address)


def test_the_settings_choose_the_store(settings, server: BucketServer, tmp_path: Path) -> None:
    assert isinstance(blob_store(), DiskStore)
    settings.STORE, settings.STORE_ENDPOINT = "s3://blobs/deep/prefix", server.url
    found = blob_store()
    assert isinstance(found, BucketStore)
    assert (found.bucket, found.prefix) == ("blobs", "deep/prefix")
    assert blob_store() is found
