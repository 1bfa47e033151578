"""What a fake API server keeps: objects with versions, the history for watches, deletion by grace and finalizers."""

from __future__ import annotations

import copy
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

Object = dict[str, Any]
Key = tuple[str, str, str]  # plural, namespace ("" when it has none), name


class RefusedError(Exception):
    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.reason = status, message, reason


def stamp(at: datetime | None = None) -> str:
    return (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Store:
    """on_pod: told of every pod that was released or asked to end; a kubelet stands behind it."""

    def __init__(self) -> None:
        self.objects: dict[Key, Object] = {}
        self.history: list[tuple[int, str, str, Object]] = []  # version, plural, type, object
        self.version = 100
        self.oldest = 0  # watches from before are answered 410
        self.changed = threading.Condition(threading.RLock())
        self.on_pod: Callable[[Object], None] = lambda pod: None

    def create(self, plural: str, namespace: str, body: Object) -> Object:
        with self.changed:
            key = (plural, namespace, body["metadata"]["name"])
            if namespace and ("namespaces", "", namespace) not in self.objects:
                raise RefusedError(404, f'namespaces "{namespace}" not found', "NotFound")
            if key in self.objects:
                raise RefusedError(409, f'{plural} "{key[2]}" already exists', "AlreadyExists")
            found = copy.deepcopy(body)
            found["metadata"] |= {"uid": str(uuid.uuid4()), "creationTimestamp": stamp()}
            if plural == "pods":
                account = found["spec"].get("serviceAccountName", "default")
                if ("serviceaccounts", namespace, account) not in self.objects:
                    raise RefusedError(403, f'serviceaccount "{account}" not found', "Forbidden")
                found["status"] = {"phase": "Pending"}
            self._write(key, found, "ADDED")
            self._tell(plural, found)
            return self.objects[key]

    def get(self, plural: str, namespace: str, name: str) -> Object:
        with self.changed:
            try:
                return self.objects[(plural, namespace, name)]
            except KeyError:
                raise RefusedError(404, f'{plural} "{name}" not found', "NotFound") from None

    def select(self, plural: str, namespace: str | None, wanted: Callable[[Object], bool]) -> tuple[list[Object], int]:
        with self.changed:
            found = [
                o
                for (p, ns, _), o in sorted(self.objects.items())
                if p == plural and namespace in (None, ns) and wanted(o)
            ]
            return found, self.version

    def patch(self, plural: str, namespace: str, name: str, change: Object) -> Object:
        with self.changed:
            found = merged(self.get(plural, namespace, name), change)
            if found["metadata"].get("deletionTimestamp") and _may_go(found):
                return self._erase((plural, namespace, name), found)
            self._write((plural, namespace, name), found, "MODIFIED")
            self._tell(plural, found)
            return self.objects[(plural, namespace, name)]

    def delete(self, plural: str, namespace: str, name: str, grace_s: int | None) -> Object:
        with self.changed:
            found = copy.deepcopy(self.get(plural, namespace, name))
            metadata = found["metadata"]
            if plural == "pods":
                grace_s = found["spec"].get("terminationGracePeriodSeconds", 30) if grace_s is None else grace_s
                if not found["spec"].get("nodeName") or found["status"]["phase"] in ("Succeeded", "Failed"):
                    grace_s = 0
                before = metadata.get("deletionGracePeriodSeconds")
                if before is None or grace_s < before:
                    metadata["deletionTimestamp"] = stamp(datetime.now(UTC) + timedelta(seconds=grace_s))
                    metadata["deletionGracePeriodSeconds"] = grace_s
                if not _may_go(found):
                    self._write((plural, namespace, name), found, "MODIFIED")
                    self._tell(plural, found)
                    return self.objects[(plural, namespace, name)]
            if plural == "namespaces":
                for key in [k for k in self.objects if k[1] == name]:
                    self._erase(key, self.objects[key])
            return self._erase((plural, namespace, name), found)

    def events_since(self, version: int, plural: str) -> list[tuple[int, str, Object]]:
        return [(v, kind, o) for v, p, kind, o in self.history if v > version and p == plural]

    def forget_history(self) -> None:
        """As when etcd compacts: who watches from before must list anew."""
        with self.changed:
            self.history.clear()
            self.oldest = self.version
            self.changed.notify_all()

    def _write(self, key: Key, found: Object, kind: str) -> None:
        self.version += 1
        found = copy.deepcopy(found)
        found["metadata"]["resourceVersion"] = str(self.version)
        self.objects[key] = found
        self.history.append((self.version, key[0], kind, found))
        self.changed.notify_all()

    def _erase(self, key: Key, found: Object) -> Object:
        self._write(key, found, "DELETED")
        return self.objects.pop(key)

    def _tell(self, plural: str, found: Object) -> None:
        if plural == "pods":
            self.on_pod(copy.deepcopy(found))


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


def _may_go(found: Object) -> bool:
    """No finalizer holds it, and its time of grace is over."""
    return not found["metadata"].get("finalizers") and not found["metadata"].get("deletionGracePeriodSeconds")
