# SPDX-License-Identifier: Apache-2.0
"""Files that are uploaded to a bucket, and what is in it afterwards."""

from __future__ import annotations

import base64
import os
from typing import Any

from mlhub.storage import tasks
from mlhub.storage.bucket_staging import PIECE_BYTES
from tests.cast import Cast
from tests.datasets import files
from tests.storage.bucket_server import BucketServer, Fault
from tests.storage.conftest import bucket  # noqa: F401 (a fixture)

FIRST_BYTES = 5 * 2**20  # the least part of a multipart upload: so that there is one, of two copies
DATASETS = "/api/v1/datasets"


def content_of(name: str) -> bytes:
    row = f"1,1,{name}\n".encode()
    return files.csv(3) + row * ((FIRST_BYTES + 1000) // len(row))


def uploaded(cast: Cast, content: bytes) -> str:
    """The id of a whole upload, sent in two pieces."""
    client = cast.client(cast.bob)
    values = {"filename": "d.csv", "project": cast.project_a.name}
    named = ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in values.items())
    tus = {"Tus-Resumable": "1.0.0"}
    headers = {**tus, "Upload-Length": str(len(content)), "Upload-Metadata": named}
    address = client.post("/api/v1/uploads", headers=headers)["Location"]
    for offset, piece in ((0, content[:FIRST_BYTES]), (FIRST_BYTES, content[FIRST_BYTES:])):
        kind, at = "application/offset+octet-stream", {**tus, "Upload-Offset": str(offset)}
        answer = client.generic("PATCH", address, piece, content_type=kind, headers=at)  # type: ignore[arg-type]
        assert answer.status_code == 204, answer.content
    return address.rpartition("/")[2]


def fields_of(cast: Cast, name: str, upload: str) -> dict[str, str]:
    return {"name": name, "project": str(cast.project_a.id), "upload": upload}


def use(cast: Cast, name: str, upload: str) -> Any:
    return cast.client(cast.bob).post(DATASETS, fields_of(cast, name, upload), format="multipart")


def collect_after_days(server: BucketServer) -> None:
    """All that is in the bucket is old."""
    server.fault, server.done = (lambda _: Fault.NONE), (lambda _: None)
    grow_old(server)
    tasks.collect_unheld_blobs()


def grow_old(server: BucketServer) -> None:
    for path in server.root.rglob("*"):
        if path.is_file():
            os.utime(path, (0, 0))


def in_bucket(server: BucketServer) -> tuple[int, int, int]:
    """Blobs, pieces of uploads, and multipart uploads under way."""
    there = [path.relative_to(server.root / "blobs").parts for path in (server.root / "blobs").rglob("*")]
    keys = [parts for parts in there if (server.root / "blobs").joinpath(*parts).is_file()]
    pieces = [parts for parts in keys if parts[1] == "uploads"]
    return len(keys) - len(pieces), len(pieces), len(server.unfinished())


def large_content_of(name: str) -> bytes:
    """Of more than a piece."""
    row = f"1,1,{name}\n".encode()
    return files.csv(3) + row * ((PIECE_BYTES + 1000) // len(row))


def send(cast: Cast, name: str, content: bytes) -> Any:
    form = files.form("d.csv", content, name=name, project=cast.project_a.id)
    return cast.client(cast.bob).post(DATASETS, form, format="multipart")
