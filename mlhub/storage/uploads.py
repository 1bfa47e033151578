# SPDX-License-Identifier: Apache-2.0
"""Multipart uploads straight into the store: hashed while they arrive, never whole in memory, removed unless stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from rest_framework.parsers import MultiPartParser

from mlhub.storage.resumable import consumed
from mlhub.storage.stores import IncomingBytes, StagedBytes, blob_store

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase
    from rest_framework.request import Request
    from rest_framework.views import APIView

    from mlhub.tenants.models import Project, User

    _View = APIView
else:
    _View = object


class StagedFile(UploadedFile):
    """An uploaded file in staging. Django closes it with the request, which removes what was not stored."""

    def __init__(self, staging: IncomingBytes, *, name: str, content_type: str | None) -> None:
        super().__init__(file=None, name=name, content_type=content_type, size=0)
        self.staging = staging

    def close(self) -> None:
        self.staging.discard()


class StagingHandler(FileUploadHandler):
    """Django's hook: writes each file of a request to staging. Raises TooLargeError at the limit."""

    file: StagedFile | None = None  # Django closes it when the request breaks off
    is_whole = True  # of a file that is none Django closes nothing: see remove_part()

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        staging = blob_store().stage(limit_bytes=settings.MAX_UPLOAD_BYTES)
        self.file, self.is_whole = StagedFile(staging, name=self.file_name or "", content_type=self.content_type), False

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:  # noqa: ARG002 (Django's signature)
        assert self.file is not None
        self.file.staging.write(raw_data)

    def file_complete(self, file_size: int) -> StagedFile | None:
        if self.file is not None:
            self.file.size, self.is_whole = file_size, True
        return self.file

    def upload_interrupted(self) -> None:
        if self.file is not None:
            self.file.close()

    def remove_part(self) -> None:
        """Removes the bytes of a file that did not come to its end, as where the disk is full."""
        if self.file is not None and not self.is_whole:
            self.file.close()


class UploadMixin(_View):
    """A view whose multipart files are StagedFiles."""

    parser_classes = [MultiPartParser]
    rate_limit_budgets = {"POST": "uploads"}

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self._handler = StagingHandler(request)
        request.upload_handlers = [self._handler]
        return super().initialize_request(request, *args, **kwargs)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        finally:
            self._handler.remove_part()


@contextmanager
def uploaded(body: dict[str, Any], *, project: Project, actor: User) -> Iterator[tuple[StagedBytes, str]]:
    """Takes `file` or `upload` out of a validated body: its staged bytes, and its filename.

    A resumable upload is used up if the block succeeds. Raises what resumable.consumed raises.
    """
    file, upload_id = body.pop("file", None), body.pop("upload", None)
    if upload_id is None:
        yield cast("StagedFile", file).staging, file.name
        return
    with consumed(upload_id, project=project, actor=actor) as found:
        yield found
