# SPDX-License-Identifier: Apache-2.0
"""What one request may log: the limits of MLflow's own server, so that a client is refused here where it is there.

Source: mlflow/utils/validation.py of MLflow 3.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from mlhub.core.errors import InvalidInputError

MAX_METRICS = 1000  # of one batch
MAX_PARAMS = MAX_TAGS = 100
MAX_ENTRIES = 1000  # of one batch, all three kinds together
MAX_KEY = 250
MAX_PARAM_VALUE = 6000
MAX_TAG_VALUE = 8000
MAX_PATH = 500  # of an artifact
MAX_DATASETS = 1000
MAX_RUN_PARAMS = MAX_RUN_TAGS = 2000  # of a run, in all
MAX_INTEGER = 2**63 - 1


class LoggedPoint(NamedTuple):
    """A value of a metric. at_ms: milliseconds since the epoch, on the client's clock.

    A tuple, since they come a thousand at a time: making one takes a fifth of what a frozen dataclass takes.
    """

    key: str
    value: float
    at_ms: int
    step: int


@dataclass(frozen=True)
class Entry:
    """A parameter or a tag."""

    key: str
    value: str


@dataclass(frozen=True)
class LogBatch:
    """What one request logs."""

    points: Sequence[LoggedPoint] = ()
    params: Sequence[Entry] = ()
    tags: Sequence[Entry] = ()

    def check(self) -> None:
        """Raises InvalidInputError for more than a batch may hold, and for keys and values that are too long."""
        counts = {"metrics": len(self.points), "params": len(self.params), "tags": len(self.tags)}
        limits = {"metrics": MAX_METRICS, "params": MAX_PARAMS, "tags": MAX_TAGS}
        for name, n in counts.items():
            if n > limits[name]:
                raise _too_many(name, n, limits[name])
        if (n := sum(counts.values())) > MAX_ENTRIES:
            raise _too_many("metrics, params and tags together", n, MAX_ENTRIES)
        for key in set(map(itemgetter(0), self.points)):
            check_key(key, field="metrics")
        for field, entries, most in (("params", self.params, MAX_PARAM_VALUE), ("tags", self.tags, MAX_TAG_VALUE)):
            for entry in entries:
                check_key(entry.key, field=field)
                if len(entry.value) > most:
                    raise InvalidInputError(
                        f"The value of {entry.key} has {len(entry.value):,} characters.",
                        field=field,
                        remedy=f"Give at most {most:,}, or log it as an artifact.",
                    )


def check_key(key: str, *, field: str) -> None:
    """Raises InvalidInputError for a name that is empty, too long, or looks like a path out of its folder."""
    if not key or len(key) > MAX_KEY or not key.isprintable():
        raise InvalidInputError(
            f"{key[:100]!r} is no name.", field=field, remedy=f"Give 1 to {MAX_KEY} printable characters."
        )
    if key.startswith("/") or ".." in key.split("/"):
        raise InvalidInputError(
            f"{key!r} begins with a slash, or holds '..'.", field=field, remedy="Use it without them."
        )


def check_path(path: str) -> None:
    """Raises InvalidInputError for what is no relative path of a file."""
    parts = path.split("/")
    is_plain = all(part not in ("", ".", "..") and part.isprintable() for part in parts) and "\\" not in path
    if not is_plain or len(path) > MAX_PATH:
        raise InvalidInputError(
            f"{path[:200]!r} is no path of an artifact.",
            field="path",
            remedy=f"Give a relative path of at most {MAX_PATH} characters, without '..'.",
        )


def _too_many(what: str, n: int, most: int) -> InvalidInputError:
    return InvalidInputError(
        f"A batch may hold {most:,} {what}; this one holds {n:,}.", field="batch", remedy="Send it in several requests."
    )
