# SPDX-License-Identifier: Apache-2.0
"""JSON bodies, bounded in one place: bytes, depth, and values that PostgreSQL cannot store."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from itertools import chain
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from rest_framework import exceptions
from rest_framework.parsers import JSONParser

from mlhub.core.api.strict import shown
from mlhub.core.errors import InvalidInputError, TooLargeError

MAX_INTEGER = 2**63 - 1
Place = tuple[Any, str | int] | None  # of a value in the body: the place of what holds it, and its name there
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"\s*:?|[\[\]{}]')


class BoundedJSONParser(JSONParser):
    """The only parser of JSON bodies. Raises TooLargeError (413), ParseError (400), InvalidInputError (422)."""

    limit_setting: ClassVar[str] = "MAX_JSON_BYTES"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        limit = int(getattr(settings, self.limit_setting))
        content = stream.read(limit + 1)
        if len(content) > limit:
            raise body_too_large(limit)
        return parse_json(content)


class PodJSONParser(BoundedJSONParser):
    """For batches of log lines, which are larger than what people send."""

    limit_setting = "MAX_POD_JSON_BYTES"


class RowsJSONParser(BoundedJSONParser):
    """For rows that a model predicts, which may be images."""

    limit_setting = "MAX_ROWS_JSON_BYTES"


def parse_json(content: bytes) -> Any:
    """The decoded body. Raises ParseError when it is not JSON, InvalidInputError naming the field that is refused."""
    try:
        text = content.decode("utf-8")
        found = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep(_deep_field(text)) from None
    except ValueError as error:
        raise exceptions.ParseError(f"The body is not valid JSON: {error}") from error
    check_values(found)
    return found


def check_values(value: Any) -> None:
    """Raises InvalidInputError for nesting deeper than MAX_JSON_DEPTH, for text with NUL characters or half surrogate
    pairs, and for numbers of more than 64 bits. Walks without recursion, whatever the depth."""
    deepest = settings.MAX_JSON_DEPTH
    if _is_plain(value, deepest):
        return
    waiting: list[tuple[Place, int, Any]] = [(None, 0, value)]
    while waiting:
        place, depth, found = waiting.pop()
        if isinstance(found, str):
            _check_text(place, found)
        elif isinstance(found, int | float) and not isinstance(found, bool):
            _check_number(place, found)
        elif isinstance(found, dict | list):
            if depth >= deepest:
                raise _too_deep(_path(place))
            waiting.extend(((place, key), depth + 1, child) for key, child in _children(place, found))


def _is_plain(value: Any, deepest: int) -> bool:
    """Whether a body certainly has nothing that is refused: a quick look that remembers no places.

    It looks at all values of one depth and type together: of a batch of a thousand points it takes a tenth of the
    walk that can say where something is.
    """
    layer: list[Any] = [value]
    for _ in range(deepest):
        by_type = _by_type(layer)
        objects, lists = by_type.pop(dict, []), by_type.pop(list, [])
        if not all(_are_plain(kind, same) for kind, same in by_type.items()):
            return False
        if not _are_plain(str, list(set(chain.from_iterable(objects)))):
            return False
        if not objects and not lists:
            return True
        layer = list(chain.from_iterable(chain(map(dict.values, objects), lists)))
    return not layer


def _by_type(values: list[Any]) -> dict[type, list[Any]]:
    kinds = set(map(type, values))
    if len(kinds) == 1:
        return {kinds.pop(): values}
    found: dict[type, list[Any]] = {kind: [] for kind in kinds}
    for value in values:
        found[type(value)].append(value)
    return found


def _are_plain(kind: type, values: list[Any]) -> bool:
    """values: of that one type, which is no list or object."""
    if not values or kind in (bool, type(None)):
        return True
    if kind is str:
        text = "".join(set(values))  # the same few names come a thousand times
        return text.isascii() and "\x00" not in text
    # no decoder makes NaN, which compares as neither
    return kind in (int, float) and min(values) >= -MAX_INTEGER and max(values) <= MAX_INTEGER


def body_too_large(limit: int) -> TooLargeError:
    return TooLargeError(
        f"The body is larger than {limit} bytes.",
        limit_bytes=limit,
        remedy="Send less in one request; files are uploaded as multipart/form-data.",
    )


def _children(place: Place, found: dict[str, Any] | list[Any]) -> Iterable[tuple[str | int, Any]]:
    if isinstance(found, list):
        return enumerate(found)
    for key in found:
        _check_text((place, key), key)
    return found.items()


def _path(place: Place) -> str:
    """The names on the way to a value, joined by dots; written only for an error."""
    names: list[str] = []
    while place is not None:
        place, key = place
        names.append(shown(str(key)))
    return ".".join(reversed(names))


def _check_text(place: Place, text: str) -> None:
    if "\x00" in text:
        raise InvalidInputError(
            "Text must not hold NUL characters.", field=_path(place)[:300], remedy="Leave the character \\u0000 out."
        )
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise InvalidInputError(
            "Text holds half of a surrogate pair.", field=_path(place)[:300], remedy="Send valid Unicode text."
        )


def _check_number(place: Place, number: float) -> None:
    if isinstance(number, float) and math.isnan(number):  # of YAML: no decoder of JSON makes it
        raise InvalidInputError("NaN is no number.", field=_path(place)[:300], remedy="Give a finite number.")
    if (isinstance(number, int) and abs(number) > MAX_INTEGER) or not math.isfinite(number):
        raise InvalidInputError(
            "The number has more than 64 bits.", field=_path(place)[:300], remedy=f"Give at most {MAX_INTEGER}."
        )


def _too_deep(path: str) -> InvalidInputError:
    limit = settings.MAX_JSON_DEPTH
    return InvalidInputError(
        f"The body is nested deeper than {limit} levels.",
        field=path.split(".")[0] or None,
        remedy=f"Nest at most {limit} levels.",
    )


def _deep_field(text: str) -> str:
    """The top-level field of a JSON text that is nested too deeply for the decoder."""
    depth, field = 0, ""
    for token in TOKENS.findall(text):
        if token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        elif depth == 1:
            field = token.rstrip(" \t\r\n:").strip('"')
        if depth > settings.MAX_JSON_DEPTH:
            break
    return field


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
