# SPDX-License-Identifier: Apache-2.0
"""Answers of the API with typed attributes, as they are read, printed and shown in a notebook."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from datetime import datetime
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mlhub.client.tables import html_of_fields, html_of_rows, text_of

T = TypeVar("T")
SHOWN = ("id", "name", "state", "status", "kind", "number", "progress", "project", "created_by", "created_at")
HINTS: dict[type[ApiRecord], dict[str, Any]] = {}  # of each class once


class ApiRecord:
    """An answer. Its attributes are those of the API's schema, read from JSON when they are asked for.

    A field that a newer platform adds is in as_dict(); one that an older platform lacks raises AttributeError.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.__dict__["_content"] = dict(content)

    def as_dict(self) -> dict[str, Any]:
        """All that the platform sent, as JSON has it."""
        return dict(self.__dict__["_content"])

    if not TYPE_CHECKING:  # with it every misspelt attribute would be Any

        def __getattr__(self, name: str) -> Any:
            hints = _hints(type(self))
            if name not in hints:
                raise AttributeError(f"{type(self).__name__} has no field `{name}`; it has {', '.join(hints)}.")
            content, key = self.__dict__["_content"], name.removesuffix("_") if keyword.iskeyword(name[:-1]) else name
            if key not in content:
                if NoneType in get_args(hints[name]):
                    return None
                raise AttributeError(f"The answer has no `{name}`: `fields` left it out, or the platform is older.")
            self.__dict__[name] = value = decoded(content[key], hints[name])
            return value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{type(self).__name__}.{name}: answers do not change. Update it by the client, and read it anew."
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_hints(type(self))]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.as_dict(),)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__["_content"] == self.__dict__["_content"]

    def __hash__(self) -> int:
        return hash((type(self), text_of(self.__dict__["_content"].get("id"))))

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.__dict__["_content"].items() if name in SHOWN}
        brief = {name: text_of(value) if isinstance(value, dict | list) else value for name, value in shown.items()}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in brief.items())})"

    def _repr_html_(self) -> str:
        return html_of_fields(type(self).__name__, self.__dict__["_content"])


class ApiRows(list[T]):
    """A list of answers, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return html_of_rows([row.as_dict() if isinstance(row, ApiRecord) else {"value": row} for row in self], SHOWN)


def decoded(value: Any, hint: Any) -> Any:
    """value of JSON as the type that the schema names. What is not of that type stays as it came."""
    origin = get_origin(hint)
    if value is None or hint is Any or origin is Literal:
        return value
    if origin in (Union, UnionType):
        fitting = [part for part in get_args(hint) if part is not NoneType]
        return decoded(value, fitting[0]) if len(fitting) == 1 else value
    if origin is list and isinstance(value, list):
        return ApiRows(decoded(item, get_args(hint)[0]) for item in value)
    if origin is dict and isinstance(value, dict):
        return {name: decoded(item, get_args(hint)[1]) for name, item in value.items()}
    if hint is datetime and isinstance(value, str):
        return datetime.fromisoformat(value)
    if isinstance(hint, type) and issubclass(hint, ApiRecord) and isinstance(value, dict):
        return hint(value)
    return value


def _hints(record: type[ApiRecord]) -> dict[str, Any]:
    if record not in HINTS:
        HINTS[record] = get_type_hints(record)
    return HINTS[record]
