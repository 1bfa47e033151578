# SPDX-License-Identifier: Apache-2.0
"""Resumable uploads by the protocol tus 1.0.0, for clients such as tus-js-client and tuspy; lists and details as JSON.

What tus defines (POST, HEAD, PATCH, OPTIONS) is not in the OpenAPI schema: its requests are headers and raw bytes.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.utils.http import http_date
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.parsers import BaseParser
from rest_framework.response import Response

from mlhub.core.api.strict import NameOrIdField, shown, unknown_name
from mlhub.core.api.views import AnyAccept, VisibleMixin
from mlhub.core.errors import ConflictError, DomainError, InvalidInputError, InvalidQueryError, TooLargeError
from mlhub.core.problems import problem
from mlhub.storage import resumable
from mlhub.storage.api import tus_headers as headers
from mlhub.storage.api.serializers import ResumableUploadSerializer
from mlhub.storage.models import ResumableUpload
from mlhub.storage.streamed_uploads import IS_CONTINUED, PIECE_TYPE
from mlhub.tenants.models import Project
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.throttling import BaseThrottle

UNSUPPORTED = "tus_version"
STATUSES = {headers.CHECKSUM_MISMATCH: 460, resumable.LOCKED: 423, UNSUPPORTED: 412}  # that only tus has


class Piece:
    """The bytes of a request's body, given out once: requests are in reference cycles, and outlive their answers."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def take(self) -> bytes:
        content, self._content = self._content, b""
        return content


class PieceParser(BaseParser):
    """Reads a body as a Piece. Raises TooLargeError."""

    media_type = PIECE_TYPE

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        content: bytes = stream.read(resumable.MAX_PIECE_BYTES + 1)
        if len(content) > resumable.MAX_PIECE_BYTES:
            raise TooLargeError(
                f"A piece with a checksum has at most {resumable.MAX_PIECE_BYTES:,} bytes.",
                remedy="Send smaller pieces, or leave Upload-Checksum out.",
                limit_bytes=resumable.MAX_PIECE_BYTES,
            )
        return Piece(content)


class TusView(VisibleMixin, generics.GenericAPIView[ResumableUpload]):
    """Checks the version, and puts the protocol's headers into every answer."""

    queryset = ResumableUpload.objects.select_related("project__organisation")
    serializer_class = ResumableUploadSerializer
    content_negotiation_class = AnyAccept
    parser_classes = [PieceParser]
    rate_limit_budgets = {"POST": "uploads", "PATCH": "pieces"}

    def get_throttles(self) -> list[BaseThrottle]:
        """One long PATCH, which arrives here in pieces, counts once."""
        is_continued = getattr(self.request._request, "scope", {}).get(IS_CONTINUED, False)
        return [] if is_continued else super().get_throttles()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in ("POST", "HEAD", "PATCH"):
            _require_version(request)
            for name in request.query_params:
                raise InvalidQueryError(unknown_name("query parameter", name, ()), field=shown(name))

    def handle_exception(self, exc: Exception) -> Any:
        if not isinstance(exc, DomainError) or exc.code not in STATUSES:
            return super().handle_exception(exc)
        facts = {**exc.facts, "remedy": exc.remedy}
        return problem(STATUSES[exc.code], exc.code, exc.message, **facts)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        found = super().finalize_response(request, response, *args, **kwargs)
        found["Tus-Resumable"] = headers.VERSION
        if found.status_code == 412:
            found["Tus-Version"] = headers.VERSION
        return found

    @extend_schema(exclude=True)
    def options(self, request: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002 (DRF's signature)
        """What this server can do."""
        return _answer(
            204,
            tus_version=headers.VERSION,
            tus_extension=headers.EXTENSIONS,
            tus_max_size=settings.MAX_RESUMABLE_UPLOAD_BYTES,
            tus_checksum_algorithm=",".join(headers.CHECKSUMS),
        )


class UploadsView(TusView, generics.ListAPIView[ResumableUpload]):
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Lists your uploads that are under way or not used yet."""
        return self.list(request, *args, **kwargs)

    @extend_schema(exclude=True)
    def post(self, request: Request) -> HttpResponse:
        """Begins an upload; a body is its first piece."""
        actor, metadata = caller(request), headers.metadata_in(request)
        named = NameOrIdField().run_validation(headers.required_metadata(metadata, "project"))
        project = Project.objects.select_related("organisation").get_named(
            actor, named, field="Upload-Metadata", project=None
        )
        known: dict[str, Any] = {
            "filename": metadata.get("filename") or headers.required_metadata(metadata, "filename"),
            "metadata": request.headers.get("Upload-Metadata", ""),
            "actor": actor,
        }
        asked = headers.concatenation_in(request)
        if asked.part_ids is not None:
            parts = [ResumableUpload.objects.get_visible(actor, part, field="Upload-Concat") for part in asked.part_ids]
            upload = resumable.join(project, parts, **known)
        else:
            length, content = headers.size_in(request, "Upload-Length"), _piece(request)
            with transaction.atomic():  # of a first piece that is refused nothing stays reserved
                upload = resumable.begin(project, length_bytes=length, is_partial=asked.is_partial, **known)
                if content:
                    upload = resumable.append(upload, content, offset=0, actor=actor)
        return _answer(201, upload, location=f"/api/v1/uploads/{upload.pk}", upload_offset=upload.offset_bytes)


class UploadView(TusView, generics.RetrieveAPIView[ResumableUpload]):
    """One resumable upload, and how much of it has arrived (tus 1.0.0)."""

    @extend_schema(exclude=True)
    def head(self, request: Request, **_: Any) -> HttpResponse:  # noqa: ARG002 (Django's signature)
        """Where the upload goes on."""
        upload = self.get_object()
        found = {"upload_offset": resumable.offset_of(upload), "upload_length": upload.length_bytes}
        if upload.metadata:
            found["upload_metadata"] = upload.metadata
        if upload.is_partial:
            found["upload_concat"] = "partial"
        elif upload.part_ids:
            found["upload_concat"] = "final;" + " ".join(f"/api/v1/uploads/{part}" for part in upload.part_ids)
        return _answer(200, upload, cache_control="no-store", **found)

    @extend_schema(exclude=True)
    def patch(self, request: Request, **_: Any) -> HttpResponse:
        """Stores a piece of the upload."""
        upload = self.get_object()
        if upload.part_ids:
            raise ConflictError("A concatenation takes no bytes of its own.", code="is_concatenation")
        offset, content = headers.size_in(request, "Upload-Offset"), _piece(request)
        written = resumable.append(upload, content, offset=offset, actor=caller(request))
        return _answer(204, written, upload_offset=written.offset_bytes)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> HttpResponse:  # noqa: ARG002 (Django's signature)
        """Removes the upload and what has arrived of it; its reserved storage is free again."""
        resumable.remove(self.get_object())
        return HttpResponse(status=status.HTTP_204_NO_CONTENT)


def _require_version(request: Request) -> None:
    given = request.headers.get("Tus-Resumable")
    if given != headers.VERSION:
        raise InvalidInputError(
            f"Tus-Resumable is {shown(given) if given else 'missing'}; this server speaks {headers.VERSION}.",
            code=UNSUPPORTED,
            remedy=f"Send the header Tus-Resumable: {headers.VERSION}; the clients of tus do.",
        )


def _piece(request: Request) -> bytes:
    """The bytes of the body, checked against Upload-Checksum. Raises UnsupportedMediaType for another content type."""
    content = request.data.take() if isinstance(request.data, Piece) else b""
    headers.check_checksum(request, content)
    return content


def _answer(status_code: int, upload: ResumableUpload | None = None, **named: Any) -> HttpResponse:
    """named: headers, by their names in lower case with underscores."""
    response = HttpResponse(status=status_code)
    for name, value in named.items():
        response["-".join(word.capitalize() for word in name.split("_"))] = str(value)
    expires: datetime | None = None if upload is None else resumable.expires_at(upload)
    if expires is not None:
        response["Upload-Expires"] = http_date(expires.timestamp())
    return response
