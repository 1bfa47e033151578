# SPDX-License-Identifier: Apache-2.0
"""An ingest API in memory, over HTTP, that is away, forgets, repeats or refuses as a test asks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from mlhub.wire.report import from_dict


@dataclass
class Ingest:
    """An ingest API in memory. is_away: 503. is_fenced: 410. forget(n): as if only the first n lines had come.

    refusals: 429 with these values of Retry-After, one a request.
    """

    url: str = ""
    streams: dict[str, list[Any]] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    is_away: bool = False
    is_fenced: bool = False
    n_requests: int = 0
    refusals: list[str] = field(default_factory=list)
    problem: dict[str, str] | None = None  # the answer 422 to every artifact
    foreign_answers: list[bytes] = field(default_factory=list)  # a proxy's, one a request, which is not stored
    drop_answers: int = 0  # that many batches are stored and their answer lost
    decision: Any = None  # on the batch of the training, with every answer
    profile: Any = None  # a request to record a profile, with every answer
    abilities: str = ""  # that the pod named in its newest request
    deleted_inputs: list[str] | None = None  # hashes of what the project no longer has; None: not known to be asked
    checks_reports: bool = False  # the answer to what has not the type and fields of a report is 422
    unknown_streams: frozenset[str] = frozenset()  # the answer to these is 422, as an earlier version's

    def forget(self, stream: str, n: int) -> None:
        self.streams[stream] = self.streams[stream][:n]

    def store(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        lines = self.streams.setdefault(body["stream"], [])
        if body["first"] > len(lines):
            return 409, {"next": len(lines)}
        lines.extend(body["lines"][len(lines) - body["first"] :])
        also = {"batch": self.decision, "profile": self.profile}
        return 200, {"next": len(lines), **{name: value for name, value in also.items() if value is not None}}


def _is_report(line: Any) -> bool:
    try:
        from_dict(line if isinstance(line, dict) else {})
    except ValueError:
        return False
    return True


class Handler(BaseHTTPRequestHandler):
    ingest: Ingest

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.ingest.n_requests += 1
        self.ingest.abilities = self.headers.get("X-MLHub-Abilities", "")
        if self._is_refused():
            return
        if self.ingest.foreign_answers:
            self._answer(200, self.ingest.foreign_answers.pop(0))
            return
        if self.path.endswith("/deleted-inputs"):
            known = self.ingest.deleted_inputs
            self._answer(200 if known is not None else 404, {"sha256s": known})
            return
        if body["stream"] in self.ingest.unknown_streams:
            self._answer(422, {"code": "invalid"})
            return
        if self.ingest.checks_reports and body["stream"] == "reports" and not all(map(_is_report, body["lines"])):
            self._answer(422, {"code": "bad_report"})
            return
        status, answer = self.ingest.store(body)
        if self.ingest.drop_answers:
            self.ingest.drop_answers -= 1
            status, answer = 502, {}
        self._answer(status, answer)

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.ingest.problem is not None:
            self._answer(422, self.ingest.problem)
        elif not self._is_refused():
            self.ingest.artifacts[self.path.rpartition("/")[2]] = content
            self._answer(201, {})

    def _is_refused(self) -> bool:
        if self.ingest.is_away or self.ingest.is_fenced:
            self._answer(503 if self.ingest.is_away else 410, {})
            return True
        if self.ingest.refusals:
            self._answer(429, {}, retry_after=self.ingest.refusals.pop(0))
            return True
        return False

    def _answer(self, status: int, content: dict[str, Any] | bytes, *, retry_after: str = "") -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass
