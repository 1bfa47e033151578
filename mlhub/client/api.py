# SPDX-License-Identifier: Apache-2.0
"""The REST API by its paths, with answers as JSON: what the command line and the Estimator build on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import httpx

from mlhub.client.problems import Refused, Unfinished, content_of
from mlhub.client.requests import Progress, new_key
from mlhub.client.synchronous.transport import PATIENCE_S, STORED_WITHIN_S, Transport

__all__ = ["PATIENCE_S", "Api", "Progress", "Refused", "Unfinished", "content_of"]

POLL_S, MOST_POLL_S = 0.2, 2.0
PAGE = 200


class Api:
    """Everything below /api/v1. Requests are repeated as Transport says, for patience_s in all."""

    def __init__(self, url: str, token: str, *, patience_s: float = PATIENCE_S) -> None:
        self.transport = Transport(url, token, patience_s=patience_s)
        self.url, self.patience_s = self.transport.url, patience_s

    def get(self, path: str, **query: Any) -> Any:
        """Raises Refused, httpx.TransportError."""
        return self.transport.content("GET", path, query=query)

    def submit(self, **body: Any) -> dict[str, Any]:
        """A job, once, also when the answer is lost on the way. Raises Refused, httpx.TransportError."""
        found: dict[str, Any] = self.transport.content("POST", "/jobs", body=body, key=new_key())
        return found

    def post(self, path: str, **body: Any) -> Any:
        """Raises Refused, httpx.TransportError. Not repeated: the platform may have done it."""
        return self.transport.content("POST", path, body=body or None)

    def patch(self, path: str, **body: Any) -> Any:
        """Raises Refused, httpx.TransportError."""
        return self.transport.content("PATCH", path, body=body)

    def put(self, path: str, **body: Any) -> Any:
        """Raises Refused, httpx.TransportError."""
        return self.transport.content("PUT", path, body=body)

    def delete(self, path: str) -> None:
        """Raises Refused, httpx.TransportError."""
        self.transport.content("DELETE", path)

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

    def upload(self, path: str, filename: str, content: bytes | BinaryIO, **fields: Any) -> dict[str, Any]:
        """Raises Refused, httpx.TransportError."""
        answer = self.transport.exchange("POST", path, files={"file": (filename, content)}, data=fields)
        found: dict[str, Any] = content_of(answer)
        return found

    def use_upload(self, path: str, upload_id: str, **fields: Any) -> dict[str, Any]:
        """As upload(), of a file that arrived before. Raises Refused, httpx.TransportError."""
        sent: dict[str, Any] = {"files": {"upload": (None, upload_id)}, "data": fields, "timeout": STORED_WITHIN_S}
        found: dict[str, Any] = content_of(self.transport.exchange("POST", path, **sent))
        return found

    def download(self, path: str, to: Path, **query: Any) -> None:
        """Raises Refused, httpx.TransportError."""
        self.transport.download(path, to=to, query=query)

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
            share = job["progress"] if state == "running" else None
            status = f"{job['name']}: {state}" + ("" if share is None else f", {share:.0%}")
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
