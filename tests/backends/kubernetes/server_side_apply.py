# SPDX-License-Identifier: Apache-2.0
"""Server-side apply as API servers do it: who set which field, conflicts, and fields that are not applied any more.

Lists and label selectors are atomic here, as they are in all kinds that MLHub applies: they are set as a whole.
"""

from __future__ import annotations

import copy
from typing import Any

Object = dict[str, Any]
Path = tuple[str, ...]

ATOMIC = ("podSelector", "namespaceSelector", "selector")
IDENTITY = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}
OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


class ApplyConflictError(Exception):
    """Another manager set a field to another value, and the request does not force."""


class FieldOwners:
    """Of one object: by manager, with its operation, the fields that it set."""

    def __init__(self) -> None:
        self._fields: dict[str, set[Path]] = {}

    def updated(self, before: Object | None, after: Object, manager: str) -> None:
        """A write that is no apply: what it changed is its manager's now, and no other's."""
        changed = {path for path in fields(after) if before is None or _at(before, path) != _at(after, path)}
        gone = (fields(before) if before is not None else set()) - fields(after)
        for owner in self._fields:
            self._fields[owner] -= changed | gone
        self._fields.setdefault(f"{manager} Update", set()).update(changed)

    def applied(self, before: Object | None, body: Object, manager: str, *, is_forced: bool) -> Object:
        """The object after the apply. Raises ApplyConflictError."""
        me, wanted = f"{manager} Apply", fields(body)
        if before is not None:
            self._check(before, body, me, wanted, is_forced=is_forced)
        found = copy.deepcopy(before) if before is not None else {}
        for path in self._fields.get(me, set()) - wanted:
            if not any(path in owned for owner, owned in self._fields.items() if owner != me):
                _drop(found, path)
        for path in sorted(wanted | (IDENTITY & _all_paths(body))):
            _put(found, path, copy.deepcopy(_at(body, path)))
        self._fields[me] = wanted
        return found

    def _check(self, before: Object, body: Object, me: str, wanted: set[Path], *, is_forced: bool) -> None:
        differing = {path for path in wanted if _at(before, path) != _at(body, path)}
        for owner, owned in self._fields.items():
            if owner == me or not (theirs := differing & owned):
                continue
            if not is_forced:
                listed = ", ".join(sorted("." + ".".join(path) for path in theirs))
                raise ApplyConflictError(
                    f'Apply failed with {len(theirs)} conflict(s): conflict with "{owner}": {listed}'
                )
            self._fields[owner] = owned - theirs


def fields(found: Object) -> set[Path]:
    """The leaves that managers own; not the object's identity, its status and what the server writes."""
    return {
        path
        for path in _all_paths(found)
        if path not in IDENTITY
        and path[0] != "status"
        and not (path[0] == "metadata" and len(path) > 1 and path[1] in OF_THE_SERVER)
    }


def _all_paths(value: Any, above: Path = ()) -> set[Path]:
    if not isinstance(value, dict) or not value or (above and above[-1] in ATOMIC):
        return {above} if above else set()
    return {path for key, inner in value.items() for path in _all_paths(inner, (*above, key))}


def _at(found: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found


def _put(found: Object, path: Path, value: Any) -> None:
    for key in path[:-1]:
        found = found.setdefault(key, {})
    found[path[-1]] = value


def _drop(found: Object, path: Path) -> None:
    above = _at(found, path[:-1])
    if isinstance(above, dict):
        above.pop(path[-1], None)
