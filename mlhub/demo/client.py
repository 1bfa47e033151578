# SPDX-License-Identifier: Apache-2.0
"""A person at the REST API: signs in as the browser does, then speaks as that user."""

from __future__ import annotations

import time
from typing import Any

import httpx

PATIENCE_S = 60.0
# A busy machine takes minutes to inspect a file or to start a job; the platform itself ends what hangs.
STATE_WITHIN_S = 600.0


class RequestRefused(Exception):  # noqa: N818 (it reads as what happened)
    """The API said no; the message is its own."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem.get('detail', problem)} {problem.get('remedy', '')}".strip())
        self.problem = problem


class Person:
    """Everything below /api/v1, as one user."""

    def __init__(self, base_url: str, username: str, password: str) -> None:
        self.username = username
        self._http = httpx.Client(base_url=f"{base_url}/api/v1", timeout=60)
        self._http.get("/auth/csrf")
        token = self._http.cookies.get("csrftoken") or ""
        self.me = self._call("POST", "/auth/login", json={"username": username, "password": password}, token=token)

    @property
    def organisation(self) -> dict[str, Any]:
        found: dict[str, Any] = self.me["memberships"][0]["organisation"]
        return found

    def get(self, path: str, **query: Any) -> Any:
        return self._call("GET", path, params=query)

    def post(self, path: str, **body: Any) -> Any:
        return self._call("POST", path, json=body)

    def patch(self, path: str, **body: Any) -> Any:
        return self._call("PATCH", path, json=body)

    def upload(self, path: str, filename: str, content: bytes, **fields: Any) -> Any:
        return self._call("POST", path, files={"file": (filename, content)}, data=fields)

    def download(self, path: str, **query: Any) -> bytes:
        """The bytes of a file. Raises httpx.HTTPStatusError."""
        answer = self._http.get(path, params=query)
        return answer.raise_for_status().content

    def named(self, path: str, name: str) -> dict[str, Any] | None:
        """The newest object of that name in a list, if there is one."""
        found: dict[str, Any]
        for found in self.get(path, limit=200)["results"]:
            if found["name"] == name:
                return found
        return None

    def wait_ready(self, path: str, *, seconds: float = STATE_WITHIN_S) -> dict[str, Any]:
        """A dataset or model whose newest version has been inspected. Raises RequestRefused if it was not accepted."""
        until = time.monotonic() + seconds
        while True:
            found: dict[str, Any] = self.get(path)
            version = found["latest_version"]
            if version["state"] == "ready":
                return found
            if version["state"] in ("refused", "needs_columns"):
                raise RequestRefused({"detail": version["error"]["message"], "remedy": version["error"]["remedy"]})
            if time.monotonic() > until:
                raise TimeoutError(f"{path} is still being inspected after {seconds:.0f} s")
            time.sleep(0.5)

    def _call(self, verb: str, path: str, *, token: str = "", **request: Any) -> Any:
        headers = {
            "X-CSRFToken": token or self._http.cookies.get("csrftoken") or "",
            "Referer": str(self._http.base_url),
        }
        until = time.monotonic() + PATIENCE_S
        answer = self._http.request(verb, path, headers=headers, **request)
        while answer.status_code == 429:  # over a rate limit: it is sent again when the platform says
            wait_s = float(answer.headers.get("Retry-After", PATIENCE_S))
            if time.monotonic() + wait_s > until:
                break
            time.sleep(wait_s)
            answer = self._http.request(verb, path, headers=headers, **request)
        if answer.is_success:
            return answer.json() if answer.content else None
        try:
            problem = answer.json()
        except ValueError:
            problem = {"detail": f"{verb} {path}: HTTP {answer.status_code}"}
        raise RequestRefused(problem)
