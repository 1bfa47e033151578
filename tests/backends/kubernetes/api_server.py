# SPDX-License-Identifier: Apache-2.0
"""A fake Kubernetes API server over HTTP: the paths MLHub uses, watches, rights, and the ways in which servers fail."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import yaml

from mlhub.backends.kubernetes.client.access import AccessRule
from tests.backends.kubernetes.admission import check_change, validated
from tests.backends.kubernetes.store import Object, RefusedError, Store

_PATH = re.compile(
    r"^/(?:api/v1|apis/(?P<group>[^/]+)/(?P<version>v1|v1beta1|v1beta2))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>log|token|status))?$"
)
ADMIN = "the-administrators-token"
_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}


class Fault:
    """times: how many requests it meets. only: the HTTP verb; acts: whether the request is carried out all the same."""

    def __init__(self, kind: str, *, times: int, only: str, path: str, status: int, acts: bool, value: str) -> None:
        self.kind, self.times, self.only, self.path = kind, times, only, path
        self.status, self.acts, self.value = status, acts, value


class ApiServer:
    """rules: the rights that the caller has; what is beyond them is answered 403. None = everything is allowed."""

    def __init__(self, rules: Sequence[AccessRule] | None = None) -> None:
        self.store = Store()
        self.rules = rules
        self.asked: list[tuple[str, str, str]] = []  # verb, group, resource
        self.logs: dict[tuple[str, str], str] = {}
        self.refuse: Callable[[str, Object], str] = lambda plural, body: ""  # admission: why not, "" = yes
        self.refuse_change: Callable[[str, str, Object | None], str] = lambda plural, name, change: ""  # None: deletion
        self.refusal_status = 0  # of what those two refuse; 0 = as admission plugins do
        self.n_watches = 0
        self.claim_versions: tuple[str, ...] = ()  # of resource.k8s.io; none: the group is not served
        self._faults: list[Fault] = []
        self._generation = 0
        self._server: _Server | None = None
        self.port = 0
        self.start()

    def start(self) -> None:
        """Also after stop(): the same address, the same objects."""
        self._server = _Server(("127.0.0.1", self.port), _Handler, self)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        assert self._server is not None
        self.break_watches()
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, folder: Path, *, token: str = "a-token") -> str:
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(content))
        return str(path)

    def fail(
        self, status: int, *, times: int = 1, only: str = "", path: str = "", acts: bool = False, retry_after: str = ""
    ) -> None:
        self._faults.append(
            Fault("status", times=times, only=only, path=path, status=status, acts=acts, value=retry_after)
        )

    def drop(self, *, times: int = 1, only: str = "", path: str = "", acts: bool = False) -> None:
        """The connection breaks without an answer."""
        self._faults.append(Fault("drop", times=times, only=only, path=path, status=0, acts=acts, value=""))

    def slow(self, seconds: float, *, times: int = 1, only: str = "", path: str = "") -> None:
        self._faults.append(Fault("slow", times=times, only=only, path=path, status=0, acts=True, value=str(seconds)))

    def clear_faults(self) -> None:
        with self.store.changed:
            self._faults.clear()

    def break_watches(self) -> None:
        with self.store.changed:
            self._generation += 1
            self.store.changed.notify_all()

    def fault_for(self, verb: str, path: str) -> Fault | None:
        with self.store.changed:
            for fault in self._faults:
                if fault.times > 0 and fault.only in ("", verb) and fault.path in path:
                    fault.times -= 1
                    return fault
        return None

    @property
    def generation(self) -> int:
        return self._generation


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128  # clients connect with all their watches at once, and the machine may be busy

    def __init__(self, address: tuple[str, int], handler: type[_Handler], api: ApiServer) -> None:
        super().__init__(address, handler)
        self.api = api

    def handle_error(self, *_: Any) -> None:
        """Callers hang up; that is not this server's error."""


def _is_ready(node: Object) -> bool:
    """Also of a node whose status makes no sense, as some tests store: it is not."""
    try:
        return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
    except (KeyError, TypeError):
        return False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 2**16
    server: _Server

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PATCH(self) -> None:
        self._answer("PATCH")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, verb: str) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        address = urlparse(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
        fault = self.server.api.fault_for(verb, self.path)
        if fault is not None and fault.kind == "slow":
            time.sleep(float(fault.value))
        try:
            status, answer = (200, None)
            if fault is None or fault.acts:
                status, answer = self._act(verb, address.path, query, body)
        except RefusedError as error:
            status, answer = error.status, _status(error.status, error.message, error.reason)
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # an object that makes no sense was stored
            status, answer = 500, _status(500, f"panic: {error!r}", "InternalError")
        if fault is not None and fault.kind == "drop":
            self.close_connection = True
            self.connection.close()
            return
        if fault is not None and fault.kind == "status":
            headers = {"Retry-After": fault.value} if fault.value else {}
            self._send(fault.status, _status(fault.status, "The server is busy.", "TooManyRequests"), headers)
        elif answer is not None:
            self._send(status, answer, {})

    def _act(self, verb: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Object | str | None]:
        match = _PATH.match(path)
        if match is None:
            if path == "/version":
                return 200, {"gitVersion": "v1.33.0", "major": "1", "minor": "33"}
            if path == "/apis/resource.k8s.io" and self.server.api.claim_versions:
                served = [
                    {"groupVersion": f"resource.k8s.io/{v}", "version": v} for v in self.server.api.claim_versions
                ]
                return 200, {"kind": "APIGroup", "name": "resource.k8s.io", "versions": served}
            raise RefusedError(404, f"{path}: the server could not find the requested resource", "NotFound")
        plural, namespace, name = match["plural"], match["namespace"] or "", match["name"] or ""
        store = self.server.api.store
        if plural == "selfsubjectaccessreviews":
            return 201, self._reviewed(body)
        if match["group"] == "resource.k8s.io" and match["version"] not in self.server.api.claim_versions:
            raise RefusedError(404, "the server could not find the requested resource", "NotFound")
        right = _VERBS.get(verb) or ("watch" if "watch" in query else "get" if name else "list")
        if self.headers["Authorization"] != f"Bearer {ADMIN}":
            self._check_right(right, match["group"] or "", plural + (f"/{match['sub']}" if match["sub"] else ""))
        if match["sub"] == "log":
            self._check_kubelet(store.get(plural, namespace, name))
            return 200, self.server.api.logs.get((namespace, name), "")
        if match["sub"] == "token":
            return 201, {"status": {"token": "the-accounts-token"}}
        if verb == "POST":
            why_not = self.server.api.refuse(plural, body)
            if why_not:
                raise RefusedError(self.server.api.refusal_status or 403, why_not, "Forbidden")
            checked = validated(body, is_strict=query.get("fieldValidation") == "Strict")
            if "dryRun" in query:
                return 201, checked
            return 201, store.create(plural, namespace, checked, manager=self._manager(query))
        if verb == "PATCH" and self.headers["Content-Type"] == "application/apply-patch+yaml":
            return self._apply(plural, namespace, name, query, body, group=match["group"] or "")
        if verb == "PATCH":
            if self.headers["Content-Type"] != "application/merge-patch+json":
                raise RefusedError(415, "the body of the request was in an unknown format", "UnsupportedMediaType")
            why_not = self.server.api.refuse_change(plural, name, body)
            if why_not:
                raise RefusedError(self.server.api.refusal_status or 422, why_not, "Invalid")
            check_change(plural, store.get(plural, namespace, name), body)
            return 200, store.patch(plural, namespace, name, body, manager=self._manager(query))
        if verb == "DELETE":
            why_not = self.server.api.refuse_change(plural, name, None)
            if why_not:
                raise RefusedError(self.server.api.refusal_status or 403, why_not, "Forbidden")
            asked = body or {}
            preconditions = asked.get("preconditions")
            return 200, store.delete(
                plural, namespace, name, asked.get("gracePeriodSeconds"), preconditions=preconditions
            )
        if name:
            return 200, store.get(plural, namespace, name)
        wanted = _selector(query)
        if "watch" in query:
            self._watch(plural, query, wanted)
            return 200, None
        return 200, self._page(plural, namespace if match["namespace"] else None, query, wanted)

    def _apply(
        self, plural: str, namespace: str, name: str, query: dict[str, str], body: Object, *, group: str
    ) -> tuple[int, Object]:
        if not query.get("fieldManager"):
            raise RefusedError(400, "fieldManager: Required value: is required for apply patch", "BadRequest")
        if body["metadata"].get("name") != name:
            raise RefusedError(400, "metadata.name: does not match the name on the URL", "BadRequest")
        store = self.server.api.store
        is_new = (plural, namespace, name) not in store.objects
        if is_new and self.headers["Authorization"] != f"Bearer {ADMIN}":
            self._check_right("create", group, plural)
        why_not = self.server.api.refuse(plural, body)
        if why_not:
            raise RefusedError(self.server.api.refusal_status or 403, why_not, "Forbidden")
        checked = validated(body, is_strict=query.get("fieldValidation") == "Strict")
        manager, is_forced = query["fieldManager"], query.get("force") == "true"
        made = store.apply(plural, namespace, name, checked, manager=manager, is_forced=is_forced)
        return (201 if is_new else 200), made

    def _reviewed(self, review: Object) -> Object:
        """Whether the caller has a right; everybody may ask that."""
        asked = review["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        rules, is_admin = self.server.api.rules, self.headers["Authorization"] == f"Bearer {ADMIN}"
        allowed = (
            is_admin
            or rules is None
            or any(
                r.group == asked.get("group", "") and r.resource == resource and asked["verb"] in r.verbs for r in rules
            )
        )
        return {**review, "status": {"allowed": allowed}}

    def _manager(self, query: dict[str, str]) -> str:
        """As servers name it where the request does not: by the client's name."""
        return query.get("fieldManager") or str(self.headers["User-Agent"] or "unknown").partition("/")[0]

    def _page(self, plural: str, namespace: str | None, query: dict[str, str], wanted: Any) -> Object:
        found, version = self.server.api.store.select(plural, namespace, wanted)
        at, _, place = query.get("continue", "").partition(".")
        if at and int(at) < self.server.api.store.oldest:
            raise RefusedError(
                410, "The provided continue parameter is too old to display a consistent list", "Expired"
            )
        first, size = int(place or 0), int(query.get("limit") or 10**9)
        metadata = {"resourceVersion": str(version)}
        if len(found) > first + size:
            metadata["continue"] = f"{version}.{first + size}"
        return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": found[first : first + size]}

    def _check_kubelet(self, pod: Object) -> None:
        """Output is the node's: the server asks its kubelet, and gives that up after a while."""
        node = self.server.api.store.objects.get(("nodes", "", pod["spec"].get("nodeName", "")))
        if node is None or not _is_ready(node):
            raise RefusedError(500, f'Get "https://{pod["spec"].get("nodeName")}:10250/": i/o timeout', "InternalError")

    def _check_right(self, verb: str, group: str, resource: str) -> None:
        api = self.server.api
        api.asked.append((verb, group, resource))
        if api.rules is not None and not any(
            r.group == group and r.resource == resource and verb in r.verbs for r in api.rules
        ):
            raise RefusedError(
                403, f'User "mlhub" cannot {verb} resource "{resource}" in API group "{group}"', "Forbidden"
            )

    def _watch(self, plural: str, query: dict[str, str], wanted: Callable[[Object], bool]) -> None:
        api, store = self.server.api, self.server.api.store
        version, until = int(query["resourceVersion"]), time.monotonic() + int(query["timeoutSeconds"])
        generation = api.generation
        api.n_watches += 1
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        while time.monotonic() < until and generation == api.generation:
            with store.changed:
                if version < store.oldest:
                    self._chunk({"type": "ERROR", "object": _status(410, "too old resource version", "Expired")})
                    break
                events, version = store.events_since(version, plural, wanted)
                if not events:
                    store.changed.wait(0.2)
            for kind, found in events:
                self._chunk({"type": kind, "object": found})
        else:
            if generation != api.generation:
                self.connection.close()  # broken off, not ended
                return
            bookmark = {"kind": plural, "metadata": {"resourceVersion": str(version)}}
            self._chunk({"type": "BOOKMARK", "object": bookmark})
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, event: Object) -> None:
        line = json.dumps(event).encode() + b"\n"
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _send(self, status: int, answer: Object | str, headers: dict[str, str]) -> None:
        content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(answer, str) else "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _status(code: int, message: str, reason: str) -> Object:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "message": message,
        "reason": reason,
    }


def _selector(query: dict[str, str]) -> Callable[[Object], bool]:
    by_label = [_label_test(text) for text in re.split(r",(?![^(]*\))", query.get("labelSelector", "")) if text]
    by_field = [text.partition("=") for text in query.get("fieldSelector", "").split(",") if text]

    def wanted(found: Object) -> bool:
        labels = found["metadata"].get("labels") or {}
        return all(test(labels) for test in by_label) and all(
            _field(found, name) == value for name, _, value in by_field
        )

    return wanted


def _label_test(text: str) -> Callable[[dict[str, str]], bool]:
    if text.startswith("!"):
        return lambda labels: text[1:] not in labels
    name, among, values = text.partition(" in ")
    if among:
        listed = values.strip("()").split(",")
        return lambda labels: labels.get(name) in listed
    name, equals, value = text.partition("=")
    return lambda labels: labels.get(name) == value if equals else name in labels


def _field(found: Object, path: str) -> str:
    value: Any = found
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return str(value or "")
