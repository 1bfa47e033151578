# SPDX-License-Identifier: Apache-2.0
"""The ingest API from a pod's side (mlhub/wire/report.py), with the three ways in which a request may fail."""

from __future__ import annotations

import http.client
import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mlhub.runtime.profiling.courier import TraceRefusedError
from mlhub.wire.launch import BatchDecision
from mlhub.wire.profiles import ABILITIES, ABILITY

TIMEOUT_S = 20.0
MAX_RETRY_AFTER_S = 60.0
MAX_PROBLEM_BYTES = 16_384
TRACE_S = 120.0  # for so long a trace waits for an API that cannot be reached


class FencedError(Exception):
    """The attempt is fenced: a later one runs, or the job has ended. Final."""


class RefusedError(Exception):
    """The API understood the request and refused it. Final."""


class StorageQuotaError(RefusedError):
    """The organisation's storage quota has no room for the file."""


class IngestUnavailableError(Exception):
    """The API is unreachable or overloaded; the same request may succeed later, retry_after_s seconds on if it said."""

    def __init__(self, message: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after_s = min(retry_after_s, MAX_RETRY_AFTER_S)


class TokenHolder:
    """Requests below one address with one bearer token."""

    def __init__(self, base: str, token: str) -> None:
        self._base, self._token = base, token

    def fetch(self, uri: str, to: Path) -> None:
        """Goes on where an earlier fetch into the same file broke off. Raises RefusedError, FencedError,
        IngestUnavailableError."""
        n_there = to.stat().st_size if to.exists() else 0
        request = urllib.request.Request(uri, headers={"Range": f"bytes={n_there}-"} if n_there else {})
        # not sent on when the API points to an object store: the token is for the API alone
        request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
                with to.open("ab" if reply.status == 206 else "wb") as file:
                    shutil.copyfileobj(reply, file)
                if reply.length:  # urllib takes a connection that breaks off for the end
                    raise IngestUnavailableError(f"{reply.length} bytes are missing.")
        except urllib.error.HTTPError as error:
            raise _error_of(error) from error
        except (OSError, http.client.HTTPException) as error:
            raise IngestUnavailableError(str(error)) from error

    def _request(self, verb: str, path: str, content: Any, headers: dict[str, str]) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self._token}", **headers}
        return urllib.request.Request(self._base + path, data=content, headers=headers, method=verb)


class SandboxRunApi(TokenHolder):
    """What a Job that makes one run in the sandbox may ask: its task, its files, and to hand in how it ended."""

    def __init__(self, url: str, run_id: str, token: str) -> None:
        super().__init__(f"{url}/api/v1/ingest/sandbox-runs/{quote(run_id)}", token)

    def task(self) -> bytes:
        """The task as JSON. Raises RefusedError, FencedError, IngestUnavailableError."""
        return _send(self._request("GET", "", None, {"Accept": "application/json"}), accept=(200,))

    def blob_address(self, sha256: str) -> str:
        return f"{self._base}/blobs/{quote(sha256)}"

    def hand_in(self, outcome: str) -> None:
        """Idempotent: the first outcome counts. Raises as task does."""
        headers = {"Content-Type": "application/json"}
        _send(self._request("POST", "/outcome", outcome.encode(), headers), accept=(204,))


class IngestApi(TokenHolder):
    """An attempt's requests. batch_decision: the file that gets the newest decision on its batch (BatchDecision).

    on_profile: gets each request to record a profile; None: this pod records none, and says so.
    """

    on_profile: Callable[[Any], None] | None = None

    def __init__(self, url: str, attempt_id: str, token: str, *, batch_decision: Path | None = None) -> None:
        super().__init__(f"{url}/api/v1/ingest/attempts/{quote(attempt_id)}", token)
        self._batch_decision, self._received = batch_decision, ""

    def send_lines(self, *, role: str, index: int, stream: str, first: int, lines: list[Any]) -> int:
        """The number of the line that the API wants next. Raises FencedError, RefusedError, IngestUnavailableError."""
        body = {"version": 1, "role": role, "index": index, "stream": stream, "first": first, "lines": lines}
        headers = {"Content-Type": "application/json", **({} if self.on_profile is None else {ABILITIES: ABILITY})}
        request = self._request("POST", "/reports", json.dumps(body).encode(), headers)
        reply = _object_in(_send(request, accept=(200, 409)))
        if not isinstance(reply.get("next"), int):
            raise RefusedError(f"The API replied {reply}.")
        if "batch" in reply:
            self._receive(reply["batch"])
        if "profile" in reply and self.on_profile is not None:
            self.on_profile(reply["profile"])
        return int(reply["next"])

    def _receive(self, raw: Any) -> None:
        """Leaves the decision for the trainer, whole at any moment. Raises RefusedError."""
        text = json.dumps(raw)
        if self._batch_decision is None or text == self._received:
            return
        try:
            BatchDecision.from_json(raw)
        except ValueError as error:
            raise RefusedError(f"The API replied with {error}.") from error
        new = self._batch_decision.with_suffix(".new")
        new.write_text(text)
        new.rename(self._batch_decision)
        self._received = text

    def put_artifact(self, name: str, path: Path, *, sha256: str) -> None:
        """Idempotent by hash. Raises as send_lines does."""
        headers = {
            "X-Content-SHA256": sha256,
            "Content-Type": "application/octet-stream",
            "Content-Length": str(path.stat().st_size),
        }
        with path.open("rb") as file:
            _send(self._request("PUT", f"/artifacts/{quote(name)}", file, headers), accept=(200, 201))

    def deleted_inputs(self, sha256s: Collection[str]) -> set[str]:
        """Those of what the project has cached that it no longer refers to. Raises as send_lines does."""
        headers = {"Content-Type": "application/json"}
        asked = json.dumps({"sha256s": sorted(sha256s)}).encode()
        reply = _object_in(_send(self._request("POST", "/deleted-inputs", asked, headers), accept=(200,)))
        found = reply.get("sha256s")
        return set(sha256s).intersection(found) if isinstance(found, list) else set()

    def put_trace(self, name: str, path: Path, sha256: str) -> None:
        """Sends a trace, which the training does without if it must. Raises TraceRefusedError, OSError."""
        until = time.monotonic() + TRACE_S
        while True:
            try:
                self.put_artifact(name, path, sha256=sha256)
                return
            except IngestUnavailableError as error:
                if time.monotonic() > until:
                    raise TraceRefusedError(f"The platform could not be reached: {error}") from error
                time.sleep(max(1.0, error.retry_after_s))
            except StorageQuotaError as error:
                raise TraceRefusedError(str(error)) from error
            except (FencedError, RefusedError) as error:
                raise TraceRefusedError(f"The platform does not take the trace: {error}") from error


def _send(request: urllib.request.Request, *, accept: tuple[int, ...]) -> bytes:
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
            content: bytes = reply.read()
            return content
    except urllib.error.HTTPError as error:
        if error.code in accept:
            return error.read()
        raise _error_of(error) from error
    except (OSError, http.client.HTTPException) as error:
        raise IngestUnavailableError(str(error)) from error


def _object_in(content: bytes) -> dict[str, Any]:
    """The JSON object in an answer. Raises IngestUnavailableError for any other: it is a proxy's, not the API's."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise IngestUnavailableError(f"The answer is not the API's: {content[:200].decode(errors='replace')!r}")
    return found


def _error_of(error: urllib.error.HTTPError) -> Exception:
    if error.code == 410:
        return FencedError("The platform no longer accepts this attempt.")
    if error.code == 429 or error.code >= 500:
        asked = error.headers.get("Retry-After") or ""
        return IngestUnavailableError(f"HTTP {error.code}", retry_after_s=float(asked) if asked.isdecimal() else 0.0)
    body = error.read(MAX_PROBLEM_BYTES).decode(errors="replace")
    if error.code == 422 and (detail := _detail_of(body, code="quota_exceeded")):
        return StorageQuotaError(detail)
    return RefusedError(f"HTTP {error.code}: {body[:2000]}")


def _detail_of(body: str, *, code: str) -> str:
    """The sentence of a problem document with that code; "" for any other answer."""
    try:
        problem = json.loads(body)
    except ValueError:
        return ""
    return str(problem.get("detail", "")) if isinstance(problem, dict) and problem.get("code") == code else ""
