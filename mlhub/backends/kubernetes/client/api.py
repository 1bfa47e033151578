# SPDX-License-Identifier: Apache-2.0
"""The thin client: JSON over the official package's connection, with retries and typed errors. Knows no gangs."""

from __future__ import annotations

import contextlib
import json
import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlencode

import urllib3
from kubernetes import client

from mlhub.backends.kubernetes.client.errors import (
    ERRORS,
    ApiError,
    ExpiredError,
    KubeConflictError,
    KubeNotFoundError,
    error_of,
)
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.protocol import BackendUnavailableError

N_TRIES = 5
LONGEST_PAUSE_S = 5.0
PAGE = 500
MOST_WRITES = 16
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
FIELD_MANAGER = "mlhub"
TOKEN_EVERY_S = 10.0  # how often a renewed token is looked for
WRITES = ("POST", "PATCH", "DELETE")


class KubernetesApi:
    """Requests to one API server, from any number of threads. timeout_s bounds each try, not the whole of them.

    parallelism: so many requests that write are under way at once.
    """

    def __init__(
        self, connect: Callable[[], client.ApiClient], *, timeout_s: float, parallelism: int = MOST_WRITES
    ) -> None:
        self._connect = connect
        self._connected: client.ApiClient | None = None
        self._connecting = threading.Lock()
        self._token, self._authorized_at = "", -math.inf
        self._writing = threading.BoundedSemaphore(parallelism)
        self._timeout_s = timeout_s

    def get(self, path: str, **query: str) -> Object:
        return self._json("GET", path, query=query)

    def list(self, path: str, **query: str) -> tuple[list[Object], str]:
        """All pages, and the resourceVersion that they were read at. Begins anew when that is forgotten half way."""
        items: list[Object] = []
        token = ""
        n_begun = 1
        while True:
            try:
                page = self.get(path, limit=str(PAGE), **query, **({"continue": token} if token else {}))
            except ExpiredError:
                if not token or n_begun == N_TRIES:
                    raise
                items, token, n_begun = [], "", n_begun + 1
                continue
            items += page.get("items") or []
            token = page["metadata"].get("continue") or ""
            if not token:
                return items, page["metadata"]["resourceVersion"]

    def create(self, path: str, body: Object, **query: str) -> Object:
        """Raises KubeConflictError when it is there already, be it by an earlier try whose answer was lost.

        A race on the server's side, such as for the sum of a ResourceQuota, is repeated.
        """
        for _ in range(N_TRIES - 1):
            try:
                return self._json("POST", path, query={"fieldValidation": "Strict", **query}, body=body)
            except KubeConflictError as error:
                if not error.is_race:
                    raise
            time.sleep(0.02 * random.uniform(0.5, 2.0))
        return self._json("POST", path, query={"fieldValidation": "Strict", **query}, body=body)

    def apply(self, path: str, body: Object) -> Object:
        """Makes or corrects an object (server-side apply): its fields become those of body, also where changed.

        Fields that MLHub applied before and that body lacks are removed; what others added stays.
        """
        query = {"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"}
        return self._json("PATCH", path, query=query, body=body, content_type=APPLY_PATCH)

    def patch(self, path: str, body: Object) -> Object:
        """A merge patch: None removes a field."""
        return self._json("PATCH", path, body=body, content_type=MERGE_PATCH)

    def delete(self, path: str, *, grace_s: int | None = None, seen: Object | None = None) -> Object | None:
        """What is left of it, when it does not go at once. None when it is not there.

        seen: the object as it was; raises ConflictError when it was changed since.
        """
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        if seen is not None:
            body["preconditions"] = {key: seen["metadata"][key] for key in ("uid", "resourceVersion")}
        try:
            return self._json("DELETE", path, body=body)
        except KubeNotFoundError:
            return None

    def text(self, path: str, *, timeout_s: float, **query: str) -> str:
        """Asked once: of what a pod printed the API server must ask the pod's node, which may be away for good."""
        answer = self._open("GET", path, query=query, body=None, content_type=None, timeout_s=timeout_s)
        try:
            content: bytes = answer.data
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise BackendUnavailableError(f"GET {path}: the answer broke off: {error}") from error
        if answer.status >= 300:
            raise error_of(answer.status, content)
        return content.decode(errors="replace")

    def watch(
        self, path: str, *, since: str, seconds: int, on_open: Callable[[], None], **query: str
    ) -> Iterator[Object]:
        """Events from a resourceVersion on, until the server ends the watch. on_open: called when it is accepted.

        Raises ExpiredError, ApiError, BackendUnavailableError (also when no event or reply arrived for too long).
        """
        asked = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": since,
            "timeoutSeconds": str(seconds),
            **query,
        }
        answer = self._open("GET", path, query=asked, body=None, content_type=None, timeout_s=seconds + 5.0)
        try:
            if answer.status != 200:
                raise error_of(answer.status, answer.data)
            on_open()
            rest = b""
            for chunk in answer.stream(2**16, decode_content=True):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield _event(line)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise BackendUnavailableError(f"The watch broke off: {error}") from error
        finally:
            answer.close()

    def _json(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str | None = None,
    ) -> Object:
        content = self._send(verb, path, query=query or {}, body=body, content_type=content_type)
        try:
            found: Object = json.loads(content)
        except ValueError as error:
            raise BackendUnavailableError(f"{verb} {path}: the answer is no JSON; is this an API server?") from error
        return found

    def _send(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str],
        body: Object | None = None,
        content_type: str | None = None,
    ) -> bytes:
        """Repeats what may succeed later. Every request here may be repeated: names are given, patches are absolute."""
        last_try = N_TRIES - 1
        for n_try in range(last_try + 1):
            pause_s = min(LONGEST_PAUSE_S, 0.1 * 4**n_try) * random.uniform(0.7, 1.3)
            try:
                with self._writing if verb in WRITES else contextlib.nullcontext():
                    answer = self._open(verb, path, query=query, body=body, content_type=content_type)
                    content: bytes = answer.data
            except BackendUnavailableError:
                if n_try == last_try:
                    raise
            except (urllib3.exceptions.HTTPError, OSError) as error:
                if n_try == last_try:
                    raise BackendUnavailableError(f"{verb} {path}: the answer broke off: {error}") from error
            else:
                if answer.status < 300:
                    return content
                refusal = error_of(answer.status, content)
                if isinstance(refusal, ApiError):
                    raise refusal
                if n_try == last_try:
                    raise BackendUnavailableError(f"{verb} {path}: {refusal}")
                pause_s = _asked_pause_s(answer.headers.get("Retry-After")) or pause_s
            time.sleep(pause_s)
        raise AssertionError("unreachable: the last try returns or raises")

    def _open(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str],
        body: Object | None,
        content_type: str | None,
        timeout_s: float | None = None,
    ) -> urllib3.BaseHTTPResponse:
        """Raises BackendUnavailableError when no answer came."""
        headers = {"Accept": "application/json", "User-Agent": "mlhub"}
        content = None
        if body is not None:
            content = json.dumps(body, separators=(",", ":")).encode()
            headers["Content-Type"] = content_type or "application/json"
        try:
            connected = self._connection()
            if authorization := self._authorization(connected):
                headers["Authorization"] = authorization
            # the client's own way copies and checks each body, which takes longer than the server's answer
            response: urllib3.BaseHTTPResponse = connected.rest_client.pool_manager.request(
                verb,
                f"{connected.configuration.host}{path}" + (f"?{urlencode(query)}" if query else ""),
                body=content,
                headers=headers,
                timeout=urllib3.Timeout(connect=self._timeout_s, read=timeout_s or self._timeout_s),
                preload_content=False,
                redirect=False,
            )
        except (urllib3.exceptions.HTTPError, client.ApiException, OSError) as error:
            raise BackendUnavailableError(f"The Kubernetes API cannot be reached: {_short(error)}") from error
        return response

    def _authorization(self, connected: client.ApiClient) -> str:
        """Tokens are renewed while they are good for long; the client reads its configuration anew for each look."""
        if time.monotonic() - self._authorized_at > TOKEN_EVERY_S:
            with self._connecting:
                token = connected.configuration.auth_settings().get("BearerToken")
                self._token, self._authorized_at = str(token["value"] or "") if token else "", time.monotonic()
        return self._token

    def _connection(self) -> client.ApiClient:
        with self._connecting:
            if self._connected is None:
                self._connected = self._connect()
            return self._connected


def _event(line: bytes) -> Object:
    event: Object = json.loads(line)
    if event["type"] == "ERROR":
        status = event["object"]
        kind = ERRORS.get(status.get("code", 500))
        if kind is None:
            raise BackendUnavailableError(f"The watch ended: {status.get('message')}")
        raise kind(status["code"], status.get("message", ""))
    return event


def _asked_pause_s(header: str | None) -> float | None:
    try:
        return min(float(header or ""), LONGEST_PAUSE_S)
    except ValueError:
        return None


def _short(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return f"{reason or error}"[:300]
