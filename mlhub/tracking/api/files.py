# SPDX-License-Identifier: Apache-2.0
"""Files of runs and models through the platform, as MLflow's clients move them by the scheme mlflow-artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpResponseBase
from rest_framework.parsers import BaseParser
from rest_framework.response import Response

from mlhub.core.api.views import AnyAccept
from mlhub.storage.actions import require_room
from mlhub.storage.downloads import blob_response
from mlhub.storage.stores import CHUNK_BYTES, blob_store
from mlhub.tracking import artifacts, descriptions
from mlhub.tracking.api.bodies import run_id, text
from mlhub.tracking.api.protocol import ProtocolView, query_of
from mlhub.tracking.registered import owner_of

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
        target, path = owner_of(self.caller, text(query_of(request), "path", default=""))
        found = artifacts.listing(target, path)
        return Response({"files": [file_entry(one) for one in found]})


class FileView(ProtocolView):
    parser_classes = [UnreadBody]
    content_negotiation_class = AnyAccept

    def put(self, request: Request, path: str, **_: Any) -> Response:
        target, name = owner_of(self.caller, path)
        changed = artifacts.require_changeable(target)
        self.caller.require_logger(changed)  # before the body is read: it may fill the disk
        size = request.headers.get("Content-Length") or "0"
        size_bytes = int(size) if size.isdecimal() else 0
        require_room(changed.project, size_bytes=size_bytes, user=self.caller.user)
        with blob_store().stage(limit_bytes=settings.MAX_UPLOAD_BYTES) as staging:
            while chunk := request._request.read(CHUNK_BYTES):
                staging.write(chunk)
            artifacts.store(self.caller, target, path=name, staging=staging)
        return Response({})

    def get(self, request: Request, path: str, **_: Any) -> HttpResponseBase:
        target, name = owner_of(self.caller, path)
        return blob_response(request._request, artifacts.file_of(target, name), filename=name.rpartition("/")[2])

    def delete(self, request: Request, path: str, **_: Any) -> Response:  # noqa: ARG002 (DRF's signature)
        target, name = owner_of(self.caller, path)
        artifacts.remove(self.caller, target, path=name)
        return Response({})


class RunListView(ProtocolView):
    """As ListView, by the run's id; paths are relative to the run's own folder."""

    def get(self, request: Request, **_: Any) -> Response:
        fields = query_of(request)
        target, folder = self.caller.run(run_id(fields)), text(fields, "path", default="").strip("/")
        found = [file_entry(one, folder=folder) for one in artifacts.listing(target, folder)]
        return Response({"root_uri": descriptions.run_info(target)["artifact_uri"], "files": found})


def file_entry(entry: artifacts.FileEntry, *, folder: str = "") -> dict[str, Any]:
    found = {"path": f"{folder}/{entry.path}" if folder else entry.path, "is_dir": entry.is_dir}
    return found if entry.is_dir else {**found, "file_size": entry.size_bytes}
