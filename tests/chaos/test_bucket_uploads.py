# SPDX-License-Identifier: Apache-2.0
"""Uploads to a bucket whose process is killed, that meet each other or the collection, or whose bucket fails: a version
is there whole or not at all, the upload stays until it is, and nothing is left in the bucket for ever."""

from __future__ import annotations

import base64
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as platform
from django.db import connection, connections
from django.utils import timezone

from mlhub.datasets.models import Dataset
from mlhub.recovery.databases import Database
from mlhub.retention.tasks import remove_expired
from mlhub.storage import tasks
from mlhub.storage.bucket_staging import PIECE_BYTES
from mlhub.storage.models import Blob, Holding, ResumableUpload
from mlhub.storage.stores import blob_store
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.chaos.bucket_process import Outcome, Requests, requests_in_processes
from tests.chaos.invariants import check_everything
from tests.datasets import files
from tests.storage.bucket_server import Asked, BucketServer, Fault
from tests.storage.conftest import bucket  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]
FIRST_BYTES = 5 * 2**20  # the least part of a multipart upload: so that there is one, of two copies
DATASETS = "/api/v1/datasets"
COLLECTION = "mlhub.storage.tasks.collect_unheld_blobs"
EXPIRY = "mlhub.retention.tasks.remove_expired"
FOREVER = 10**6


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def token(cast: Cast) -> str:
    return create_token(cast.bob, name="terminal", scopes=["read", "write"], expires_in_days=1)[1]


@pytest.fixture
def processes(cast: Cast, bucket: BucketServer) -> Iterator[Requests]:  # noqa: F811
    environment = {
        "DJANGO_SETTINGS_MODULE": "mlhub.settings",
        "DATABASE_URL": Database.of_settings().url,
        "REDIS_URL": platform.REDIS_URL,
        "MLHUB_HOME": str(platform.MLHUB_HOME),
        "MLHUB_BLOB_ROOT": str(platform.BLOB_ROOT),
        "MLHUB_STORE": "s3://blobs/mlhub",
        "MLHUB_STORE_ENDPOINT": bucket.url,
    }
    with requests_in_processes({**os.environ, **environment}) as found:
        yield found


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


class Kills:
    """Ends a process once the bucket has carried out its n-th request, whose answer it never gets."""

    def __init__(self, server: BucketServer, pid: int, n: int) -> None:
        self._lock, self._pid, self._left = threading.Lock(), pid, n
        self.place = ""
        server.done = self._done

    def _done(self, asked: Asked) -> None:
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self.place = asked.verb
                os.kill(self._pid, signal.SIGKILL)


def killed_everywhere(
    requests: Requests, server: BucketServer, asked: Iterator[dict[str, Any]], *, ends_with: int
) -> Iterator[Outcome]:
    """Makes each of what is asked in a process that is killed one place later than the one before: after each request
    to the bucket, then at each commit. It ends after the requests that were killed nowhere."""
    for n in range(1, 60):
        kills: list[Kills] = []
        found = requests.make(begun=lambda pid, n=n, kills=kills: kills.append(Kills(server, pid, n)), **next(asked))
        server.done = lambda _: None  # what the test asks itself does not count
        wait_for_its_sessions()
        yield found._replace(place=kills[0].place)
        if found.status:
            assert found.status == ends_with, found
            break
    for n in range(1, 60):
        found = requests.make(commit=n, **next(asked))
        wait_for_its_sessions()
        yield found
        if found.status:
            assert found.status == ends_with, found
            return
    raise AssertionError("There is no end of commits.")


def wait_for_its_sessions() -> None:
    """The database notices that a process is gone, and frees its locks, a moment later."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    for _ in range(600):
        with connection.cursor() as cursor:
            cursor.execute(sql)
            if cursor.fetchone() == (0,):
                return
        time.sleep(0.1)
    raise AssertionError("Sessions of a process that has ended stay.")


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


@pytest.mark.slow
def test_a_version_of_an_upload_that_was_killed_anywhere_is_whole_or_not_there_and_nothing_is_left(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    processes: Requests,
    token: str,
) -> None:
    made: list[tuple[str, str]] = []

    def asked() -> Iterator[dict[str, Any]]:
        while True:
            name = f"d{len(made)}"
            upload = uploaded(cast, content_of(name))
            made.append((name, upload))
            yield {"path": DATASETS, "fields": fields_of(cast, name, upload), "token": token}

    places = []
    for outcome in killed_everywhere(processes, bucket, asked(), ends_with=201):
        places.append(outcome.place)
        name, upload = made[-1]
        is_there = Dataset.objects.filter(name=name).exists()
        assert is_there or outcome.status == 0
        # the answer was lost: it is there, or the upload is, and the same request makes it
        if not is_there:
            answer = use(cast, name, upload)
            assert answer.status_code == 201, (outcome, answer.content)
        assert not ResumableUpload.objects.exists(), outcome
        [file] = Dataset.objects.get(name=name).versions.get().files
        assert blob_store().verify(file["sha256"]), outcome
        assert Holding.objects.filter(blob=file["sha256"]).count() == 1, outcome
    assert {"list", "get", "begin", "part", "complete", "delete", "before a commit", "after a commit"} <= {*places}
    collect_after_days(bucket)
    assert in_bucket(bucket) == (len(made), 0, 0)
    assert all(blob_store().verify(sha256) for sha256 in Blob.objects.values_list("pk", flat=True))
    check_everything()


@pytest.mark.slow
def test_a_collection_and_an_expiry_that_were_killed_anywhere_are_made_up_for_by_the_next_ones(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    processes: Requests,
    patient: None,
) -> None:
    held = use(cast, "held", uploaded(cast, content_of("held")))
    assert held.status_code == 201

    def left_behind(task: str) -> Iterator[dict[str, Any]]:
        """A multipart upload that was begun, a blob of no version, pieces of no upload, and an upload that expires."""
        number = 0
        while True:
            number += 1
            bucket.fault = lambda asked: Fault.CUT if asked.verb in ("complete", "abort") else Fault.NONE
            upload = uploaded(cast, content_of(f"{task}{number}"))
            assert use(cast, f"{task}{number}", upload).status_code == 503
            bucket.fault = lambda _: Fault.NONE
            assert bucket.unfinished()
            ResumableUpload.objects.filter(pk=upload).update(written_at=timezone.now() - timedelta(days=100))
            gone = uploaded(cast, content_of(f"gone{number}"))
            ResumableUpload.objects.filter(pk=gone).delete()
            with blob_store().stage(limit_bytes=1000) as staging:
                staging.write(f"{task}{number}".encode())
                blob_store().keep(staging)
            grow_old(bucket)
            yield {"task": task}

    places = []
    for task in (COLLECTION, EXPIRY):
        for outcome in killed_everywhere(processes, bucket, left_behind(task), ends_with=200):
            places.append(outcome.place)
            remove_expired()
            assert not ResumableUpload.objects.exists()
            collect_after_days(bucket)
            assert in_bucket(bucket) == (1, 0, 0), outcome
    assert {"list", "abort", "delete"} <= {*places}
    [sha256] = Blob.objects.values_list("pk", flat=True)
    assert blob_store().verify(sha256)
    check_everything()


def both(*calls: Any) -> list[Any]:
    def call(one: Any) -> Any:
        try:
            return one()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call, one) for one in calls]]


def test_two_equal_uploads_that_are_completed_at_the_same_moment_are_one_blob_of_two_versions(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
) -> None:
    content = content_of("same")
    uploads = [uploaded(cast, content) for _ in range(2)]
    meet = threading.Barrier(2, timeout=120)

    def fault(asked: Asked) -> Fault:
        if asked.verb == "complete":
            meet.wait()
        return Fault.NONE

    bucket.fault = fault
    answers = both(*(lambda n=n: use(cast, f"d{n}", uploads[n]) for n in range(2)))
    assert [answer.status_code for answer in answers] == [201, 201], [answer.content for answer in answers]
    [blob] = Blob.objects.all()
    assert Holding.objects.filter(blob=blob).count() == 2
    assert blob_store().verify(blob.sha256)
    assert in_bucket(bucket) == (1, 0, 0)
    collect_after_days(bucket)
    assert in_bucket(bucket) == (1, 0, 0)
    check_everything()


@pytest.mark.parametrize("moment", ["delete", "head"])
def test_content_that_is_collected_while_it_is_uploaded_again_is_there_in_the_end(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    moment: str,
) -> None:
    """moment: the collection's request that waits until the upload has stored its bytes."""
    content = content_of("again")
    with blob_store().stage(limit_bytes=10**8) as staging:
        staging.write(content)
        sha256 = blob_store().keep(staging).sha256
    upload = uploaded(cast, content)
    grow_old(bucket)
    is_stored, collects = threading.Event(), threading.Event()

    def fault(asked: Asked) -> Fault:
        if asked.verb == moment and sha256 in asked.path and not collects.is_set():
            collects.set()
            is_stored.wait(120)
        return Fault.NONE

    def done(asked: Asked) -> None:
        if asked.verb == "complete":
            is_stored.set()

    bucket.fault, bucket.done = fault, done

    def bring() -> Any:
        assert collects.wait(120)
        return use(cast, "d", upload)

    _, answer = both(tasks.collect_unheld_blobs, bring)
    assert answer.status_code == 201, answer.content
    assert blob_store().verify(sha256)
    assert Holding.objects.get().blob_id == sha256
    collect_after_days(bucket)
    assert in_bucket(bucket) == (1, 0, 0)
    check_everything()


@pytest.mark.slow
def test_an_upload_of_one_request_that_was_killed_anywhere_is_sent_again_and_nothing_is_left(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    processes: Requests,
    token: str,
    tmp_path: Path,
) -> None:
    names: list[str] = []

    def asked() -> Iterator[dict[str, Any]]:
        while True:
            names.append(f"d{len(names)}")
            file = tmp_path / "d.csv"
            file.write_bytes(large_content_of(names[-1]))
            fields = {"name": names[-1], "project": str(cast.project_a.id)}
            yield {"path": DATASETS, "fields": fields, "file": str(file), "token": token}

    places = []
    for outcome in killed_everywhere(processes, bucket, asked(), ends_with=201):
        places.append(outcome.place)
        is_there = Dataset.objects.filter(name=names[-1]).exists()
        assert is_there or outcome.status == 0
        answer = send(cast, names[-1], large_content_of(names[-1]))
        assert answer.status_code == (409 if is_there else 201), (outcome, answer.content)
        [file] = Dataset.objects.get(name=names[-1]).versions.get().files
        assert blob_store().verify(file["sha256"]), outcome
        assert Holding.objects.filter(blob=file["sha256"]).count() == 1, outcome
    assert {"put", "begin", "part", "complete", "delete", "before a commit", "after a commit"} <= {*places}
    collect_after_days(bucket)
    assert in_bucket(bucket) == (len(names), 0, 0)
    check_everything()


def large_content_of(name: str) -> bytes:
    """Of more than a piece."""
    row = f"1,1,{name}\n".encode()
    return files.csv(3) + row * ((PIECE_BYTES + 1000) // len(row))


def send(cast: Cast, name: str, content: bytes) -> Any:
    form = files.form("d.csv", content, name=name, project=cast.project_a.id)
    return cast.client(cast.bob).post(DATASETS, form, format="multipart")


@pytest.mark.parametrize("verb", ["put", "begin", "part", "complete", "head", "delete"])
@pytest.mark.parametrize("fault", [Fault.SLOW_DOWN, Fault.LOST])
def test_an_upload_of_one_request_to_a_bucket_that_fails_is_whole_or_not_there(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    patient: None,
    fault: Fault,
    verb: str,
) -> None:
    content = large_content_of("d")
    bucket.fault = lambda asked: fault if asked.verb == verb else Fault.NONE
    answer = send(cast, "d", content)
    if answer.status_code != 201:
        assert (answer.status_code, answer.json()["code"]) == (503, "store_away"), answer.content
        assert "Try again" in answer.json()["remedy"]
        assert not Dataset.objects.exists()
        bucket.fault = lambda _: Fault.NONE
        assert send(cast, "d", content).status_code == 201
    collect_after_days(bucket)
    assert in_bucket(bucket) == (1, 0, 0)
    assert blob_store().verify(Holding.objects.get().blob_id)
    check_everything()


VERBS = ["list", "get", "begin", "part", "complete", "head", "delete"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("fault", [Fault.SLOW_DOWN, Fault.CUT, Fault.LOST, Fault.IN_200])
def test_a_bucket_that_fails_at_one_request_costs_nothing_or_is_named_with_the_remedy(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    patient: None,
    fault: Fault,
    verb: str,
) -> None:
    """First once, then for as long as the request takes; then it has recovered."""
    if fault is Fault.IN_200 and verb not in ("part", "complete"):
        pytest.skip("S3 answers so where it copies and joins")
    for n_faults in (1, FOREVER):
        name = f"d{n_faults}"
        upload = uploaded(cast, content_of(name))
        left = [n_faults]

        def failing(asked: Asked, left: list[int] = left) -> Fault:
            if asked.verb != verb or left[0] <= 0:
                return Fault.NONE
            left[0] -= 1
            return fault

        bucket.fault = failing
        answer = use(cast, name, upload)
        assert left[0] < n_faults, "no such request was made"
        if n_faults == 1:
            assert answer.status_code == 201, answer.content
        elif answer.status_code != 201:
            assert (answer.status_code, answer.json()["code"]) == (503, "store_away"), answer.content
            assert "Try again" in answer.json()["remedy"]
            assert int(answer.headers["Retry-After"]) > 0
            assert not Dataset.objects.filter(name=name).exists()
            bucket.fault = lambda _: Fault.NONE
            answer = use(cast, name, upload)
            assert answer.status_code == 201, answer.content
        assert Dataset.objects.filter(name=name).exists()
        assert not ResumableUpload.objects.exists()
    collect_after_days(bucket)
    assert in_bucket(bucket) == (2, 0, 0)
    assert all(blob_store().verify(sha256) for sha256 in Blob.objects.values_list("pk", flat=True))
    check_everything()


@pytest.mark.parametrize("verb", ["get", "begin", "part", "complete"])
def test_a_bucket_that_does_not_answer_is_given_up_after_a_time_and_named(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    patient: None,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
) -> None:
    upload = uploaded(cast, content_of("d"))
    bucket.fault = lambda asked: Fault.HELD if asked.verb == verb else Fault.NONE
    with monkeypatch.context() as impatient:
        impatient.setattr("mlhub.storage.bucket_joins.READ_TIMEOUT_S", 0.5)
        impatient.setattr("mlhub.storage.buckets.TIMEOUT", timedelta(seconds=2))
        impatient.setattr(platform, "STORE_ENDPOINT", f"{bucket.url}/")  # a client of its own
        answer = use(cast, "d", upload)
    bucket.released.set()
    assert (answer.status_code, answer.json()["code"]) == (503, "store_away"), answer.content
    assert "Try again" in answer.json()["remedy"]
    assert not Dataset.objects.exists()
    bucket.fault = lambda _: Fault.NONE
    assert use(cast, "d", upload).status_code == 201
    collect_after_days(bucket)
    assert in_bucket(bucket) == (1, 0, 0)
    check_everything()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits for nothing between its tries."""
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
