# SPDX-License-Identifier: Apache-2.0
"""A local copy of one kind of object: listed, followed by a watch, listed anew when the watch is too old, and now and
then: a database that was put back to an earlier state sends no events to watches from later on."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.errors import ApiError, ExpiredError
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.protocol import BackendUnavailableError

logger = logging.getLogger(__name__)

WATCH_S = 30
RELIST_S = 300.0
STALE_AFTER_S = 10.0  # how long the copy is still believed once the API cannot be reached
FIRST_LIST_AGAIN_S = 2.0  # so long a first list that failed may be made again before the API counts as away
LONGEST_PAUSE_S = 5.0
N_GONE = 10_000


def _all(found: Object) -> bool:  # noqa: ARG001
    return True


class Mirror:
    """path: of the list, over all namespaces. selector, fields: of labels and fields, for the server; keeps: what is
    worth its memory here. What this process writes is put() in at once: it reads its own writes."""

    def __init__(
        self,
        api: KubernetesApi,
        path: str,
        *,
        selector: str = "",
        fields: str = "",
        keeps: Callable[[Object], bool] = _all,
        sync_timeout_s: float = 15.0,
        relist_after_s: float = RELIST_S,
    ) -> None:
        self.n_lists = 0
        self._relist_after_s, self._listed_at, self._newest = relist_after_s, 0.0, 0
        self._api, self._path = api, path
        self._query = {"labelSelector": selector} if selector else {}
        self._query |= {"fieldSelector": fields} if fields else {}
        self._keeps = keeps
        self._sync_timeout_s = sync_timeout_s
        self._objects: dict[str, Object] = {}  # by uid
        self._uids: dict[tuple[str, str], str] = {}  # by namespace and name
        self._gone: OrderedDict[str, float] = OrderedDict()  # by uid, the version at which it went
        self._lock = threading.Lock()
        self._is_synced = threading.Event()
        self._is_closed = threading.Event()
        self._broken_since: float | None = None
        self._error = ""
        self._read_to: str | None = None
        self._thread: threading.Thread | None = None

    def objects(self) -> list[Object]:
        """Raises BackendUnavailableError when there is no copy yet, or it is too old to be believed."""
        self._check()
        with self._lock:
            return list(self._objects.values())

    def named(self, namespace: str, name: str) -> Object | None:
        """Raises BackendUnavailableError as objects() does."""
        self._check()
        with self._lock:
            return self._objects.get(self._uids.get((namespace, name), ""))

    def _check(self) -> None:
        self.start()
        until = time.monotonic() + self._sync_timeout_s
        while not self._is_synced.wait(0.05):
            broken_since = self._broken_since
            is_away = broken_since is not None and time.monotonic() - broken_since > FIRST_LIST_AGAIN_S
            if is_away or time.monotonic() > until:
                raise BackendUnavailableError(self._error or f"{self._path} was not answered in time.")
        broken_since = self._broken_since
        if broken_since is not None and time.monotonic() - broken_since > STALE_AFTER_S:
            raise BackendUnavailableError(self._error)

    def put(self, found: Object) -> None:
        """An object as an answer showed it; older than what is known, or of a deleted one, it is ignored."""
        if not self._keeps(found):
            return
        uid = found["metadata"]["uid"]
        with self._lock:
            known = self._objects.get(uid)
            is_newer = known is None or _version(known) <= _version(found)
            if is_newer and _version(found) > self._gone.get(uid, -1.0):
                self._set(uid, found)

    def drop(self, uid: str, *, at: float = math.inf) -> None:
        """It is gone. at: the version up to which that holds; one that only left the selection may come back."""
        with self._lock:
            self._unset(uid)
            self._gone[uid] = max(at, self._gone.get(uid, -1.0))
            if len(self._gone) > N_GONE:
                self._gone.popitem(last=False)

    def close(self) -> None:
        self._is_closed.set()

    def start(self) -> None:
        """Begins to list and to watch, where that has not begun."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._follow, name=f"mirror {self._path}", daemon=True)
                self._thread.start()

    def _set(self, uid: str, found: Object) -> None:
        self._objects[uid] = found
        self._uids[_place(found)] = uid

    def _unset(self, uid: str) -> None:
        gone = self._objects.pop(uid, None)
        if gone is not None and self._uids.get(_place(gone)) == uid:
            del self._uids[_place(gone)]

    def _follow(self) -> None:
        version: str | None = None
        n_failures = 0
        while not self._is_closed.is_set():
            try:
                if version is None or time.monotonic() - self._listed_at > self._relist_after_s:
                    version = self._list()
                self._watch(version)
                version, n_failures = self._read_to, 0
            except ExpiredError:
                version, self._read_to = None, None
            except (ApiError, BackendUnavailableError) as error:
                n_failures += 1
                version = self._read_to or version  # what was read need not be read again
                self._note(error)
                self._is_closed.wait(min(LONGEST_PAUSE_S, 0.1 * 2**n_failures))
            except Exception as error:
                # a thread that ends here would leave a copy that is believed for ever and never changes
                logger.exception("kubernetes.mirror_raised", extra={"path": self._path})
                n_failures += 1
                version, self._read_to = None, None
                self._note(error)
                self._is_closed.wait(min(LONGEST_PAUSE_S, 0.1 * 2**n_failures))

    def _list(self) -> str:
        items, version = self._api.list(self._path, **self._query)
        listed = {item["metadata"]["uid"]: item for item in items if self._keeps(item)}
        with self._lock:
            if _number(version) < self._newest:
                logger.warning("kubernetes.went_back", extra={"path": self._path, "from": self._newest, "to": version})
                self._objects.clear()
                self._uids.clear()
                self._gone.clear()
            self._newest, self._listed_at = _number(version), time.monotonic()
            # what was put in after the list was made stays; what is missing from it is gone
            for uid, known in list(self._objects.items()):
                if uid not in listed and _version(known) <= _number(version):
                    self._unset(uid)
            for uid, item in listed.items():
                known_item = self._objects.get(uid)
                is_newer = known_item is None or _version(known_item) <= _version(item)
                if is_newer and _version(item) > self._gone.get(uid, -1.0):
                    self._set(uid, item)
        self.n_lists += 1
        self._recover()
        self._is_synced.set()
        return version

    def _watch(self, version: str) -> None:
        self._read_to = version
        for event in self._api.watch(self._path, since=version, seconds=WATCH_S, on_open=self._recover, **self._query):
            found = event["object"]
            self._read_to = found["metadata"]["resourceVersion"]
            self._newest = max(self._newest, _version(found))
            if event["type"] in ("ADDED", "MODIFIED"):
                self.put(found)
            elif event["type"] == "DELETED":
                self.drop(found["metadata"]["uid"], at=_version(found))
            if self._is_closed.is_set():
                break

    def _note(self, error: Exception) -> None:
        if self._broken_since is None:
            logger.warning("kubernetes.watch_broken", extra={"path": self._path, "error": error})
            self._broken_since = time.monotonic()
        missing = (
            "A right is missing (see the chart's ClusterRole). "
            if isinstance(error, ApiError) and error.is_right
            else ""
        )
        self._error = f"{missing}{error}"

    def _recover(self) -> None:
        self._broken_since = None


def _place(found: Object) -> tuple[str, str]:
    return str(found["metadata"].get("namespace") or ""), str(found["metadata"].get("name") or "")


def _version(found: Object) -> int:
    return _number(found["metadata"].get("resourceVersion", "0"))


def _number(version: str) -> int:
    """resourceVersions of one kind are comparable numbers (the API promises it since 1.35, etcd always gave it)."""
    return int(version) if version.isdigit() else 0
