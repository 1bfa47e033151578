# SPDX-License-Identifier: Apache-2.0
"""The thin client: JSON over the official package's connection, with retries and typed errors. Knows no gangs."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException

from mlhub.backends.kubernetes.objects import Object
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.protocol import BackendUnavailableError

N_TRIES = 5
LONGEST_PAUSE_S = 5.0
PAGE = 500
MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    """The API server refused the request. Final for this request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class KubeNotFoundError(ApiError):
    pass


class KubeConflictError(ApiError):
    """The object exists already, or was changed by another client in between."""


class ForbiddenError(ApiError):
    """A right is missing, a quota is used up, or a policy of the cluster does not allow the object."""

    @property
    def is_right(self) -> bool:
        return self.status == 401 or " cannot " in str(self)

    @property
    def is_quota(self) -> bool:
        return "exceeded quota" in str(self)

    @property
    def is_policy(self) -> bool:
        return "violates PodSecurity" in str(self) or "admission webhook" in str(self)


class ExpiredError(ApiError):
    """The resourceVersion is too old: list anew."""


_ERRORS: Mapping[int, type[ApiError]] = {
    401: ForbiddenError,
    403: ForbiddenError,
    404: KubeNotFoundError,
    409: KubeConflictError,
    410: ExpiredError,
}


class KubernetesApi:
    """Requests to one API server. timeout_s bounds each try, not the whole of them."""

    def __init__(self, connect: Callable[[], client.ApiClient], *, timeout_s: float) -> None:
        self._connect = connect
        self._connected: client.ApiClient | None = None
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
        """Raises KubeConflictError when it is there already, be it by an earlier try whose answer was lost."""
        return self._json("POST", path, query={"fieldValidation": "Strict", **query}, body=body)

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
            raise _error_of(answer.status, content)
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
                raise _error_of(answer.status, answer.data)
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
        for n_try in range(N_TRIES):
            pause_s = min(LONGEST_PAUSE_S, 0.1 * 4**n_try) * random.uniform(0.7, 1.3)
            try:
                answer = self._open(verb, path, query=query, body=body, content_type=content_type)
                content: bytes = answer.data
            except BackendUnavailableError:
                if n_try == N_TRIES - 1:
                    raise
            except (urllib3.exceptions.HTTPError, OSError) as error:
                if n_try == N_TRIES - 1:
                    raise BackendUnavailableError(f"{verb} {path}: the answer broke off: {error}") from error
            else:
                if answer.status < 300:
                    return content
                if answer.status != 429 and answer.status < 500:
                    raise _error_of(answer.status, content)
                if n_try == N_TRIES - 1:
                    raise BackendUnavailableError(f"{verb} {path}: {_message(answer.status, content)}")
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
    ) -> urllib3.HTTPResponse:
        """Raises BackendUnavailableError when no answer came."""
        headers = {"Accept": "application/json", "User-Agent": "mlhub"}
        if body is not None:
            headers["Content-Type"] = content_type or "application/json"
        if self._connected is None:
            self._connected = self._connect()
        try:
            request = self._connected.param_serialize(
                verb,
                path,
                query_params=list(query.items()),
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
            )
            timeout = (self._timeout_s, timeout_s or self._timeout_s)
            response: urllib3.HTTPResponse = self._connected.call_api(*request, _request_timeout=timeout).response
        except (urllib3.exceptions.HTTPError, client.ApiException, OSError) as error:
            raise BackendUnavailableError(f"The Kubernetes API cannot be reached: {_short(error)}") from error
        return response


def connection(options: KubernetesOptions, *, token: str = "") -> client.ApiClient:
    """By kubeconfig, or as the pod that this runs in. token: of another account, instead of the one found there.

    Raises BackendUnavailableError saying what to set.
    """
    found = client.Configuration()
    try:
        if options.kubeconfig or not _is_in_pod():
            config.load_kube_config(options.kubeconfig or None, options.context or None, found)  # type: ignore[no-untyped-call]
        else:
            config.load_incluster_config(found)  # type: ignore[no-untyped-call]
    except (ConfigException, OSError, yaml.YAMLError) as error:
        tried, problem = options.kubeconfig or "the default kubeconfig", str(error).rstrip(".")
        raise BackendUnavailableError(
            f"No way to a Kubernetes API by {tried}: {problem}. Name a kubeconfig with MLHUB_KUBE_KUBECONFIG."
        ) from error
    if token:
        found.api_key = {"BearerToken": token}
        found.api_key_prefix = {"BearerToken": "Bearer"}
        found.refresh_api_key_hook = None
        found.cert_file = found.key_file = None
    found.retries = urllib3.Retry(0)  # ours are typed, bounded and know what may be repeated
    return client.ApiClient(found)


def _is_in_pod() -> bool:
    return Path("/var/run/secrets/kubernetes.io/serviceaccount/token").exists()


def _event(line: bytes) -> Object:
    event: Object = json.loads(line)
    if event["type"] == "ERROR":
        status = event["object"]
        kind = _ERRORS.get(status.get("code", 500))
        if kind is None:
            raise BackendUnavailableError(f"The watch ended: {status.get('message')}")
        raise kind(status["code"], status.get("message", ""))
    return event


def _error_of(status: int, content: bytes) -> Exception:
    if status == 429 or status >= 500:
        return BackendUnavailableError(_message(status, content))
    return _ERRORS.get(status, ApiError)(status, _message(status, content))


def _message(status: int, content: bytes) -> str:
    try:
        return str(json.loads(content)["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {status}: {content[:200].decode(errors='replace')}"


def _asked_pause_s(header: str | None) -> float | None:
    try:
        return min(float(header or ""), LONGEST_PAUSE_S)
    except ValueError:
        return None


def _short(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return f"{reason or error}"[:300]
