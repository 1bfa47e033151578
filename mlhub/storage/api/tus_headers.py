# SPDX-License-Identifier: Apache-2.0
"""The headers of tus 1.0.0 (tus.io/protocols/resumable-upload): reading them, and refusing what cannot be read."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from mlhub.core.errors import ConflictError, InvalidInputError

if TYPE_CHECKING:
    from rest_framework.request import Request

VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,checksum,termination,expiration,concatenation"
CHECKSUMS = {"sha256": hashlib.sha256, "sha1": hashlib.sha1, "md5": hashlib.md5}
MAX_METADATA = 8192
MAX_BYTES = 2**63 - 1
MAX_PARTS = 64
CHECKSUM_MISMATCH = "checksum_mismatch"


class Concatenation(NamedTuple):
    """is_partial: one of the parts. part_ids: of the whole, its parts in order; None for a part or a plain upload."""

    is_partial: bool
    part_ids: list[UUID] | None


def size_in(request: Request, header: str) -> int:
    """A number of bytes. Raises InvalidInputError when the header is missing or no such number."""
    text = request.headers.get(header, "")
    if not (text.isascii() and text.isdecimal()) or len(text) > 19 or int(text) > MAX_BYTES:
        remedy = f"Send {header} with a whole number of bytes."
        if header == "Upload-Length" and "Upload-Defer-Length" in request.headers:
            remedy = "Send Upload-Length; a length that is deferred is not supported."
        raise InvalidInputError(f"{header} is missing or no number of bytes.", field=header, remedy=remedy)
    return int(text)


def metadata_in(request: Request) -> dict[str, str]:
    """The values of Upload-Metadata by their keys. Raises InvalidInputError."""
    text = request.headers.get("Upload-Metadata", "")
    if len(text) > MAX_METADATA:
        raise _bad_metadata(f"Upload-Metadata is longer than {MAX_METADATA} characters.")
    found: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        key, _, encoded = pair.partition(" ")
        try:
            value = base64.b64decode(encoded.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise _bad_metadata(f"The value of {key[:100]} in Upload-Metadata is not Base64 of UTF-8 text.") from error
        if "\x00" in value:
            raise _bad_metadata(f"The value of {key[:100]} in Upload-Metadata holds a NUL character.")
        found[key] = value
    return found


def required_metadata(metadata: dict[str, str], key: str) -> str:
    """Raises InvalidInputError when the key is not there."""
    if not metadata.get(key, "").strip():
        raise _bad_metadata(f"Upload-Metadata names no {key}.")
    return metadata[key].strip()


def concatenation_in(request: Request) -> Concatenation:
    """What Upload-Concat asks for. Raises InvalidInputError."""
    text = request.headers.get("Upload-Concat", "").strip()
    if not text or text == "partial":
        return Concatenation(is_partial=bool(text), part_ids=None)
    kind, _, addresses = text.partition(";")
    try:
        part_ids = [UUID(address.rstrip("/").rpartition("/")[2]) for address in addresses.split()]
    except ValueError:
        part_ids = []
    if kind != "final" or not 0 < len(part_ids) <= MAX_PARTS or len(set(part_ids)) < len(part_ids):
        raise InvalidInputError(
            "Upload-Concat cannot be read.",
            field="Upload-Concat",
            remedy=f"Send partial, or final; and the addresses of 1 to {MAX_PARTS} different parts.",
        )
    return Concatenation(is_partial=False, part_ids=part_ids)


def check_checksum(request: Request, content: bytes) -> None:
    """Raises ConflictError with the code checksum_mismatch, InvalidInputError for an algorithm that is not known."""
    given = request.headers.get("Upload-Checksum")
    if given is None:
        return
    name, _, encoded = given.strip().partition(" ")
    if name not in CHECKSUMS:
        raise InvalidInputError(
            f"The algorithm {name[:50]!r} of Upload-Checksum is not known.",
            field="Upload-Checksum",
            remedy=f"Use one of {', '.join(CHECKSUMS)}, then a space and the hash in Base64.",
        )
    digest = CHECKSUMS[name](content, usedforsecurity=False).digest()
    if base64.b64encode(digest).decode() != encoded.strip():
        raise ConflictError(
            f"The {name} of the {len(content):,} bytes that arrived is not the one of Upload-Checksum.",
            code=CHECKSUM_MISMATCH,
            field="Upload-Checksum",
            remedy="Nothing of this piece was stored; send it again from the same offset.",
        )


def _bad_metadata(message: str) -> InvalidInputError:
    return InvalidInputError(
        message,
        field="Upload-Metadata",
        remedy="Send pairs of a key and its value in Base64, separated by commas; `filename` and `project` are needed.",
    )
