# SPDX-License-Identifier: Apache-2.0
"""What a fake API server keeps: objects with versions, the history for watches, deletion by grace and finalizers."""

from __future__ import annotations

import bisect
import copy
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.backends.kubernetes.server_side_apply import ApplyConflictError, FieldOwners

Object = dict[str, Any]
Key = tuple[str, str, str]  # plural, namespace ("" when it has none), name
Wanted = Callable[[Object], bool]


class RefusedError(Exception):
    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.reason = status, message, reason


def stamp(at: datetime | None = None) -> str:
    return (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Store:
    """on_pod: called with every pod that was released or asked to end; on_gone: of every one that is gone; on_job: with
    every Job that was made or changed.

    Garbage of lost owners stays until collect_garbage(): the real collector comes late, too, and must not be leaned on.
    """

    def __init__(self) -> None:
        self.objects: dict[Key, Object] = {}
        self.history: list[tuple[int, str, str, Object, Object | None]] = []  # version, plural, type, object, before
        self._owners: dict[Key, FieldOwners] = {}
        self.version = 100
        self.oldest = 0  # watches from before are answered 410
        self.changed = threading.Condition(threading.RLock())
        self.namespaces_end_after_s = 0.0  # controllers empty them, and come late
        self.on_pod: Callable[[Object], None] = lambda pod: None
        self.on_gone: Callable[[Object], None] = lambda pod: None
        self.on_job: Callable[[Object], None] = lambda job: None

    def create(self, plural: str, namespace: str, body: Object, *, manager: str = "another client") -> Object:
        with self.changed:
            key = (plural, namespace, body["metadata"]["name"])
            self._check_namespace(plural, namespace)
            if key in self.objects:
                raise RefusedError(409, f'{plural} "{key[2]}" already exists', "AlreadyExists")
            found = copy.deepcopy(body)
            found["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": stamp()}
            if plural == "pods":
                account = found["spec"].get("serviceAccountName", "default")
                if ("serviceaccounts", namespace, account) not in self.objects:
                    raise RefusedError(403, f'serviceaccount "{account}" not found', "Forbidden")
                found["status"] = {"phase": "Pending"}
                if found["spec"].get("schedulingGates"):
                    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
                    found["status"]["conditions"] = [{**gated, "lastTransitionTime": stamp()}]
            self._owners[key] = FieldOwners()
            self._owners[key].updated(None, found, manager)
            self._write(key, found, "ADDED", None)
            self._tell(plural, found)
            return self.objects[key]

    def apply(self, plural: str, namespace: str, name: str, body: Object, *, manager: str, is_forced: bool) -> Object:
        """Server-side apply: makes the object, or sets the fields of body and drops those applied before."""
        with self.changed:
            key = (plural, namespace, name)
            before = self.objects.get(key)
            if before is None:
                made = self.create(plural, namespace, body)
                self._owners[key] = FieldOwners()
                self._owners[key].applied(None, body, manager, is_forced=True)
                return made
            try:
                found = self._owners[key].applied(before, body, manager, is_forced=is_forced)
            except ApplyConflictError as error:
                raise RefusedError(409, str(error), "Conflict") from error
            if _without_version(found) == _without_version(before):
                return before
            self._write(key, found, "MODIFIED", before)
            return self.objects[key]

    def get(self, plural: str, namespace: str, name: str) -> Object:
        with self.changed:
            try:
                return self.objects[(plural, namespace, name)]
            except KeyError:
                raise RefusedError(404, f'{plural} "{name}" not found', "NotFound") from None

    def select(self, plural: str, namespace: str | None, wanted: Wanted) -> tuple[list[Object], int]:
        with self.changed:
            found = [
                o
                for (p, ns, _), o in sorted(self.objects.items())
                if p == plural and namespace in (None, ns) and wanted(o)
            ]
            return found, self.version

    def patch(
        self, plural: str, namespace: str, name: str, change: Object, *, manager: str = "another client"
    ) -> Object:
        """A merge patch. With a resourceVersion in it, only of the object as it was seen."""
        with self.changed:
            before = self.get(plural, namespace, name)
            seen = (change.get("metadata") or {}).get("resourceVersion")
            if seen not in (None, before["metadata"]["resourceVersion"]):
                raise _conflict(plural, name)
            found = merged(before, change)
            if found["metadata"].get("deletionTimestamp") and _may_go(found):
                return self._erase((plural, namespace, name), found)
            if _without_version(found) == _without_version(before):
                return before  # nothing is written, and no watch receives it
            self._owners[plural, namespace, name].updated(before, found, manager)
            self._write((plural, namespace, name), found, "MODIFIED", before)
            self._tell(plural, found)
            return self.objects[(plural, namespace, name)]

    def delete(
        self, plural: str, namespace: str, name: str, grace_s: int | None, *, preconditions: Object | None = None
    ) -> Object:
        """Gone at once, or marked as leaving: by its time of grace, its finalizers, or what its namespace holds."""
        with self.changed:
            before = self.get(plural, namespace, name)
            if any(before["metadata"].get(key) != value for key, value in (preconditions or {}).items()):
                raise _conflict(plural, name)
            found = copy.deepcopy(before)
            if plural == "namespaces":
                return self._terminate(name, found)
            metadata = found["metadata"]
            if plural == "pods":
                grace_s = found["spec"].get("terminationGracePeriodSeconds", 30) if grace_s is None else grace_s
                if not found["spec"].get("nodeName") or found["status"]["phase"] in ("Succeeded", "Failed"):
                    grace_s = 0
            left_s = metadata.get("deletionGracePeriodSeconds")
            if left_s is None or (grace_s or 0) < left_s:
                metadata["deletionTimestamp"] = stamp(datetime.now(UTC) + timedelta(seconds=grace_s or 0))
                metadata["deletionGracePeriodSeconds"] = grace_s or 0
            if _may_go(found):
                return self._erase((plural, namespace, name), found)
            if found != before:
                self._write((plural, namespace, name), found, "MODIFIED", before)
                self._tell(plural, found)
            return self.objects[(plural, namespace, name)]

    def collect_garbage(self) -> int:
        """What the garbage collector does of what has no living owner any more; returns how many it removed."""
        with self.changed:
            alive = {o["metadata"]["uid"] for o in self.objects.values()}
            owned = [(key, o) for key, o in self.objects.items() if o["metadata"].get("ownerReferences")]
            n_removed = 0
            for key, found in owned:
                references = found["metadata"]["ownerReferences"]
                left = [r for r in references if r["uid"] in alive]
                if not left:
                    self.delete(*key, None)
                    n_removed += 1
                elif left != references:
                    self.patch(*key, {"metadata": {"ownerReferences": left}})
            return n_removed

    def events_since(self, version: int, plural: str, wanted: Wanted) -> tuple[list[tuple[str, Object]], int]:
        """What a watch receives, and up to which version: an object that fits the selector no longer is DELETED."""
        events_seen: list[tuple[str, Object]] = []
        newer = bisect.bisect_right(self.history, version, key=lambda entry: entry[0])
        for _, kind_of, kind, found, before in self.history[newer:]:
            if kind_of != plural:
                continue
            fits, did = wanted(found), before is not None and wanted(before)
            if kind == "MODIFIED" and fits != did:
                events_seen.append(("ADDED" if fits else "DELETED", found))
            elif fits:
                events_seen.append((kind, found))
        return events_seen, max(version, self.version)

    def go_back(self, objects: dict[Key, Object], version: int) -> None:
        """As when a backup of the database is restored: what was written since never was."""
        with self.changed:
            self.objects, self.version, self.oldest = copy.deepcopy(objects), version, 0
            self._owners = {key: self._owners.get(key, FieldOwners()) for key in self.objects}
            self.history = [entry for entry in self.history if entry[0] <= version]
            self.changed.notify_all()

    def forget_history(self) -> None:
        """As when etcd compacts: who watches from before must list anew."""
        with self.changed:
            self.history.clear()
            self.oldest = self.version
            self.changed.notify_all()

    def _check_namespace(self, plural: str, namespace: str) -> None:
        home = self.objects.get(("namespaces", "", namespace))
        if namespace and home is None:
            raise RefusedError(404, f'namespaces "{namespace}" not found', "NotFound")
        if home is not None and home["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise RefusedError(403, f"{plural} is forbidden: {why}", "Forbidden")

    def _terminate(self, name: str, found: Object) -> Object:
        """A namespace goes once all that it holds has gone."""
        if not found["metadata"].get("deletionTimestamp"):
            found["metadata"]["deletionTimestamp"] = stamp()
            found["status"] = {"phase": "Terminating"}
            self._write(("namespaces", "", name), found, "MODIFIED", self.objects[("namespaces", "", name)])
        if self.namespaces_end_after_s:
            threading.Timer(self.namespaces_end_after_s, self._empty, (name,)).start()
        else:
            self._empty(name)
        return self.objects.get(("namespaces", "", name), found)

    def _empty(self, name: str) -> None:
        with self.changed:
            for key in [k for k in self.objects if k[1] == name]:
                if key in self.objects:
                    self.delete(*key, None)
            if ("namespaces", "", name) in self.objects and not any(k[1] == name for k in self.objects):
                self._erase(("namespaces", "", name), self.objects[("namespaces", "", name)])

    def _write(self, key: Key, found: Object, kind: str, before: Object | None) -> None:
        self.version += 1
        found = copy.deepcopy(found)
        found["metadata"]["resourceVersion"] = str(self.version)
        self.objects[key] = found
        self.history.append((self.version, key[0], kind, found, before))
        self.changed.notify_all()

    def _erase(self, key: Key, found: Object) -> Object:
        self._write(key, found, "DELETED", self.objects[key])
        gone = self.objects.pop(key)
        if key[0] == "pods":
            self.on_gone(copy.deepcopy(gone))
        self._owners.pop(key, None)
        home = self.objects.get(("namespaces", "", key[1]))
        is_ending = key[1] and home is not None and home["metadata"].get("deletionTimestamp")
        if is_ending and not any(k[1] == key[1] for k in self.objects):
            self._erase(("namespaces", "", key[1]), home)
        return gone

    def _tell(self, plural: str, found: Object) -> None:
        if plural == "pods":
            self.on_pod(copy.deepcopy(found))
        elif plural == "jobs":
            self.on_job(copy.deepcopy(found))


def merged(before: Any, change: Any) -> Any:
    """RFC 7386: null removes."""
    if not isinstance(change, dict) or not isinstance(before, dict):
        return copy.deepcopy(change)
    found = copy.deepcopy(before)
    for name, value in change.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name, {} if isinstance(value, dict) else None), value)
    return found


def _conflict(plural: str, name: str) -> RefusedError:
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return RefusedError(409, f'Operation cannot be fulfilled on {plural} "{name}": {why}', "Conflict")


def _without_version(found: Object) -> Object:
    return {**found, "metadata": {k: v for k, v in found["metadata"].items() if k != "resourceVersion"}}


def _may_go(found: Object) -> bool:
    """No finalizer holds it, and its time of grace is over."""
    return not found["metadata"].get("finalizers") and not found["metadata"].get("deletionGracePeriodSeconds")
