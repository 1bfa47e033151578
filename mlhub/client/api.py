# SPDX-License-Identifier: Apache-2.0
"""The REST API as a client sees it: one token, problems as exceptions, waiting for what takes its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import httpx

POLL_S, MOST_POLL_S = 0.2, 2.0
PAGE = 200
STREAM_TIMEOUT_S = 30.0  # six of the heartbeats that the platform sends while nothing happens
PATIENCE_S = 120.0  # for a platform that is away, and for the inspection of an upload
HASHED_WITHIN_S = 900.0  # the platform reads the whole of a large file once, and moves it into its bucket
Progress = Callable[[str], object]


class Refused(Exception):  # noqa: N818 (it reads as what happened)
    """The platform refused the request. field: the part of it that is wrong; remedy: what helps; "" where not given."""

    def __init__(self, problem: dict[str, Any]) -> None:
        first = next(iter(problem.get("errors") or [{}]))
        self.field = str(problem.get("field") or first.get("field") or "")
        self.remedy = str(problem.get("remedy") or first.get("remedy") or "")
        self.problem = problem
        super().__init__(f"{problem.get('detail') or problem.get('message')} {self.remedy}".strip())


class Unfinished(Exception):  # noqa: N818 (it reads as what happened)
    """A job that was cancelled or paused while it was waited for."""


class Api:
    """Everything below /api/v1. Reads are repeated while the platform is away, for patience_s.

    A request that comes too soon (429) is sent again after the time that the platform names, up to patience_s in all:
    the platform did nothing for it.
    """

    def __init__(self, url: str, token: str, *, patience_s: float = PATIENCE_S) -> None:
        self.url, self.patience_s = url.rstrip("/"), patience_s
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=60, follow_redirects=True)

    def get(self, path: str, **query: Any) -> Any:
        """Raises Refused, httpx.TransportError."""
        until = time.monotonic() + self.patience_s
        while True:
            try:
                answer = self._in_time("GET", path, params=query)
                if answer.status_code not in (502, 503, 504):
                    return content_of(answer)
            except httpx.TransportError:
                if time.monotonic() > until:
                    raise
            if time.monotonic() > until:
                return content_of(answer)
            time.sleep(MOST_POLL_S)

    def submit(self, **body: Any) -> dict[str, Any]:
        """A job, once, also when the answer is lost on the way. Raises Refused, httpx.TransportError."""
        key, until = str(uuid4()), time.monotonic() + self.patience_s
        while True:
            try:
                answer = self._in_time("POST", "/jobs", json=body, headers={"Idempotency-Key": key})
                found: dict[str, Any] = content_of(answer)
                return found
            except httpx.TransportError:
                if time.monotonic() > until:
                    raise
                time.sleep(MOST_POLL_S)

    def post(self, path: str, **body: Any) -> Any:
        """Raises Refused, httpx.TransportError. Not repeated: the platform may have done it."""
        return content_of(self._in_time("POST", path, json=body or None))

    def patch(self, path: str, **body: Any) -> Any:
        """Raises Refused, httpx.TransportError."""
        return content_of(self._in_time("PATCH", path, json=body))

    def put(self, path: str, **body: Any) -> Any:
        """Raises Refused, httpx.TransportError."""
        return content_of(self._in_time("PUT", path, json=body))

    def delete(self, path: str) -> None:
        """Raises Refused, httpx.TransportError."""
        content_of(self._in_time("DELETE", path))

    def all(self, path: str, *, at_most: int | None = None, **query: Any) -> Iterator[dict[str, Any]]:
        """The rows of a list, over its pages. Raises Refused, httpx.TransportError."""
        limit = PAGE if at_most is None else min(PAGE, at_most)
        page = self.get(path, limit=limit, **query)
        n_given = 0
        while True:
            for row in page["results"]:
                if n_given == at_most:
                    return
                n_given += 1
                yield row
            if not page.get("next"):
                return
            page = self.get(path, **{**query, **dict(httpx.URL(page["next"]).params)})

    @contextmanager
    def streamed(self, path: str, **headers: str) -> Iterator[httpx.Response]:
        """The answer of a stream of events, still to be read. Raises Refused, httpx.TransportError."""
        sent = {"Accept": "text/event-stream", **headers}
        with self._http.stream("GET", path, headers=sent, timeout=STREAM_TIMEOUT_S) as answer:
            if not answer.is_success:
                answer.read()
                content_of(answer)
            yield answer

    def upload(self, path: str, filename: str, content: bytes | BinaryIO, **fields: Any) -> dict[str, Any]:
        """Raises Refused, httpx.TransportError."""
        sent = {"files": {"file": (filename, content)}, "data": fields}
        found: dict[str, Any] = content_of(self._in_time("POST", path, **sent))
        return found

    def use_upload(self, path: str, upload_id: str, **fields: Any) -> dict[str, Any]:
        """As upload(), of a file that arrived before. Raises Refused, httpx.TransportError."""
        sent = {"files": {"upload": (None, upload_id)}, "data": fields, "timeout": HASHED_WITHIN_S}
        found: dict[str, Any] = content_of(self._in_time("POST", path, **sent))
        return found

    def exchange(self, method: str, path: str, *, headers: dict[str, str], content: bytes = b"") -> httpx.Response:
        """One request of raw bytes, and its answer whatever the status. Raises httpx.TransportError."""
        return self._in_time(method, path, headers=headers, content=content)

    def download(self, path: str, to: Path, **query: Any) -> None:
        """Raises Refused, httpx.TransportError."""
        until = time.monotonic() + self.patience_s
        while True:
            with self._http.stream("GET", path, params=query) as answer:
                if not answer.is_success:
                    answer.read()
                    if _waits_for_turn(answer, until=until):
                        continue
                    content_of(answer)
                with to.open("wb") as file:
                    for piece in answer.iter_bytes():
                        file.write(piece)
                return

    def _in_time(self, method: str, path: str, **sent: Any) -> httpx.Response:
        """The answer, 429 only when the platform asks for more patience than there is."""
        until = time.monotonic() + self.patience_s
        while True:
            answer = self._http.request(method, path, **sent)
            if not _waits_for_turn(answer, until=until):
                return answer

    def wait_for_dataset(self, dataset_id: str) -> dict[str, Any]:
        """Its newest version, once it was inspected. Raises Refused when it was not accepted, TimeoutError."""
        until, pause_s = time.monotonic() + self.patience_s, POLL_S
        while True:
            version: dict[str, Any] = self.get(f"/datasets/{dataset_id}")["latest_version"]
            if version["state"] == "ready":
                return version
            if version["state"] in ("refused", "needs_columns"):
                raise Refused(version["error"])
            if time.monotonic() > until:
                raise TimeoutError(f"The dataset {dataset_id} is still being inspected after {PATIENCE_S:.0f} s.")
            time.sleep(pause_s)
            pause_s = min(MOST_POLL_S, 1.5 * pause_s)

    def wait_for_job(self, job_id: str, progress: Progress | None) -> dict[str, Any]:
        """The job, once it has succeeded. Raises Refused with the platform's words when it failed, Unfinished."""
        reported, pause_s = "", POLL_S
        while True:
            job: dict[str, Any] = self.get(f"/jobs/{job_id}")
            state = job["state"]
            status = f"{job['name']}: {state}" + (f", {job['progress']:.0%}" if state == "running" else "")
            if status != reported and progress is not None:
                progress(status)
            if state == "succeeded":
                return job
            if state == "failed":
                raise Refused(job["failure"])
            if state in ("cancelled", "paused"):
                raise Unfinished(f"The job {job_id} was {state}.")
            reported = status
            time.sleep(pause_s)
            pause_s = min(MOST_POLL_S, 1.2 * pause_s)


def _waits_for_turn(answer: httpx.Response, *, until: float) -> bool:
    """Waits for as long as a 429 asks. False for any other answer, and for a wait that would end after `until`."""
    if answer.status_code != 429:
        return False
    asked = answer.headers.get("Retry-After", "")
    wait_s = float(asked) if asked.isdecimal() else MOST_POLL_S
    if time.monotonic() + wait_s > until:
        return False
    time.sleep(wait_s)
    return True


def content_of(answer: httpx.Response) -> Any:
    """The JSON of an answer, None when it has no body. Raises Refused for an error."""
    if answer.is_success:
        return answer.json() if answer.content else None
    try:
        problem = answer.json()
    except ValueError:
        problem = {"detail": f"{answer.request.method} {answer.request.url.path}: HTTP {answer.status_code}"}
    raise Refused(problem)
