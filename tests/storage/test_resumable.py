# SPDX-License-Identifier: Apache-2.0
"""Resumable uploads by tus: bytes arrive once, in order, or not at all; a whole upload is used up by one version."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from mlhub.datasets.models import Dataset, DatasetVersion
from mlhub.retention.tasks import remove_expired
from mlhub.storage import resumable, tasks
from mlhub.storage.actions import used_bytes
from mlhub.storage.models import Blob, ResumableUpload
from mlhub.storage.stores import blob_store
from mlhub.tenants.actions import set_quota
from tests.datasets import files

pytestmark = pytest.mark.django_db
UPLOADS = "/api/v1/uploads"
PIECE = "application/offset+octet-stream"
CONTENT = files.csv(200)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HALF = len(CONTENT) // 2


def metadata(**values: str) -> str:
    return ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in values.items())


def begin(client: Any, project: Any, *, length: int = len(CONTENT), **headers: str) -> Any:
    sent = {"Tus-Resumable": "1.0.0", "Upload-Length": str(length), **headers}
    sent.setdefault("Upload-Metadata", metadata(filename="d.csv", project=project.name))
    return client.post(UPLOADS, headers=sent)


def piece(client: Any, address: str, content: bytes, *, offset: int, **headers: str) -> Any:
    sent = {"Tus-Resumable": "1.0.0", "Upload-Offset": str(offset), **headers}
    return client.generic("PATCH", address, content, content_type=PIECE, headers=sent)


def offset(client: Any, address: str) -> int:
    answer = client.head(address, headers={"Tus-Resumable": "1.0.0"})
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    return int(answer["Upload-Offset"])


def use(client: Any, project: Any, address: str, name: str = "d") -> Any:
    body = {"name": name, "project": str(project.id), "upload": address.rpartition("/")[2]}
    return client.post("/api/v1/datasets", body, format="multipart")


def test_a_file_in_pieces_becomes_a_dataset_and_the_upload_is_gone(
    cast, store, settings, django_capture_on_commit_callbacks
):
    bob = cast.client(cast.bob)
    answer = begin(bob, cast.project_a)
    assert (answer.status_code, answer["Upload-Offset"], answer["Tus-Resumable"]) == (201, "0", "1.0.0")
    assert "Upload-Expires" in answer
    address = answer["Location"]
    assert piece(bob, address, CONTENT[:HALF], offset=0)["Upload-Offset"] == str(HALF)
    early = use(bob, cast.project_a, address)
    assert (early.status_code, early.json()["code"], early.json()["offset_bytes"]) == (409, "upload_incomplete", HALF)
    assert not Dataset.objects.exists()
    answer = piece(bob, address, CONTENT[HALF:], offset=offset(bob, address))
    assert (answer.status_code, answer["Upload-Offset"]) == (204, str(len(CONTENT)))
    with django_capture_on_commit_callbacks(execute=True):
        made = use(bob, cast.project_a, address)
    assert made.status_code == 201, made.json()
    assert made.json()["latest_version"]["files"] == [{"name": "d.csv", "sha256": SHA256, "size_bytes": len(CONTENT)}]
    with blob_store().open(SHA256) as file:
        assert file.read() == CONTENT
    assert (ResumableUpload.objects.count(), used_bytes(cast.a)) == (0, len(CONTENT))
    assert blob_store().spool().size(address.rpartition("/")[2]) == 0
    staging = settings.BLOB_ROOT / "staging"
    assert not staging.exists() if store == "bucket" else not list(staging.iterdir())
    assert use(bob, cast.project_a, address, "e").status_code == 404


def test_equal_content_costs_one_blob_and_a_refused_version_leaves_the_upload(cast, store):
    bob = cast.client(cast.bob)
    for name in ("d", "e"):
        address = begin(bob, cast.project_a)["Location"]
        piece(bob, address, CONTENT, offset=0)
        if name == "e":
            assert use(bob, cast.project_a, address, "d").json()["code"] == "name_taken"
            assert offset(bob, address) == len(CONTENT)
        assert use(bob, cast.project_a, address, name).status_code == 201
    assert (Blob.objects.count(), DatasetVersion.objects.count(), used_bytes(cast.a)) == (1, 2, len(CONTENT))


def test_a_wrong_offset_or_checksum_stores_nothing_and_names_the_remedy(cast, store):
    bob = cast.client(cast.bob)
    address = begin(bob, cast.project_a)["Location"]
    answer = piece(bob, address, CONTENT[10:], offset=10)
    assert (answer.status_code, answer.json()["code"], answer.json()["offset_bytes"]) == (409, "wrong_offset", 0)
    checksum = base64.b64encode(hashlib.sha256(CONTENT).digest()).decode()
    answer = piece(bob, address, b"x" + CONTENT[1:], offset=0, **{"Upload-Checksum": f"sha256 {checksum}"})
    assert (answer.status_code, answer["Content-Type"], answer.json()["status"]) == (
        460, "application/problem+json", 460,
    )  # fmt: skip
    assert offset(bob, address) == 0
    assert blob_store().spool().size(address.rpartition("/")[2]) == 0
    assert piece(bob, address, CONTENT, offset=0, **{"Upload-Checksum": f"sha256 {checksum}"}).status_code == 204
    assert piece(bob, address, b"more", offset=len(CONTENT)).status_code == 413


def test_a_piece_of_another_or_no_content_type_is_refused_and_not_dropped(cast, store):
    bob = cast.client(cast.bob)
    address = begin(bob, cast.project_a)["Location"]
    for content_type in ("", "text/plain"):
        sent = {"Tus-Resumable": "1.0.0", "Upload-Offset": "0"}
        answer = bob.generic("PATCH", address, CONTENT, content_type=content_type, headers=sent)
        assert (answer.status_code, offset(bob, address)) == (415, 0), content_type


def test_of_a_first_piece_that_is_refused_nothing_stays_reserved(cast, store):
    bob = cast.client(cast.bob)
    answer = bob.generic(
        "POST", UPLOADS, b"four", content_type=PIECE,
        headers={"Tus-Resumable": "1.0.0", "Upload-Length": "3",
                 "Upload-Metadata": metadata(project=str(cast.project_a.pk), filename="d.csv")},
    )  # fmt: skip
    assert (answer.status_code, ResumableUpload.objects.count()) == (413, 0)


def test_what_a_killed_process_wrote_before_its_row_is_overwritten(cast, store):
    bob = cast.client(cast.bob)
    address = begin(bob, cast.project_a)["Location"]
    piece(bob, address, CONTENT[:HALF], offset=0)
    upload_id = ResumableUpload.objects.get().pk
    blob_store().spool().append(upload_id, b"?" * 900, offset=HALF)  # and then it was killed
    assert offset(bob, address) == HALF
    piece(bob, address, CONTENT[HALF : HALF + 50], offset=HALF)
    piece(bob, address, CONTENT[HALF + 50 :], offset=HALF + 50)
    assert use(bob, cast.project_a, address).json()["latest_version"]["files"][0]["sha256"] == SHA256


def test_bytes_that_a_restored_database_expects_in_vain_are_asked_for_again(cast, store):
    bob = cast.client(cast.bob)
    address = begin(bob, cast.project_a)["Location"]
    piece(bob, address, CONTENT[:HALF], offset=0)
    blob_store().spool().discard(ResumableUpload.objects.get().pk)
    assert offset(bob, address) == 0


def test_the_length_is_reserved_in_the_quota_until_the_upload_is_removed(cast, django_capture_on_commit_callbacks):
    set_quota(cast.a, max_storage_bytes=100, actor=None)
    bob = cast.client(cast.bob)
    address = begin(bob, cast.project_a, length=70)["Location"]
    refused = begin(bob, cast.project_a, length=31)
    assert (refused.status_code, refused.json()["code"], refused.json()["used_bytes"]) == (422, "quota_exceeded", 70)
    assert "70 are reserved by uploads under way" in refused.json()["detail"]
    piece(bob, address, b"x" * 30, offset=0)
    with django_capture_on_commit_callbacks(execute=True):
        assert bob.delete(address).status_code == 204
    assert used_bytes(cast.a) == 0
    assert not list((blob_store().root / "uploads").iterdir())
    assert begin(bob, cast.project_a, length=100).status_code == 201


def test_strangers_and_colleagues_find_no_upload_and_viewers_begin_none(cast):
    bob = cast.client(cast.bob)
    address = begin(bob, cast.project_a)["Location"]
    for other in (cast.charlie, cast.alice, cast.root):
        client = cast.client(other)
        assert client.head(address, headers={"Tus-Resumable": "1.0.0"}).status_code == 404
        assert piece(client, address, CONTENT, offset=0).status_code == 404
        assert (client.get(address).status_code, client.delete(address).status_code) == (404, 404)
        assert client.get(UPLOADS).json()["results"] == []
    piece(bob, address, CONTENT, offset=0)
    assert use(cast.client(cast.charlie), cast.project_b, address).status_code == 404
    assert begin(cast.client(cast.charlie), cast.project_a, **{
        "Upload-Metadata": metadata(filename="d.csv", project=str(cast.project_a.id))
    }).status_code == 404  # fmt: skip
    assert begin(cast.client(cast.victor), cast.project_a).json()["code"] == "role_too_low"
    assert cast.client(None).head(address, headers={"Tus-Resumable": "1.0.0"}).status_code == 401
    assert [row["offset_bytes"] for row in bob.get(UPLOADS).json()["results"]] == [len(CONTENT)]


@pytest.mark.parametrize(
    ("headers", "status", "field"),
    [
        ({"Tus-Resumable": "0.2.2"}, 412, None),
        ({"Upload-Length": "-1"}, 422, "Upload-Length"),
        ({"Upload-Length": "9" * 30}, 422, "Upload-Length"),
        ({"Upload-Length": str(10**15)}, 413, "Upload-Length"),
        ({"Upload-Metadata": "filename ?"}, 422, "Upload-Metadata"),
        ({"Upload-Metadata": metadata(filename="x")}, 422, "Upload-Metadata"),
        ({"Upload-Metadata": metadata(project="vision")}, 422, "Upload-Metadata"),
        ({"Upload-Concat": "final;nonsense"}, 422, "Upload-Concat"),
    ],
)
def test_a_wrong_header_is_named(cast, headers, status, field):
    answer = begin(cast.client(cast.bob), cast.project_a, **headers)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert answer.json()["remedy"] or field
    if field:
        assert answer.json()["errors"][0]["field"] == field
    assert answer.get("Tus-Version") == ("1.0.0" if status == 412 else None)
    assert not ResumableUpload.objects.exists()


def test_options_name_version_extensions_and_the_largest_file(cast, settings):
    answer = cast.client(cast.bob).options(UPLOADS)
    assert (answer.status_code, answer["Tus-Version"]) == (204, "1.0.0")
    assert {"creation", "checksum", "termination", "expiration"} <= set(answer["Tus-Extension"].split(","))
    assert answer["Tus-Max-Size"] == str(settings.MAX_RESUMABLE_UPLOAD_BYTES)


def test_parts_are_joined_in_the_order_that_is_named(cast, store):
    bob = cast.client(cast.bob)
    parts = []
    for content in (CONTENT[:HALF], CONTENT[HALF:]):
        address = begin(bob, cast.project_a, length=len(content), **{"Upload-Concat": "partial"})["Location"]
        parts.append(address)
        final = {"Upload-Concat": f"final;{' '.join(parts)}"}
        assert begin(bob, cast.project_a, **final).json()["code"] == "upload_incomplete"
        piece(bob, address, content, offset=0)
    assert use(bob, cast.project_a, parts[0]).status_code == 422
    address = begin(bob, cast.project_a, **final)["Location"]
    assert used_bytes(cast.a) == len(CONTENT)
    head = bob.head(address, headers={"Tus-Resumable": "1.0.0"})
    assert (head["Upload-Length"], head["Upload-Concat"]) == (str(len(CONTENT)), final["Upload-Concat"])
    assert use(bob, cast.project_a, address).json()["latest_version"]["files"][0]["sha256"] == SHA256
    assert not ResumableUpload.objects.exists()


def test_an_upload_expires_when_nothing_arrives_and_orphaned_bytes_are_swept(
    cast, settings, django_capture_on_commit_callbacks
):
    bob = cast.client(cast.bob)
    old, new = (begin(bob, cast.project_a)["Location"] for _ in range(2))
    for address in (old, new):
        piece(bob, address, CONTENT[:HALF], offset=0)
    of_old = ResumableUpload.objects.filter(pk=old.rpartition("/")[2])
    of_old.update(written_at=timezone.now() - timedelta(days=settings.KEPT_DAYS["uploads"], seconds=1))
    with django_capture_on_commit_callbacks(execute=True):
        assert remove_expired()["uploads"] == 1
    assert [p.name for p in (blob_store().root / "uploads").iterdir()] == [new.rpartition("/")[2]]
    assert bob.head(old, headers={"Tus-Resumable": "1.0.0"}).status_code == 404
    ResumableUpload.objects.all().delete()  # as with its project
    tasks.collect_unheld_blobs()
    assert list((blob_store().root / "uploads").iterdir())  # an upload may just have begun
    os.utime(blob_store().root / "uploads" / new.rpartition("/")[2], (0, 0))
    tasks.collect_unheld_blobs()
    assert not list((blob_store().root / "uploads").iterdir())


def test_a_full_disk_is_no_fault_of_the_upload_which_goes_on_later(cast, monkeypatch):
    bob = cast.client(cast.bob)
    address = begin(bob, cast.project_a)["Location"]
    piece(bob, address, CONTENT[:HALF], offset=0)
    write = os.pwrite

    def full(descriptor: int, content: Any, at: int) -> int:
        if at > HALF:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, bytes(content)[:100], at)

    with monkeypatch.context() as disk:
        disk.setattr("mlhub.storage.spools.os.pwrite", full)
        answer = piece(bob, address, CONTENT[HALF:], offset=HALF)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.json()["remedy"]
    assert (offset(bob, address), blob_store().spool().size(ResumableUpload.objects.get().pk)) == (HALF, HALF)
    piece(bob, address, CONTENT[HALF:], offset=HALF)
    assert use(bob, cast.project_a, address).json()["latest_version"]["files"][0]["sha256"] == SHA256


def test_a_full_disk_keeps_nothing_of_a_file_that_came_in_one_request(cast, monkeypatch):
    bob, staging = cast.client(cast.bob), blob_store().staging
    body = {"name": "d", "project": str(cast.project_a.id), "target": "y"}
    before = set(staging.glob("*")) if staging.exists() else set()

    class Full(BytesIO):
        def write(self, chunk: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr("mlhub.storage.staging.os.fdopen", lambda descriptor, _: (os.close(descriptor), Full())[1])
        content = SimpleUploadedFile("d.csv", b"x,y\n1,2\n")
        answer = bob.post("/api/v1/datasets", body | {"file": content}, format="multipart")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert (set(staging.glob("*")) - before, Dataset.objects.count()) == (set(), 0)


def test_a_user_has_a_bounded_number_of_uploads_under_way(cast, monkeypatch):
    monkeypatch.setattr(resumable, "MAX_UNDER_WAY", 1)
    bob = cast.client(cast.bob)
    assert begin(bob, cast.project_a).status_code == 201
    assert begin(bob, cast.project_a).json()["code"] == "too_many_uploads"


def test_a_model_is_made_of_a_resumable_upload_too(cast):
    bob = cast.client(cast.bob)
    code = b"import torch\n\ndef build(**_):\n    return torch.nn.Linear(2, 2)\n"
    address = begin(bob, cast.project_a, length=len(code), **{
        "Upload-Metadata": metadata(filename="net.py", project="vision")
    })["Location"]  # fmt: skip
    piece(bob, address, code, offset=0)
    body = {"name": "m", "project": str(cast.project_a.id), "upload": address.rpartition("/")[2]}
    made = bob.post("/api/v1/models", body, format="multipart")
    assert made.status_code == 201, made.json()
    both = {**files.form("net.py", code), "upload": address.rpartition("/")[2]}
    answer = bob.post(f"/api/v1/models/{made.json()['id']}/versions", both, format="multipart")
    assert answer.json()["errors"][0]["field"] == "upload"
