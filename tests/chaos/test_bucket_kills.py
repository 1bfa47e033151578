# SPDX-License-Identifier: Apache-2.0
"""Uploads to a bucket, and the collection of what is left there, killed after each request to the bucket and at each
commit: a version is there whole or not at all, and nothing is left for ever."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as platform
from django.db import connection
from django.utils import timezone

from mlhub.datasets.models import Dataset
from mlhub.recovery.databases import Database
from mlhub.retention.tasks import remove_expired
from mlhub.storage.models import Blob, Holding, ResumableUpload
from mlhub.storage.stores import blob_store
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.chaos.bucket_contents import (
    DATASETS,
    collect_after_days,
    content_of,
    fields_of,
    grow_old,
    in_bucket,
    large_content_of,
    send,
    uploaded,
    use,
)
from tests.chaos.bucket_process import Outcome, Requests, requests_in_processes
from tests.chaos.invariants import check_everything
from tests.storage.bucket_server import Asked, BucketServer, Fault
from tests.storage.conftest import bucket  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]
COLLECTION = "mlhub.storage.tasks.collect_unheld_blobs"
EXPIRY = "mlhub.retention.tasks.remove_expired"


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits for nothing between its tries."""
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)


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
