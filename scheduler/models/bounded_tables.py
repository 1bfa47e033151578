# SPDX-License-Identifier: Apache-2.0
"""Tables of results with a limit: the building blocks of the caches that callers of the library keep."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedTable(dict[Key, Value]):
    """Keeps results by key.

    A full table is emptied before the next entry is stored: every entry can be worked out again.

    Entries are read as from any dictionary and written by store() alone.
    """

    def __init__(self, max_entries: int) -> None:
        """Raises ValueError if max_entries is less than 1."""
        super().__init__()
        self.max_entries = _checked(max_entries)

    def store(self, key: Key, value: Value) -> Value:
        """Stores the value under the key and returns it."""
        if len(self) >= self.max_entries and key not in self:
            self.clear()
        self[key] = value
        return value


class RecentTable(OrderedDict[Key, Value]):
    """Keeps results by key, for entries that cost much. The least recently used entry of a full table makes room.

    Entries are read by find() and written by store().
    """

    def __init__(self, max_entries: int) -> None:
        """Raises ValueError if max_entries is less than 1."""
        super().__init__()
        self.max_entries = _checked(max_entries)

    def find(self, key: Key) -> Value | None:
        """Returns the value, which counts as used now; None if there is none."""
        found = self.get(key)
        if found is not None:
            self.move_to_end(key)
        return found

    def store(self, key: Key, value: Value) -> Value:
        """Stores the value under the key and returns it."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self.max_entries:
            self.popitem(last=False)
        return value


def _checked(max_entries: int) -> int:
    if max_entries < 1:
        raise ValueError(f"max_entries is {max_entries}; a table needs room for one entry at least")
    return max_entries
