# SPDX-License-Identifier: Apache-2.0
"""What the backend could not read, or was refused: kept by the pass that found it, and since when."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Iterator
from datetime import datetime

from mlhub.backends.kubernetes.client.errors import ApiError
from mlhub.backends.protocol import BackendUnavailableError, ItemKind, QuarantinedItem

logger = logging.getLogger(__name__)
ItemKey = tuple[ItemKind, str]

LONGEST_REASON = 500
# what a read of one malformed object may raise; a bug in a read costs that object, too, and is logged with its place
DAMAGES = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, AssertionError)


class Quarantine:
    """Items by the pass that finds them (observe, inventory, ...). Safe to be used by several threads."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._items: dict[str, dict[ItemKey, QuarantinedItem]] = {}
        self._before: dict[str, dict[ItemKey, QuarantinedItem]] = {}  # of a pass under way
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def renewed(self, where: str) -> Iterator[None]:
        """A pass over everything: what it does not add again is not quarantined any more."""
        with self._lock:
            before = self._before[where] = self._items.get(where, {})
            self._items[where] = {}
        try:
            yield
        except BaseException:  # a pass that broke off has not looked at everything
            with self._lock:
                self._items[where] = before | self._items[where]
            raise
        finally:
            with self._lock:
                self._before[where] = {}

    def add(self, where: str, kind: ItemKind, name: str, reason: str) -> None:
        """The newest reason counts, and the time of the first."""
        text, key = " ".join(reason.split())[:LONGEST_REASON], (kind, name)
        with self._lock:
            items = self._items.setdefault(where, {})
            known = items.get(key) or self._before.get(where, {}).get(key)
            items[key] = QuarantinedItem(kind, name, text, known.since if known is not None else self._now())
        if known is None:
            logger.warning("kubernetes.quarantined", extra={"item_kind": kind, "item": name, "reason": text})

    def resolve(self, where: str, kind: ItemKind, name: str) -> None:
        with self._lock:
            self._items.get(where, {}).pop((kind, name), None)

    def forget(self, where: str, *, but: Collection[str]) -> None:
        """Drops items whose things are not there any more."""
        with self._lock:
            items = self._items.get(where, {})
            self._items[where] = {key: item for key, item in items.items() if item.name in but}

    @contextlib.contextmanager
    def guarded(self, where: str, kind: ItemKind, name: str) -> Iterator[None]:
        """Runs the body; a refusal of the API server or a malformed object is added here and costs nothing else.

        Raises BackendUnavailableError.
        """
        try:
            yield
        except BackendUnavailableError:
            raise
        except ApiError as error:
            self.add(where, kind, name, f"The cluster refused a request: {error}")
        except DAMAGES as error:
            logger.exception("kubernetes.unreadable", extra={"item_kind": kind, "item": name})
            self.add(where, kind, name, f"It cannot be read: {type(error).__name__}: {error}")

    def items(self) -> tuple[QuarantinedItem, ...]:
        """Each kind and name once."""
        with self._lock:
            found: dict[ItemKey, QuarantinedItem] = {}
            for items in self._items.values():
                for key, item in items.items():
                    if key not in found or item.since < found[key].since:
                        found[key] = item
        return tuple(found[key] for key in sorted(found))
