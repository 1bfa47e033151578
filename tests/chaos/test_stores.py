# SPDX-License-Identifier: Apache-2.0
"""A store that is full or read-only: nothing half is kept, the answer says try again, and trying again succeeds."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import signal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from mlhub.core.errors import UnavailableError
from mlhub.datasets.models import Dataset
from mlhub.jobs import attempts
from mlhub.jobs.models import Artifact
from mlhub.recovery.archive import BackupError
from mlhub.recovery.backups import create_backup
from mlhub.storage.models import Blob, Holding
from tests.cast import Cast, make_cast
from tests.chaos.invariants import check_everything
from tests.datasets import files
from tests.jobs.builders import job
from tests.recovery.conftest import launch

CONTENT = files.csv(200)


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


def upload(cast: Cast) -> Any:
    form = files.form("d.csv", CONTENT, name="d", project=cast.project_a.id)
    return cast.client(cast.bob).post("/api/v1/datasets", form, format="multipart")


def in_store(root: Path) -> list[Path]:
    return [p for p in root.rglob("*") if p.is_file()]


class limited_files:  # noqa: N801 (a context, used as a verb)
    """The kernel lets this process write no file beyond so many bytes: EFBIG, as ENOSPC on a full disk."""

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes

    def __enter__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.n_bytes, self._before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)
        signal.signal(signal.SIGXFSZ, self._handler)


@pytest.mark.parametrize("at", [0, 1, len(CONTENT) // 2, len(CONTENT) - 1])
def test_an_upload_onto_a_disk_that_fills_at_any_byte_leaves_nothing_and_succeeds_later(
    cast: Cast, settings: Any, at: int
) -> None:
    with limited_files(at):
        answer = upload(cast)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable"), answer.content
    assert int(answer.headers["Retry-After"]) > 0
    assert not Dataset.objects.exists()
    assert not Holding.objects.exists()
    assert not in_store(settings.BLOB_ROOT)
    assert upload(cast).status_code == 201
    check_everything()


@pytest.mark.parametrize("verb", ["replace", "chmod"])
def test_an_upload_into_a_store_that_became_read_only_leaves_nothing_and_succeeds_later(
    cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as read_only:
        read_only.setattr(f"mlhub.storage.stores.os.{verb}", refused)
        answer = upload(cast)
    assert answer.status_code == 503, answer.content
    assert (Dataset.objects.count(), Blob.objects.count(), in_store(settings.BLOB_ROOT)) == (0, 0, [])
    assert upload(cast).status_code == 201
    check_everything()


def test_a_pod_s_result_is_refused_as_temporary_while_the_disk_is_full_and_kept_when_it_is_sent_again(
    cast: Cast,
) -> None:
    attempt = launch(job(cast.project_a, cast.bob))
    content = b"weights" * 1000
    client = APIClient(
        headers={
            "Authorization": f"Bearer {attempts.token_of(attempt.id)}",
            "X-Content-SHA256": hashlib.sha256(content).hexdigest(),
        }
    )
    address = f"/api/v1/ingest/attempts/{attempt.id}/artifacts/weights.safetensors"
    with limited_files(100):
        assert client.put(address, content, content_type="application/octet-stream").status_code == 503
    assert not Artifact.objects.exists()
    assert client.put(address, content, content_type="application/octet-stream").status_code == 201
    check_everything()


@pytest.mark.slow
def test_a_backup_onto_a_full_disk_fails_and_leaves_no_file(cast: Cast, tmp_path: Path) -> None:
    target = tmp_path / "backups" / "full.backup"
    with limited_files(20_000), pytest.raises((BackupError, OSError)):
        create_backup(target)
    assert not list(target.parent.iterdir())
    create_backup(target)
    assert target.exists()


@pytest.mark.slow
def test_the_command_of_a_backup_says_in_words_which_disk_is_full_or_that_the_store_is_away(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "backups" / "full.backup"
    assert upload(cast).status_code == 201
    call_command("backup", str(target))
    size_bytes = target.stat().st_size
    target.unlink()
    with limited_files(size_bytes - 1), pytest.raises(CommandError, match=r"takes no more bytes .* Make room"):
        call_command("backup", str(target))
    assert not list(target.parent.iterdir())

    def away(*_: Any) -> None:
        raise UnavailableError("The store is away.", remedy="Try again.", retry_after_s=1)

    with monkeypatch.context() as patched:
        patched.setattr("mlhub.storage.stores.DiskStore.local_file", away)
        with pytest.raises(CommandError, match=r"The store is away\. Try again\."):
            call_command("backup", str(target))
    assert not list(target.parent.iterdir())
