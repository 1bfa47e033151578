# SPDX-License-Identifier: Apache-2.0
"""Keeps a round going: an item that cannot be read or handled is left out, logged and recorded, and the others go on.

Actions commit in transactions of their own, so nothing is wrapped in a longer one here: a launch must be committed
before its pods ask for it. A savepoint is made only where the caller has a transaction open, which an error would end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import structlog
from django.db import DatabaseError, connection, transaction

from mlhub.backends.protocol import BackendUnavailableError, ItemKind

T = TypeVar("T")
R = TypeVar("R")
D = TypeVar("D")
logger = structlog.stdlib.get_logger(__name__)
MOST_UNREACHABLE = 3  # calls in a row that did not reach the backend: then it is the backend, and no item
MAX_REASON = 500


@dataclass
class FaultIsolation:
    """What one round after the other could not handle. found: by kind and name, the reason, of the present round.

    A traceback is logged when an item fails for the first time, or for another reason than in the round before.
    """

    found: dict[tuple[ItemKind, str], str] = field(default_factory=dict)
    _before: dict[tuple[ItemKind, str], str] = field(default_factory=dict)
    _n_unreachable: int = 0

    def begin_round(self) -> None:
        self._before, self.found, self._n_unreachable = self.found, {}, 0

    def each(
        self, items: Iterable[T], do: Callable[[T], object], *, kind: ItemKind, name: Callable[[T], object] = str
    ) -> None:
        """Calls do with every item. name: an item's id or name."""
        for item in items:
            self.attempt(partial(do, item), kind=kind, name=str(name(item)), default=None)

    def attempt(self, do: Callable[[], R], *, kind: ItemKind, name: str, default: D) -> R | D:
        """Returns what do returns, or the default where it raised.

        Raises BackendUnavailableError when several items in a row did not reach the backend, and DatabaseError when
        the connection to the database is lost: these end the round.
        """
        try:
            with _savepoint():
                result = do()
            self._n_unreachable = 0
            return result
        except Exception as error:
            self._check_not_fatal(error)
            self.add(kind, name, error)
            return default

    def all_or_each(
        self,
        items: Sequence[T],
        write: Callable[[Sequence[T]], object],
        *,
        kind: ItemKind,
        name: Callable[[T], object],
    ) -> None:
        """Calls write with all items, in one transaction; where that fails, with each alone. Raises as attempt does."""
        try:
            with transaction.atomic():
                write(items)
        except Exception as error:
            self._check_not_fatal(error)
            self.each(items, lambda item: _write_alone(write, item), kind=kind, name=name)

    def add(self, kind: ItemKind, name: str, error: Exception | str) -> None:
        """Records an item as one that was left out of this round."""
        reason = error if isinstance(error, str) else reason_of(error)
        self.found[kind, name] = reason
        if self._before.get((kind, name)) != reason:
            traceback = error if isinstance(error, Exception) else None
            logger.error("item.quarantined", kind=kind.value, name=name, reason=reason, exc_info=traceback)

    def names(self, kind: ItemKind) -> Collection[str]:
        return {name for found, name in self.found if found is kind}

    def _check_not_fatal(self, error: Exception) -> None:
        """Raises the error where it is no item's: the connection is lost, or the backend does not answer at all."""
        if isinstance(error, BackendUnavailableError):
            self._n_unreachable += 1
            if self._n_unreachable >= MOST_UNREACHABLE:
                raise error
        elif isinstance(error, DatabaseError) and not connection.is_usable():
            raise error


def reason_of(error: Exception) -> str:
    """Returns one line without control characters: the type and the message."""
    return printable(f"{type(error).__name__}: {error}")[:MAX_REASON]


def printable(text: str) -> str:
    """Returns the text as one line, without control characters."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())


def _savepoint() -> AbstractContextManager[object]:
    return transaction.atomic() if connection.in_atomic_block else nullcontext()


def _write_alone(write: Callable[[Sequence[T]], object], item: T) -> None:
    with transaction.atomic():
        write([item])
