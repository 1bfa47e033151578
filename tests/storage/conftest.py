# SPDX-License-Identifier: Apache-2.0
"""The people of these tests, and the stores that they are tried on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Cast, make_cast
from tests.storage.bucket_server import BucketServer, bucket_server


@pytest.fixture
def cast(db) -> Cast:
    return make_cast()


@pytest.fixture
def bucket(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    """The platform's store is a bucket; its server."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mlhub")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    with bucket_server(tmp_path / "s3") as server:
        settings.STORE, settings.STORE_ENDPOINT = "s3://blobs/mlhub", server.url
        yield server


@pytest.fixture(params=["disk", "bucket"])
def store(request: pytest.FixtureRequest) -> str:
    if request.param == "bucket":
        request.getfixturevalue("bucket")
    return str(request.param)
