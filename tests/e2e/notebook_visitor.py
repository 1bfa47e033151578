# SPDX-License-Identifier: Apache-2.0
"""A browser at a notebook, as far as HTTP goes: the notebook's own host, its cookie, its sockets."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from socket import create_connection
from typing import Any
from urllib.parse import urlsplit

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.platform import RunningPlatform


@dataclass
class NotebookVisitor:
    """cookies: what the notebook's origin has set."""

    platform: RunningPlatform
    job_id: str
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return f"{self.job_id}.notebooks.localhost:{self.platform.port}"

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    def enter(self, url: str) -> httpx.Response:
        """Follows the address that the API gave."""
        found = urlsplit(url)
        assert found.netloc == self.host
        answer = self.request("GET", f"{found.path}?{found.query}")
        self.cookies |= dict(answer.cookies)
        return answer

    def request(self, verb: str, path: str, *, headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
        sent = {"Host": self.host, "Origin": self.origin, **(headers or {})}
        if self.cookies:
            sent.setdefault("Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        return httpx.request(verb, f"{self.platform.url}{path}", headers=sent, timeout=60, **more)

    def socket(self, path: str, *, origin: str = "", **headers: str) -> ClientConnection:
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **headers}
        return connect(
            f"ws://{self.host}{path}",
            sock=create_connection(("127.0.0.1", self.platform.port)),
            origin=origin or self.origin,  # type: ignore[arg-type]
            additional_headers=sent,
            proxy=None,
            open_timeout=60,
        )

    def kernel(self) -> str:
        answer = self.request("POST", "/api/kernels", json={"name": "python3"})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def run(self, socket: ClientConnection, code: str, *, timeout_s: float = 120) -> str:
        """What the cell printed or returned."""
        message_id = uuid.uuid4().hex
        header = {"msg_id": message_id, "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"}
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        body = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        socket.send(json.dumps(body))
        said = ""
        while True:
            found = json.loads(socket.recv(timeout=timeout_s))
            if found["parent_header"].get("msg_id") != message_id:
                continue
            kind, content = found["msg_type"], found["content"]
            if kind == "execute_result":
                said += content["data"]["text/plain"]
            elif kind == "stream":
                said += content["text"]
            elif kind == "error":
                said += content["evalue"]
            elif kind == "status" and content["execution_state"] == "idle":
                return said
