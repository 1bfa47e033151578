# SPDX-License-Identifier: Apache-2.0
"""Files above the threshold of MLflow's unchanged client, which sends them in parts: whole in the end, or nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from django.utils import timezone
from mlflow.exceptions import MlflowException

from mlhub.core.errors import InvalidInputError
from mlhub.retention.tasks import remove_expired
from mlhub.storage import tasks
from mlhub.storage.downloads import blob_response
from mlhub.storage.models import CompletedUpload, Holding, ResumableUpload, UploadPart
from mlhub.storage.multipart import REMEMBERED_FOR
from mlhub.storage.resumable import consumed
from mlhub.storage.stores import blob_store
from mlhub.tenants.actions import set_quota
from mlhub.tracking.api import files
from mlhub.tracking.models import RunArtifact
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)
CHUNK = 64 * 1024
SIZE = 10 * CHUNK + 17


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that the client sends in parts."""
    monkeypatch.setenv("MLFLOW_MULTIPART_UPLOAD_MINIMUM_FILE_SIZE", str(CHUNK))
    monkeypatch.setenv("MLFLOW_MULTIPART_UPLOAD_CHUNK_SIZE", str(CHUNK))
    path = tmp_path / "weights.bin"
    path.write_bytes(os.urandom(SIZE))
    return path


def spooled() -> list[Path]:
    folder = blob_store().root / "uploads"  # type: ignore[attr-defined]  # of a disk, as tests have it
    return list(folder.iterdir()) if folder.exists() else []


def nothing_is_left() -> bool:
    return not spooled() and not ResumableUpload.objects.exists() and not UploadPart.objects.exists()


class Begun:
    """An upload as the client begins it, sent by hand from there."""

    def __init__(self, mlflow: Any, cast: Cast, *, n_parts: int = 2) -> None:
        self.run = mlflow.MlflowClient().create_run(str(cast.project_a.pk)).info.run_id
        self.token = {"Authorization": f"Bearer {os.environ['MLFLOW_TRACKING_TOKEN']}"}
        self.base = f"{mlflow.get_tracking_uri()}/api/2.0/mlflow-artifacts/mpu"
        self.folder = f"{cast.project_a.pk}/{self.run}/artifacts/deep"
        answer = self.post("create", num_parts=n_parts)
        assert answer.status_code == 200, answer.text
        self.id, self.credentials = answer.json()["upload_id"], answer.json()["credentials"]

    def post(self, verb: str, **fields: Any) -> requests.Response:
        body = {"path": "/home/me/large.bin", **fields}
        return requests.post(f"{self.base}/{verb}/{self.folder}", json=body, headers=self.token, timeout=600)

    def put(self, number: int, content: bytes, **headers: str) -> requests.Response:
        one = self.credentials[number - 1]
        return requests.put(one["url"], data=content, headers={**one["headers"], **headers}, timeout=600)

    def complete(self, etags: list[str]) -> requests.Response:
        parts = [{"part_number": n, "etag": etag, "url": ""} for n, etag in enumerate(etags, start=1)]
        return self.post("complete", upload_id=self.id, parts=parts)


def test_a_file_above_the_threshold_arrives_whole(cast: Cast, acting: Callable[..., Any], large: Path) -> None:
    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    with mlflow.start_run() as run:
        mlflow.log_artifact(str(large), "deep/er")
    stored = RunArtifact.objects.get(path="deep/er/weights.bin").blob
    assert (stored.sha256, stored.size_bytes) == (hashlib.sha256(large.read_bytes()).hexdigest(), SIZE)
    assert Holding.objects.get(blob=stored).organisation == cast.a
    assert nothing_is_left()
    path = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="deep/er/weights.bin")
    assert Path(path).read_bytes() == large.read_bytes()


def test_a_download_comes_in_ranges_and_a_broken_one_is_fetched_again(
    cast: Cast, acting: Callable[..., Any], large: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MLFLOW_MULTIPART_DOWNLOAD_CHUNK_SIZE", str(CHUNK))
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    odd = large.rename(tmp_path / "net 50% é.bin")
    with mlflow.start_run() as run:
        mlflow.log_artifact(str(odd))
    asked: list[str] = []

    def breaking(request: Any, *given: Any, **named: Any) -> Any:
        asked.append(request.headers.get("Range", ""))
        if asked.count(asked[-1]) == 1 and len(asked) == 3:
            raise ConnectionResetError("in the middle of a range")
        return blob_response(request, *given, **named)

    monkeypatch.setattr(files, "blob_response", breaking)
    folder = tmp_path / "back"
    folder.mkdir()
    path = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path=odd.name, dst_path=str(folder))
    assert Path(path).read_bytes() == odd.read_bytes()
    ranges = {f"bytes={begin}-{min(begin + CHUNK, SIZE) - 1}" for begin in range(0, SIZE, CHUNK)}
    assert set(asked) == ranges
    assert len(asked) == len(ranges) + 1


def test_nobody_else_is_told_where_a_file_is(cast: Cast, acting: Callable[..., Any]) -> None:
    begun = Begun(acting(cast.bob), cast, n_parts=1)
    assert begun.complete([begun.put(1, b"hello").headers["ETag"]]).status_code == 200
    address = f"{begun.base.removesuffix('/mpu')}/presigned/{begun.folder}/large.bin"
    told = requests.get(address, headers=begun.token, timeout=600)
    assert (told.status_code, told.json()["file_size"]) == (200, 5)
    part = requests.get(told.json()["url"], headers={**told.json()["headers"], "Range": "bytes=1-3"}, timeout=600)
    assert (part.status_code, part.content) == (206, b"ell")
    assert requests.get(told.json()["url"], timeout=600).status_code == 401
    assert requests.get(f"{address}.no", headers=begun.token, timeout=600).status_code == 404
    acting(cast.charlie)
    stranger = {"Authorization": f"Bearer {os.environ['MLFLOW_TRACKING_TOKEN']}"}
    assert requests.get(address, headers=stranger, timeout=600).status_code == 404
    assert requests.get(told.json()["url"], headers=stranger, timeout=600).status_code == 404


def test_a_completion_whose_answer_was_lost_is_repeated(cast: Cast, acting: Callable[..., Any]) -> None:
    begun = Begun(acting(cast.bob), cast)
    etags = [begun.put(1, b"hello ").headers["ETag"], begun.put(2, b"world").headers["ETag"]]
    first, again = begun.complete(etags), begun.complete(etags)
    assert (first.status_code, again.status_code, again.json()) == (200, 200, first.json())
    assert begun.complete(etags[::-1]).status_code == 404  # not what was completed
    assert begun.complete(etags[:1]).status_code == 404
    assert RunArtifact.objects.count() == 1
    assert nothing_is_left()
    own = begun.token
    for person in (cast.charlie, cast.alice):
        acting(person)
        begun.token = {"Authorization": f"Bearer {os.environ['MLFLOW_TRACKING_TOKEN']}"}
        assert begun.complete(etags).status_code == 404
    begun.token, folder = own, begun.folder
    begun.folder = f"{folder}er"  # another place of the same run
    assert begun.complete(etags).status_code == 404
    begun.folder = folder
    CompletedUpload.objects.update(completed_at=timezone.now() - REMEMBERED_FOR)
    assert begun.complete(etags).status_code == 404
    tasks.collect_unheld_blobs()
    assert not CompletedUpload.objects.exists()


def test_of_two_completions_at_once_both_succeed(cast: Cast, acting: Callable[..., Any]) -> None:
    begun = Begun(acting(cast.bob), cast)
    etags = [begun.put(1, b"hello ").headers["ETag"], begun.put(2, b"world").headers["ETag"]]
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(begun.complete, [etags, etags]))
    assert [answer.status_code for answer in answers] == [200, 200], [answer.text for answer in answers]
    assert RunArtifact.objects.count() == 1
    assert nothing_is_left()


def test_a_file_beyond_the_quota_is_refused_and_leaves_nothing(
    cast: Cast, acting: Callable[..., Any], large: Path
) -> None:
    set_quota(cast.a, max_storage_bytes=5 * CHUNK, actor=None)
    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    with mlflow.start_run(), pytest.raises(MlflowException, match="Failed to upload"):
        mlflow.log_artifact(str(large))
    assert nothing_is_left()
    assert not RunArtifact.objects.exists()


def test_parts_count_as_used_storage_until_the_upload_is_aborted(cast: Cast, acting: Callable[..., Any]) -> None:
    set_quota(cast.a, max_storage_bytes=100, actor=None)
    begun = Begun(acting(cast.bob), cast, n_parts=3)
    assert begun.put(1, b"x" * 60).status_code == 200
    assert begun.put(1, b"y" * 70).status_code == 200  # the same part again
    refused = begun.put(2, b"x" * 31)
    assert (refused.status_code, refused.json()["error_code"]) == (400, "RESOURCE_EXHAUSTED")
    assert len(spooled()) == 1
    assert ResumableUpload.objects.get().length_bytes == 70
    assert begun.post("abort", upload_id=begun.id).status_code == 200
    assert nothing_is_left()
    assert begun.put(2, b"x").status_code == 404


def test_what_is_not_whole_is_not_completed_and_says_what_is_missing(cast: Cast, acting: Callable[..., Any]) -> None:
    begun = Begun(acting(cast.bob), cast)
    second = begun.put(2, b"world").headers["ETag"]
    refused = begun.complete(["none", second])
    assert (refused.status_code, "1 of 2 parts have not arrived: 1." in refused.json()["message"]) == (400, True)
    first = begun.put(1, b"hello ").headers["ETag"]
    refused = begun.complete([second, first])
    assert (refused.status_code, "ETag of part 1" in refused.json()["message"]) == (400, True)
    assert begun.put(2, b"there").headers["ETag"] != second
    assert begun.complete([first, second]).status_code == 400  # the second part is another one now
    assert not RunArtifact.objects.exists()
    assert begun.complete([first, begun.put(2, b"world").headers["ETag"]]).status_code == 200
    with blob_store().open(RunArtifact.objects.get(path="deep/large.bin").blob_id) as file:
        assert file.read() == b"hello world"
    assert nothing_is_left()


@pytest.mark.parametrize("n_parts", [0, 10_001])
def test_a_number_of_parts_that_cannot_be_is_refused(cast: Cast, acting: Callable[..., Any], n_parts: int) -> None:
    begun = Begun(acting(cast.bob), cast)
    answer = begun.post("create", num_parts=n_parts)
    assert (answer.status_code, "larger ones" in answer.json()["message"]) == (400, True)


def test_nobody_else_sends_parts_or_ends_an_upload(cast: Cast, acting: Callable[..., Any]) -> None:
    begun = Begun(acting(cast.bob), cast)
    strangers = []
    for person in (cast.charlie, cast.alice):
        acting(person)
        strangers.append({"Authorization": f"Bearer {os.environ['MLFLOW_TRACKING_TOKEN']}"})
    for headers in (*strangers, {"Authorization": ""}):
        assert begun.put(1, b"evil", **headers).status_code in (401, 404)
        begun.token = headers
        for verb in ("create", "complete", "abort"):
            answer = begun.post(verb, upload_id=begun.id, num_parts=2, parts=[])
            assert answer.status_code in (401, 404) or (verb == "create" and headers == strangers[1])
    assert not UploadPart.objects.exists()
    assert str(ResumableUpload.objects.get(user=cast.bob).pk) == begun.id


def test_an_upload_cut_for_good_expires_and_its_parts_are_no_orphans_before(
    cast: Cast, acting: Callable[..., Any], settings: Any
) -> None:
    begun = Begun(acting(cast.bob), cast)
    assert begun.put(1, b"hello").status_code == 200
    for path in spooled():
        os.utime(path, (0, 0))
    tasks.collect_unheld_blobs()
    assert len(spooled()) == 1
    with pytest.raises(InvalidInputError), consumed(begun.id, project=cast.project_a, actor=cast.bob):  # type: ignore[arg-type]
        pytest.fail("it is no dataset")
    long_ago = timezone.now() - timedelta(days=settings.KEPT_DAYS["uploads"], seconds=1)
    ResumableUpload.objects.update(written_at=long_ago)
    assert remove_expired()["uploads"] == 1
    assert nothing_is_left()
