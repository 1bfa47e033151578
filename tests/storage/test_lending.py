# SPDX-License-Identifier: Apache-2.0
"""A whole way of bytes through a bucket: uploaded, validated, named to a pod, fetched by it without passing the web."""

from __future__ import annotations

import io
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from mlhub.control.pods.launch_specs import launch_spec
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs import attempts
from mlhub.jobs.attempts import Held, token_of
from mlhub.runtime.launcher.ingest_api import IngestApi
from mlhub.storage.models import Blob
from mlhub.storage.stores import blob_store
from tests.cast import Cast
from tests.datasets import files
from tests.jobs.builders import job
from tests.storage.bucket_server import BucketServer, bucket_server

CONTENT = b"examples" * 1000


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings) -> Iterator[BucketServer]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mlhub")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    with bucket_server(tmp_path / "s3") as found:
        settings.STORE, settings.STORE_ENDPOINT, settings.STORE_POD_ENDPOINT = "s3://blobs", found.url, found.url
        yield found


@pytest.fixture
def running(cast: Cast, server: BucketServer):
    """A job whose dataset lies in the bucket, and its live attempt."""
    found = job(cast.project_a, cast.bob)
    sha256, size_bytes = blob_store().write(io.BytesIO(CONTENT), limit_bytes=10**6)
    Blob.objects.create(sha256=sha256, size_bytes=size_bytes)
    files = [{"name": "blobs.npz", "sha256": sha256, "size_bytes": size_bytes}]
    DatasetVersion.objects.filter(pk=found.dataset_version_id).update(files=files)
    found.refresh_from_db()
    held = [Held("n0", (0,), 0)]
    size = {"mode": "all_reduce", "n_workers": 1, "n_servers": 0, "held": held, "predicted_step_s": None}
    attempt = attempts.open_attempt(found, **size, reason="fits", now=timezone.now())
    return found, attempt, sha256


def test_a_pod_is_pointed_to_the_bucket(running, client: Client) -> None:
    _, attempt, sha256 = running
    address = f"/api/v1/ingest/attempts/{attempt.id}/blobs/{sha256}"
    assert client.get(address).status_code == 401
    answer = client.get(address, headers={"Authorization": f"Bearer {token_of(attempt.id)}"})
    assert answer.status_code == 307
    assert answer["Cache-Control"] == "no-store"
    with urllib.request.urlopen(answer["Location"], timeout=600) as blob:
        assert blob.read() == CONTENT


def test_each_request_of_a_live_attempt_gets_an_address_that_soon_expires(running, client: Client) -> None:
    _, attempt, sha256 = running
    address = f"/api/v1/ingest/attempts/{attempt.id}/blobs/{sha256}"
    token = {"Authorization": f"Bearer {token_of(attempt.id)}"}
    signed = parse_qs(urlsplit(client.get(address, headers=token)["Location"]).query)
    assert int(signed["X-Amz-Expires"][0]) <= 300
    attempts.close_succeeded(attempt, now=timezone.now())
    refused = client.get(address, headers=token)
    assert (refused.status_code, "Location" in refused) == (410, False)


def test_a_fetch_that_broke_off_asks_for_a_new_address_and_goes_on(
    running, live_server, server: BucketServer, tmp_path: Path, settings
) -> None:
    _, attempt, sha256 = running
    api = IngestApi(live_server.url, str(attempt.id), token_of(attempt.id))
    begun = tmp_path / "begun"
    begun.write_bytes(CONTENT[:3000])
    api.fetch(f"{live_server.url}/api/v1/ingest/attempts/{attempt.id}/blobs/{sha256}", begun)
    assert begun.read_bytes() == CONTENT
    assert ("GET", f"/blobs/{sha256[:2]}/{sha256[2:4]}/{sha256}") in server.requests


def test_the_web_brings_it_where_pods_do_not_reach_the_bucket(running, client: Client, settings) -> None:
    _, attempt, sha256 = running
    settings.STORE_POD_ENDPOINT = ""
    token = {"Authorization": f"Bearer {token_of(attempt.id)}"}
    address = f"/api/v1/ingest/attempts/{attempt.id}/blobs/{sha256}"
    assert b"".join(client.get(address, headers=token)) == CONTENT
    part = client.get(address, headers={**token, "Range": "bytes=8-15"})
    assert (part.status_code, b"".join(part)) == (206, b"examples")


def test_pods_get_the_address_of_the_ingest_api(running, settings) -> None:
    _, attempt, sha256 = running
    [item] = launch_spec(attempts.attempt_to_launch(attempt.id)).inputs
    assert item.uri == f"{settings.PUBLIC_URL}/api/v1/ingest/attempts/{attempt.id}/blobs/{sha256}"


def test_a_trial_reads_a_copy_that_is_gone_afterwards(running) -> None:
    _, _, sha256 = running
    with blob_store().local_file(sha256) as path:
        assert path.read_bytes() == CONTENT
    assert not path.exists()


def test_an_upload_to_a_bucket_that_is_away_is_answered_to_come_again(
    cast: Cast, server: BucketServer, settings
) -> None:
    settings.STORE_ENDPOINT = "http://127.0.0.1:1"
    form = files.form("points.csv", files.csv(20), name="points", project=cast.project_a.id, target="width")
    refused = cast.client(cast.bob).post("/api/v1/datasets", form, format="multipart")
    assert refused.status_code == 503
    assert refused.json()["code"] == "store_away"
    assert refused["Retry-After"] == "10"
    assert not DatasetVersion.objects.filter(dataset__name="points").exists()
