# SPDX-License-Identifier: Apache-2.0
"""A whole upload becomes a blob within the bucket: by copies of its pieces, nothing of it on this machine's disk."""

from __future__ import annotations

import hashlib
import json
import os
import random
import urllib.request
from pathlib import Path
from uuid import uuid4

import pytest

from mlhub.storage.bucket_joins import LEAST_PART_BYTES, in_parts
from mlhub.storage.bucket_spool import SpooledBytes, StoredPiece
from mlhub.storage.buckets import BucketStore, StoreAwayError
from tests.storage.bucket_server import BucketServer, bucket_server

MIB = 2**20
CONTENT = random.Random(5).randbytes(19 * MIB)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
SIZES = [6 * MIB, 64 * 2**10, 100, 7 * MIB, 5 * MIB]  # and what is left
DAY_S = 86_400


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mlhub")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    with bucket_server(tmp_path / "s3") as found:
        yield found


@pytest.fixture
def bucket(server: BucketServer, tmp_path: Path) -> BucketStore:
    return BucketStore("s3://blobs/mlhub", staging=tmp_path / "staging", endpoint=server.url)


def spooled(bucket: BucketStore, content: bytes = CONTENT, sizes: list[int] = SIZES) -> SpooledBytes:
    upload_id, at, spool = uuid4(), 0, bucket.spool()
    for size in [*sizes, len(content) - sum(sizes)]:
        spool.append(upload_id, content[at : at + size], offset=at)
        at += size
    return spool.gather([upload_id], limit_bytes=len(content))


def test_large_pieces_are_copied_in_the_bucket_and_small_ones_are_put_together(bucket, server, tmp_path):
    found = spooled(bucket)
    assert bucket.keep(found) == (SHA256, len(CONTENT))
    with bucket.open(SHA256) as file:
        assert file.read() == CONTENT
    assert sorted(found.pieces[i].key for i in (0, 4, 5)) == sorted(
        source.partition("/")[2] for source in server.copies
    )
    assert not server.unfinished()
    assert not (tmp_path / "staging").exists()


@pytest.mark.parametrize("n_bytes", [1, LEAST_PART_BYTES - 1, LEAST_PART_BYTES, LEAST_PART_BYTES + 1])
def test_an_upload_about_as_large_as_a_part_becomes_the_same_blob(bucket, server, n_bytes):
    content = CONTENT[:n_bytes]
    stored = bucket.keep(spooled(bucket, content, [n_bytes // 2]))
    assert stored == (hashlib.sha256(content).hexdigest(), n_bytes)
    assert server.file(f"mlhub/{stored.sha256[:2]}/{stored.sha256[2:4]}/{stored.sha256}").read_bytes() == content


def test_the_bytes_are_read_from_any_place_before_they_are_stored(bucket):
    found = spooled(bucket)
    with found.open() as file:
        assert file.read(8) == CONTENT[:8]
        file.seek(6 * MIB - 3)
        assert file.read(64 * 2**10 + 200) == CONTENT[6 * MIB - 3 : 6 * MIB - 3 + 64 * 2**10 + 200]
        assert file.seek(0, os.SEEK_END) == len(CONTENT)
        assert file.read(1) == b""


def test_a_piece_that_changed_after_it_was_hashed_is_never_stored_under_that_hash(bucket, server):
    found = spooled(bucket)
    found.finish()
    path = server.file(found.pieces[4].key)
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(StoreAwayError):
        bucket.keep(found)
    assert not bucket.exists(SHA256)
    assert not server.unfinished()


def test_what_a_killed_join_left_is_ended_once_it_is_a_day_old_and_nothing_of_other_programs(bucket, server):
    blob, piece = f"mlhub/{SHA256[:2]}/{SHA256[2:4]}/{SHA256}", f"mlhub/uploads/{uuid4()}/{0:015}"
    others = [f"mlhub/{SHA256}", f"mlhub2/aa/aa/{'a' * 64}", "mlhub/uploads/mine/000", f"uploads/{uuid4()}/{0:015}"]
    for key in (blob, piece, *others):
        asked = urllib.request.Request(f"{server.url}/blobs/{key}?uploads", method="POST")
        urllib.request.urlopen(asked, timeout=60).close()
    begun = server.unfinished()
    assert (len(begun), bucket.sweep_staging(older_than_s=DAY_S)) == (6, 0)
    for path in begun:
        os.utime(path, (0, 0))
    assert bucket.sweep_staging(older_than_s=DAY_S) == 2
    left = [json.loads(path.read_text())["key"] for path in server.unfinished()]
    assert sorted(left) == sorted(others)
    assert bucket.sweep_staging(older_than_s=DAY_S) == 0


def test_a_bucket_that_does_not_list_unfinished_uploads_is_swept_as_far_as_it_can_be(bucket, server):
    server.lists_uploads = False
    assert bucket.sweep_staging(older_than_s=DAY_S) == 0


def test_parts_are_large_enough_and_in_order():
    sizes = [3, 3, 10, 1, 2, 1]
    pieces = [StoredPiece(str(i), size, "") for i, size in enumerate(sizes)]
    parts = in_parts(pieces, least_bytes=5)
    assert [[piece.size_bytes for piece in part] for part in parts] == [[3, 3], [10], [1, 2, 1]]
    assert in_parts([], least_bytes=5) == []
