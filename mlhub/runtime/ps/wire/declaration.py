# SPDX-License-Identifier: Apache-2.0
"""How a message is declared, and how its bytes follow from the declaration. Nothing is ever unpickled.

A message is a frozen dataclass (messages.py). Frame: a header of 64 bytes, the text, the payload.
Header, big-endian: magic 4s, version B, code of the message B, length of the text I, of the payload Q, 42 bytes for the
fields that are numbers, CRC-32 of it all I. By its annotation a field travels
- as a number in the header: bool, int (unsigned, 64 bits), float (64 bits);
- as the payload, read with the message: bytes;
- as the length of a payload that its receiver reads where it wants it: Streamed, the last field;
- as a value of the JSON object that is the text: every other (text_fields.py).
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Annotated, Any, Generic, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.text_fields import ValueReader, reader_for

MAGIC = b"MLPS"
VERSION = 4
HEADER_BYTES = 64
_PREFIX = struct.Struct(">4sBBIQ")
_CHECK = struct.Struct(">I")
_CHECKED_BYTES = HEADER_BYTES - _CHECK.size
_NUMBERS_BYTES = _CHECKED_BYTES - _PREFIX.size
_FORMATS = {bool: "?", int: "Q", float: "d"}
Streamed = Annotated[int, "bytes of the payload that follows the message"]


class Message:
    """The base of all messages."""


R_co = TypeVar("R_co", bound=Message, covariant=True)
M = TypeVar("M", bound=Message)


class Request(Message, Generic[R_co]):
    """A message that is answered with one of R_co."""


@dataclass(frozen=True)
class MessageLayout:
    """Where the fields of one message travel. replies: the messages that answer it; purposes: of the connections on
    which it may be sent."""

    kind: type[Message]
    code: int
    purposes: frozenset[str]
    replies: tuple[type[Message], ...]
    numbers: tuple[str, ...]
    texts: dict[str, ValueReader]
    payload: str | None
    is_streamed: bool
    packing: struct.Struct
    unpacking: struct.Struct
    values_of: Callable[[Any], tuple[Any, ...]]

    @property
    def name(self) -> str:
        return self.kind.__name__


LAYOUTS: dict[type[Message], MessageLayout] = {}
_BY_CODE: dict[int, MessageLayout] = {}


@dataclass_transform(frozen_default=True)
def message(code: int, *, purposes: tuple[str, ...] = ()) -> Callable[[type[M]], type[M]]:
    """Declares a message. code: its number on the wire, which no other has.

    Raises TypeError for a declaration that does not fit into a frame.
    """

    def declare(plain: type[M]) -> type[M]:
        kind = dataclass(frozen=True)(plain)
        if code in _BY_CODE:
            raise TypeError(f"{kind.__name__} and {_BY_CODE[code].name} have the same code {code}.")
        LAYOUTS[kind] = _BY_CODE[code] = _layout(kind, code, purposes)
        return kind

    return declare


def requests_for(purpose: str) -> tuple[type[Message], ...]:
    """The requests that may be sent on a connection of this purpose."""
    return tuple(kind for kind, layout in LAYOUTS.items() if purpose in layout.purposes)


def encode(content: Message) -> bytes:
    """Header and text, and the payload unless it is streamed. Raises FrameError for values that cannot be sent."""
    layout = LAYOUTS[type(content)]
    text = _text(layout, content) if layout.texts else b""
    payload, length = b"", 0
    if layout.payload is not None:
        own = getattr(content, layout.payload)
        payload, length = (b"", own) if layout.is_streamed else (own, len(own))
    try:
        head = layout.packing.pack(MAGIC, VERSION, layout.code, len(text), length, *layout.values_of(content))
    except struct.error as error:
        raise FrameError(f"{layout.name} cannot be sent: {error}.") from error
    head += _CHECK.pack(zlib.crc32(head))
    return b"".join((head, text, payload)) if text or payload else head


def decode_header(raw: bytes | bytearray) -> tuple[MessageLayout, int, int]:
    """Returns which message it is, and the lengths of its text and payload in bytes. Raises FrameError."""
    magic, version, code, n_text, n_payload = _PREFIX.unpack_from(raw)
    (check,) = _CHECK.unpack_from(raw, _CHECKED_BYTES)
    if magic != MAGIC or version != VERSION or check != zlib.crc32(raw[:_CHECKED_BYTES]):
        raise FrameError("This is no message of the parameter server's protocol.")
    layout = _BY_CODE.get(code)
    if layout is None:
        raise FrameError(f"The message with the code {code} is unknown.")
    if n_payload and layout.payload is None:
        raise FrameError(f"{layout.name} has no payload, and {n_payload} bytes were announced.")
    if bool(n_text) != bool(layout.texts):
        raise FrameError(f"{layout.name} came with {n_text} bytes of text.")
    return layout, n_text, n_payload


def decode(layout: MessageLayout, raw: bytes | bytearray, text: bytes, payload: int | bytes) -> Message:
    """payload: its length where it is streamed. Raises FrameError, which names the message and the field."""
    numbers = layout.unpacking.unpack_from(raw, _PREFIX.size)
    if not layout.texts:
        make: Callable[..., Message] = layout.kind
        return make(*numbers) if layout.payload is None else make(*numbers, payload)
    values = dict(zip(layout.numbers, numbers, strict=True)) | _text_values(layout, text)
    if layout.payload is not None:
        values[layout.payload] = payload
    return layout.kind(**values)


def _layout(kind: type[Message], code: int, purposes: tuple[str, ...]) -> MessageLayout:
    hints = get_type_hints(kind, include_extras=True)
    found = {field.name: hints[field.name] for field in fields(kind)}  # type: ignore[arg-type]
    numbers = tuple(name for name, hint in found.items() if hint in _FORMATS)
    payloads = [name for name, hint in found.items() if hint is bytes or hint == Streamed]
    texts = {name: reader_for(hint) for name, hint in found.items() if name not in (*numbers, *payloads)}
    packed = "".join(_FORMATS[found[name]] for name in numbers)
    padding = _NUMBERS_BYTES - struct.calcsize(f">{packed}")
    if padding < 0 or len(payloads) > 1 or (payloads and [*found][-1] != payloads[0]):
        raise TypeError(f"{kind.__name__} has too many numbers, or more than a payload at its end.")
    return MessageLayout(
        kind,
        code,
        frozenset(purposes),
        _replies(kind),
        numbers,
        texts,
        payload=payloads[0] if payloads else None,
        is_streamed=bool(payloads) and found[payloads[0]] == Streamed,
        packing=struct.Struct(f"{_PREFIX.format}{packed}{padding}x"),
        unpacking=struct.Struct(f">{packed}"),
        values_of=_values_of(numbers),
    )


def _replies(kind: type[Message]) -> tuple[type[Message], ...]:
    for base in getattr(kind, "__orig_bases__", ()):
        if get_origin(base) is Request:
            (replies,) = get_args(base)
            return get_args(replies) or (replies,)
    return ()


def _values_of(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda content: tuple(getattr(content, name) for name in names)


def _text(layout: MessageLayout, content: Message) -> bytes:
    try:
        return json.dumps({name: getattr(content, name) for name in layout.texts}).encode()
    except (TypeError, ValueError) as error:
        raise FrameError(f"{layout.name} cannot be sent: {error}.") from error


def _text_values(layout: MessageLayout, text: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"The text of {layout.name} is not JSON: {error}.") from error
    if not isinstance(raw, dict) or raw.keys() != layout.texts.keys():
        given = ", ".join(sorted(raw)) if isinstance(raw, dict) else type(raw).__name__
        raise FrameError(f"{layout.name} has the fields {', '.join(layout.texts)}, and {given} came.")
    values = {}
    for name, reader in layout.texts.items():
        try:
            values[name] = reader(raw[name])
        except (TypeError, ValueError) as error:
            raise FrameError(f"{layout.name}.{name}: {error}.") from error
    return values
