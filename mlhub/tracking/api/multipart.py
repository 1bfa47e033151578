# SPDX-License-Identifier: Apache-2.0
"""Large files in parts, as MLflow's clients send them to stores with presigned addresses: here the platform itself.

A part's address needs the credential that the upload was begun with: the client is asked to send it again, since it
sends parts and fetches ranges without its own. So rights are looked at with each, and a revoked token ends the upload.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.encoding import escape_uri_path
from rest_framework.response import Response

from mlhub.core.api.views import AnyAccept
from mlhub.core.errors import DomainError, InvalidInputError, NotFoundError
from mlhub.storage import multipart, resumable
from mlhub.storage.actions import require_room
from mlhub.storage.models import ResumableUpload
from mlhub.tracking import artifacts
from mlhub.tracking.api.bodies import Fields, integer, objects, text
from mlhub.tracking.api.files import UnreadBody
from mlhub.tracking.api.protocol import ProtocolView, fields_of
from mlhub.tracking.limits import check_path
from mlhub.tracking.models import LoggedModel, Run
from mlhub.tracking.registered import owner_of

if TYPE_CHECKING:
    from rest_framework.request import Request

    from mlhub.jobs.models import Job

UPLOADS, DOWNLOADS = "mpu", "presigned"


class MultipartView(ProtocolView):
    """What names a file: by the folder in the address, and a path in the body whose last segment is its name."""

    def place(self, folder: str, fields: Fields) -> str:
        name = text(fields, "path").replace("\\", "/").rpartition("/")[2]
        return f"{folder.strip('/')}/{name}"

    def owner(self, place: str) -> tuple[Run | Job | LoggedModel, str]:
        """What the file is to belong to, and its path there. Raises NotAllowedError, NotFoundError, ConflictError."""
        target, path = owner_of(self.caller, place)
        changed = artifacts.require_changeable(target)
        self.caller.require_logger(changed)
        check_path(path)
        return changed, path

    def upload(self, upload_id: UUID, *, place: str) -> ResumableUpload:
        return multipart.upload_of(self.caller.user, upload_id, place=place)


def upload_id_of(fields: Fields) -> UUID:
    try:
        return UUID(text(fields, "upload_id"))
    except ValueError as error:
        raise NotFoundError("There is no multipart upload of this id.", field="upload_id") from error


class MultipartCreateView(MultipartView):
    def post(self, request: Request, folder: str, **_: Any) -> Response:
        fields = fields_of(request)
        place, n_parts = self.place(folder, fields), integer(fields, "num_parts", default=1)
        target, _path = self.owner(place)
        upload = multipart.begin(target.project, n_parts=n_parts, place=place, user=self.caller.user)
        beginning = request.path.partition(f"/{UPLOADS}/create/")[0]
        credentials = [
            {
                "url": request.build_absolute_uri(f"{beginning}/{UPLOADS}/parts/{upload.pk}/{number}"),
                "part_number": number,
                "headers": {"Authorization": request.headers.get("Authorization", "")},
            }
            for number in range(1, n_parts + 1)
        ]
        return Response({"upload_id": str(upload.pk), "credentials": credentials})


class PartView(MultipartView):
    parser_classes = [UnreadBody]
    content_negotiation_class = AnyAccept

    def put(self, request: Request, upload_id: UUID, number: int, **_: Any) -> Response:
        upload = multipart.upload_of(self.caller.user, upload_id)
        self.owner(upload.metadata)  # before the body is read: it may fill the disk
        size = request.headers.get("Content-Length") or "0"
        growth = (int(size) if size.isdecimal() else 0) - multipart.bytes_of_part(upload, number)
        require_room(upload.project, size_bytes=max(0, growth), user=upload.user)
        sha256 = multipart.put_part(upload, number, request._request.read)
        return Response({}, headers={"ETag": f'"{sha256}"'})


class MultipartCompleteView(MultipartView):
    def post(self, request: Request, folder: str, **_: Any) -> Response:
        fields = fields_of(request)
        place = self.place(folder, fields)
        target, path = self.owner(place)
        upload_id = upload_id_of(fields)
        named = {integer(one, "part_number"): text(one, "etag").strip('"') for one in objects(fields, "parts")}
        try:
            upload = self.upload(upload_id, place=place)
            if len(named) > upload.n_parts:
                raise InvalidInputError(f"The upload has {upload.n_parts:,} parts; more are named.", field="parts")
            with multipart.joined(upload, named) as staging:
                artifacts.store(self.caller, target, path=path, staging=staging)
        except DomainError:
            # repeated after its answer was lost, or while the first of two requests was at work
            if not multipart.was_completed(self.caller.user, upload_id, named, place=place):
                raise
        return Response({})


class MultipartAbortView(MultipartView):
    def post(self, request: Request, folder: str, **_: Any) -> Response:
        fields = fields_of(request)
        place = self.place(folder, fields)
        self.owner(place)
        resumable.remove(self.upload(upload_id_of(fields), place=place))
        return Response({})


class DownloadAddressView(ProtocolView):
    """Where a file's byte ranges are, which clients fetch at the same time, each again when its connection breaks."""

    def get(self, request: Request, path: str, **_: Any) -> Response:
        target, name = owner_of(self.caller, path)
        size_bytes = artifacts.file_of(target, name).size_bytes
        address = escape_uri_path(request.path).replace(f"/{DOWNLOADS}/", "/artifacts/", 1)
        return Response(
            {
                "url": request.build_absolute_uri(address),
                "headers": {"Authorization": request.headers.get("Authorization", "")},
                "file_size": size_bytes,
            },
            headers={"Cache-Control": "no-store"},  # it has the caller's token
        )


class ServerInfoView(ProtocolView):
    """What newer clients ask before they send a large file."""

    def get(self, request: Request, **_: Any) -> Response:  # noqa: ARG002 (DRF's signature)
        return Response(
            {
                "workspaces_enabled": False,
                "multipart_uploads_enabled": True,
                "multipart_downloads_enabled": True,
            }
        )
