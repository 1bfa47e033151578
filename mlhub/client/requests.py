# SPDX-License-Identifier: Apache-2.0
"""What the generated operations send: paths, parameters that were not given, files; and when a request is repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from math import isfinite
from os import PathLike
from typing import Any, BinaryIO, Final, Protocol
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx

from mlhub.client.problems import BadRequest

FIRST_PAUSE_S, MOST_PAUSE_S = 0.2, 2.0
AWAY = (502, 503, 504)
MARK = "name:"  # of a name where an id may stand
Progress = Callable[[str], object]
FileSource = str | PathLike[str] | BinaryIO | tuple[str, bytes]  # a path, an open file, or a name with content


class Unset(Enum):
    """The value of a parameter that was not given: it is not sent. None is sent, as null."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


class Identified(Protocol):
    """Any answer with an id."""

    @property
    def id(self) -> Any: ...


Ref = str | int | UUID | Identified


@dataclass(frozen=True)
class StreamEvent:
    """A frame of a live stream. cursor: from here another stream goes on."""

    event: str
    data: dict[str, Any]
    cursor: str


@dataclass
class Repetition:
    """When a request is sent again: until patience_s have passed, on the clock of time.monotonic().

    is_repeatable: the platform does it once even if it arrives twice. Others are repeated only where the platform did
    nothing: when it answers 429, or was not reached at all.
    """

    patience_s: float
    is_repeatable: bool

    def __post_init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._until, self._pause_s = time.monotonic() + self.patience_s, FIRST_PAUSE_S

    def after_answer(self, answer: httpx.Response) -> float | None:
        """Seconds to wait, None when the answer stands."""
        is_away = answer.status_code in AWAY and self.is_repeatable
        if answer.status_code != 429 and not is_away:
            return None
        asked = answer.headers.get("Retry-After", "")
        return self._allowed(float(asked) if asked.isdecimal() else self._next_pause_s())

    def after_cut(self, error: httpx.TransportError) -> float | None:
        """Seconds to wait, None when the error stands."""
        if isinstance(error, httpx.UnsupportedProtocol):
            return None
        is_unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        return self._allowed(self._next_pause_s()) if self.is_repeatable or is_unsent else None

    def after_end(self) -> float | None:
        """Seconds to wait after a stream that the other side closed."""
        return self._allowed(self._next_pause_s())

    def _next_pause_s(self) -> float:
        pause_s = self._pause_s * random.uniform(0.75, 1.25)  # so that many clients do not come back at once
        self._pause_s = min(MOST_PAUSE_S, 2 * self._pause_s)
        return pause_s

    def _allowed(self, pause_s: float) -> float | None:
        return None if time.monotonic() + pause_s > self._until else pause_s


def by_name(name: str) -> str:
    """What stands for the id of a job, dataset, model, study, project, team or organisation of this exact name.

    A name that several have is refused with 409 `ambiguous_name` and the candidates; `project` and `organisation` of
    the operation say where it is. What deletes takes ids alone.
    """
    return f"{MARK}{name}"


def path_of(template: str, /, **values: Ref) -> str:
    """The path of an operation, with ids in place of their names. Raises ValueError for an empty one, and for a name
    with a slash, which addresses cannot have."""
    written = {}
    for name, value in values.items():
        text = str(value if isinstance(value, str | int | UUID) else value.id)
        if not text or any(part in (".", "..") for part in text.split("/")):
            raise ValueError(f"{name}: {text!r} is no id. Give an id, an answer that has one, or by_name().")
        if name == "id" and text.startswith(MARK) and "/" in text:
            raise ValueError(f"{name}: {text!r} has a slash, which no address can have. Its list finds it by `name`.")
        written[name] = quote(text, safe="/" if name == "path" else "")
    return template.format(**written)


def joined(values: Iterable[Any] | None) -> str | None:
    """A parameter of several values with commas; one text counts as one value."""
    if values is None or isinstance(values, str):
        return values
    return ",".join(str(value) for value in values)


def new_key() -> str:
    return str(uuid4())


def given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not UNSET, as JSON has them. Raises BadRequest for a number that JSON has not, with its field."""
    return {name: plain(value, field=name) for name, value in parameters.items() if value is not UNSET}


def query_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an address: neither UNSET nor None is sent."""
    return {name: value for name, value in given(parameters).items() if value is not None}


def plain(value: Any, *, field: str) -> Any:
    """value with dates as text, and sequences as lists. field: its name, for the error. Raises BadRequest."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {name: plain(inner, field=f"{field}.{name}") for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner, field=f"{field}.{number}") for number, inner in enumerate(value)]
    if isinstance(value, float) and not isfinite(value):
        raise BadRequest(
            {
                "code": "invalid_input",
                "field": field,
                "detail": f"{field} is {value}, which is no number of JSON.",
                "remedy": "Give a finite number, or None where a missing value is allowed.",
            }
        )
    return value
