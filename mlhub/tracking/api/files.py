# SPDX-License-Identifier: Apache-2.0
"""Artifacts of runs through the platform, as MLflow's clients move them by the scheme mlflow-artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpResponseBase
from rest_framework.parsers import BaseParser
from rest_framework.response import Response

from mlhub.core.api.views import AnyAccept
from mlhub.core.errors import InvalidInputError, NotFoundError
from mlhub.jobs.models import Job
from mlhub.storage.actions import require_room
from mlhub.storage.downloads import blob_response
from mlhub.storage.stores import CHUNK_BYTES, blob_store
from mlhub.tracking import artifacts
from mlhub.tracking.access import Caller
from mlhub.tracking.api.bodies import text
from mlhub.tracking.api.protocol import ProtocolView, query_of
from mlhub.tracking.models import Run

if TYPE_CHECKING:
    from rest_framework.request import Request


class UnreadBody(BaseParser):
    """Leaves the body unread: it may be large."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        return stream


class ListView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        """What is directly in a folder; paths are relative to it. Of a file: an empty list."""
        target, path = _target(self.caller, text(query_of(request), "path", default=""))
        found = artifacts.listing(target, path)
        return Response({"files": [_file(one) for one in found]})


class FileView(ProtocolView):
    parser_classes = [UnreadBody]
    content_negotiation_class = AnyAccept

    def put(self, request: Request, path: str, **_: Any) -> Response:
        target, name = _target(self.caller, path)
        self.caller.require_logger(target)  # before the body is read: it may fill the disk
        size = request.headers.get("Content-Length") or "0"
        size_bytes = int(size) if size.isdecimal() else 0
        require_room(target.project.organisation, size_bytes=size_bytes, user=self.caller.user)
        with blob_store().stage(limit_bytes=settings.MAX_UPLOAD_BYTES) as staging:
            while chunk := request._request.read(CHUNK_BYTES):
                staging.write(chunk)
            artifacts.store(self.caller, target, path=name, staging=staging)
        return Response({})

    def get(self, request: Request, path: str, **_: Any) -> HttpResponseBase:
        target, name = _target(self.caller, path)
        return blob_response(request._request, artifacts.file_of(target, name), filename=name.rpartition("/")[2])

    def delete(self, request: Request, path: str, **_: Any) -> Response:  # noqa: ARG002 (DRF's signature)
        target, name = _target(self.caller, path)
        artifacts.remove(self.caller, target, path=name)
        return Response({})


def _target(caller: Caller, path: str) -> tuple[Run | Job, str]:
    """The run of experiment/run/artifacts/path, and the path. Raises NotFoundError, InvalidInputError."""
    parts = path.strip("/").split("/")
    if len(parts) < 3 or parts[2] != artifacts.FOLDER or ".." in parts:
        raise InvalidInputError(
            f"{path[:200]!r} names no artifact of a run.",
            field="path",
            remedy="The artifact_uri of a run says how its paths begin.",
        )
    target = caller.run(parts[1])
    if str(target.project_id) != parts[0]:
        raise NotFoundError(f"The experiment {parts[0][:100]} has no run {parts[1][:100]}.")
    return target, "/".join(parts[3:])


def _file(entry: artifacts.FileEntry) -> dict[str, Any]:
    found = {"path": entry.path, "is_dir": entry.is_dir}
    return found if entry.is_dir else {**found, "file_size": entry.size_bytes}
