# SPDX-License-Identifier: Apache-2.0
"""Requests of an agent to its platform; what goes wrong is said in words, with the remedy."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from mlhub.backends.agents.messages import TOKEN_PREFIX, AgentReport, DeletedCaches, Orders

TIMEOUT_S = 10.0
NEWS_TIMEOUT_S = 40.0  # longer than the platform holds a request that is silent
PAUSE_S = 2.0
SYNC, NEWS, CACHES = (f"/api/v1/ingest/agents/{name}" for name in ("sync", "news", "caches"))


class PlatformAwayError(Exception):
    """The platform does not answer; it may later."""


class AgentRefusedError(Exception):
    """The platform answered, and refuses this agent. The message names the remedy."""


def name_of(token: str) -> str:
    """The name of the agent that a token is of. Raises AgentRefusedError for what is no agent's token."""
    name, _, secret = token.removeprefix(TOKEN_PREFIX).rpartition("_")
    if not token.startswith(TOKEN_PREFIX) or not name or not secret:
        raise AgentRefusedError("This is no token of an agent. An administrator makes one: `mlhub agent token NAME`.")
    return name


class PlatformApi:
    """server: its address, without a path behind it. token: of this agent. authorities: a file with those that the
    platform's certificate may be of; None: the usual ones."""

    def __init__(self, server: str, token: str, *, authorities: Path | None = None) -> None:
        self.server = server
        self._client = httpx.Client(
            base_url=server,
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_S,
            follow_redirects=False,
            verify=True if authorities is None else ssl.create_default_context(cafile=str(authorities)),
        )

    def sync(self, report: AgentReport) -> Orders:
        """Raises PlatformAwayError, AgentRefusedError."""
        answer = self._ask("POST", SYNC, json=report.to_json())
        try:
            return Orders.from_json(answer.json())
        except ValueError as error:
            raise AgentRefusedError(f"{self.server} does not answer as MLHub does: {error}") from error

    def newest_state(self, known: str) -> str:
        """Waits until the orders differ from those that are known, for a while at most.

        Raises PlatformAwayError, AgentRefusedError.
        """
        answer = self._ask("GET", NEWS, params={"state": known}, timeout=NEWS_TIMEOUT_S)
        try:
            return str(answer.json()["state"])
        except (ValueError, KeyError, TypeError) as error:
            raise AgentRefusedError(f"{self.server} does not answer as MLHub does: {error}") from error

    def caches(self, instance: str, projects: Sequence[str], inputs: Mapping[str, Sequence[str]]) -> DeletedCaches:
        """What of these projects, and of their inputs' hashes, the machine's caches are to lose.

        Raises PlatformAwayError, AgentRefusedError.
        """
        held = [{"project": project, "sha256s": sha256s} for project, sha256s in inputs.items()]
        answer = self._ask("POST", CACHES, json={"instance": instance, "projects": projects, "inputs": held})
        try:
            return DeletedCaches.from_json(answer.json())
        except ValueError as error:
            raise AgentRefusedError(f"{self.server} does not answer as MLHub does: {error}") from error

    def close(self) -> None:
        self._client.close()

    def _ask(self, method: str, path: str, **given: object) -> httpx.Response:
        try:
            answer = self._client.request(method, path, **given)  # type: ignore[arg-type]
        except httpx.HTTPError as error:
            hint = ": name the file with your authority as MLHUB_CA_FILE" if "CERTIFICATE_VERIFY" in str(error) else ""
            raise PlatformAwayError(f"{self.server} does not answer ({error or type(error).__name__}){hint}") from error
        if answer.is_success:
            return answer
        if answer.status_code >= 500 or answer.status_code == 429:
            raise PlatformAwayError(f"{self.server} answers with status {answer.status_code}")
        if answer.status_code == 401:
            raise AgentRefusedError(
                "The platform refuses this agent's token: it was replaced, the agent was removed, or it is of another "
                "platform. An administrator makes a new one: `mlhub agent token NAME`."
            )
        raise AgentRefusedError(f"{self.server} refuses the agent: {_words(answer)}")


class NewsThread(threading.Thread):
    """Waits at the platform for new orders, and sets `came` when there are some."""

    def __init__(self, api: PlatformApi, came: threading.Event) -> None:
        super().__init__(daemon=True, name="news")
        self._api, self._came = api, came
        self.known = ""
        self._ends = threading.Event()

    def run(self) -> None:
        while not self._ends.is_set():
            known = self.known
            try:
                if self._api.newest_state(known) != known and known == self.known:
                    self._came.set()
                    self._ends.wait(0.2)  # until they were fetched: what is known by then is another state
            except (PlatformAwayError, AgentRefusedError):
                self._ends.wait(PAUSE_S)  # the loop says what is wrong

    def end(self) -> None:
        self._ends.set()


def checked_server(given: str) -> str:
    """Raises AgentRefusedError for what is no address of a platform."""
    address = urlsplit(given)
    if address.scheme not in ("http", "https") or not address.hostname or address.path.strip("/"):
        raise AgentRefusedError(f"--server {given}: give the platform's address, such as https://hub.example.org.")
    return given.rstrip("/")


def _words(answer: httpx.Response) -> str:
    try:
        problem = answer.json()
        words = [str(problem.get(name) or "") for name in ("detail", "remedy")]
        return " ".join(word for word in words if word) or f"status {answer.status_code}"
    except (ValueError, AttributeError):
        return f"status {answer.status_code}; is this the address of MLHub?"
