# SPDX-License-Identifier: Apache-2.0
"""The agent's loop: report what is, fetch what is to be, bring the machine there. Level-triggered, as a kubelet.

It holds nothing that is not on disk or at the platform: killed at any moment and started again, it finds its pods.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import platform
import secrets
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from mlhub._version import __version__
from mlhub.agent.gangs import MachineGangs
from mlhub.agent.lease import Lease, uptime_s
from mlhub.agent.platform_api import AgentRefusedError, NewsThread, PlatformApi, PlatformAwayError
from mlhub.agent.project_caches import ProjectCaches
from mlhub.agent.shared_folder import SharedFolder, home_problem
from mlhub.backends.agents.messages import (
    GRACE_PART,
    LEASE_PART,
    MAX_INSTANCE,
    REPORT_PART,
    AgentReport,
    GangReport,
    Orders,
)
from mlhub.backends.local.pods import ORPHAN_STOP_GRACE_S
from mlhub.backends.local.warm_pool import WarmPool
from mlhub.backends.protocol import NodeStatus

logger = logging.getLogger(__name__)
TICK_S = 0.2
USUAL_LOST_AFTER_S = 60.0
MACHINE_ID = Path("/etc/machine-id")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}, {platform.machine()}"


class AgentRunsAlreadyError(Exception):
    """Another agent has this home folder."""


def locked(home: Path) -> TextIO:
    """The lock of a home folder, for as long as it is open. Raises AgentRunsAlreadyError."""
    passed = 0o711 if os.geteuid() == 0 else 0o700  # as root, pods of other users pass through
    for name in ("", "pods", "nodes", "cache"):
        (home / name).mkdir(parents=True, exist_ok=True)
        (home / name).chmod(passed)
    lock = (home / "agent.lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise AgentRunsAlreadyError(f"Another agent runs in {home}. Give --home for a second one.") from error
    return lock


def instance_of(home: Path) -> str:
    """The same for each start of an agent with this home on this machine; another one for a copy of either."""
    known = home / "instance"
    if not known.exists():
        temporary = home / ".instance"
        temporary.write_text(secrets.token_hex(16))
        temporary.rename(known)
    machine = MACHINE_ID.read_text() if MACHINE_ID.exists() else ""
    return hashlib.sha256(f"{known.read_text()} {machine} {platform.node()}".encode()).hexdigest()[:MAX_INSTANCE]


class AgentProgram:
    """node: reads the machine as it is now. address: where its pods listen for those of other machines. instance: of
    this agent."""

    def __init__(
        self,
        api: PlatformApi,
        gangs: MachineGangs,
        *,
        node: Callable[[], NodeStatus],
        address: str,
        lease: Lease,
        folder: SharedFolder,
        instance: str,
        caches: ProjectCaches,
        warm: WarmPool | None = None,
    ) -> None:
        self.api, self.gangs, self.node, self.address = api, gangs, node, address
        self.lease, self.folder, self.instance, self.warm = lease, folder, instance, warm
        self.caches = caches
        self.is_asked_to_end = threading.Event()
        self._news_came = threading.Event()
        self._news = NewsThread(api, self._news_came)
        self._lost_after_s = USUAL_LOST_AFTER_S
        self._reported: tuple[GangReport, ...] | None = None
        self._said = ""  # what was said last of the connection
        self._problem = ""  # of the agent's own folder
        self._was_accepted = False
        self._next_s = self._paused_until = 0.0

    def run(self) -> None:
        """Until it is asked to end; its pods go on. Raises AgentRefusedError when it was never accepted."""
        try:
            while not self.is_asked_to_end.is_set():
                if self.warm is not None:
                    self.warm.tend()
                if self._was_accepted:
                    self.caches.tend()
                reports = self.gangs.reports()
                is_due = reports != self._reported or time.monotonic() >= self._next_s
                if (is_due or self._news_came.is_set()) and not self._is_pausing():
                    self._exchange(reports)
                else:
                    self.is_asked_to_end.wait(TICK_S)
        finally:
            self._news.end()
        n_running = self.gangs.n_running()
        if n_running:
            logger.info(
                "agent.leaves jobs=%d: they go on for %.0f s; an agent that starts again before that takes them over",
                n_running, self.lease.remaining_s(),
            )  # fmt: skip

    def _exchange(self, reports: tuple[GangReport, ...]) -> None:
        """One report and what it brings."""
        self._news_came.clear()
        sent = uptime_s()
        problem = self._problem or self.folder.problem
        report = AgentReport(
            __version__, PYTHON, time.time(), self.address, self.node(), problem, reports, self.instance
        )  # fmt: skip
        try:
            orders = self.api.sync(report)
        except PlatformAwayError as error:
            self._pause(f"{error}. It is asked again; jobs here go on for {self.lease.remaining_s():.0f} s at most.")
            return
        except AgentRefusedError as error:
            if not self._was_accepted and not self.gangs.folders():
                raise
            self._pause(str(error))
            return
        self._lost_after_s = orders.lost_after_s
        self.gangs.starter.orphan_grace_s = min(ORPHAN_STOP_GRACE_S, GRACE_PART * orders.lost_after_s)
        self._reported, self._next_s = reports, time.monotonic() + REPORT_PART * self._lost_after_s
        try:
            self.lease.extend(sent + LEASE_PART * orders.lost_after_s)
            self._take(orders)
        except OSError as error:
            self._problem = home_problem(self.lease.path.parent, error)
            self._say(self._problem)
            return
        self._problem = ""
        self._say(f"agent.connected name={orders.name} platform={self.api.server}")

    def _take(self, orders: Orders) -> None:
        self.folder.follow(orders.checkpoints)
        self.gangs.follow(orders)
        self._news.known = orders.state
        if not self._was_accepted:
            self._was_accepted = True
            self._next_s = 0.0  # the folder of checkpoints is known now
            self._news.start()

    def _is_pausing(self) -> bool:
        return self._paused_until > time.monotonic()

    def _pause(self, words: str) -> None:
        self._paused_until = time.monotonic() + min(2.0, REPORT_PART * self._lost_after_s)
        self._say(words)

    def _say(self, words: str) -> None:
        """Once, until there is something else to say; of an absence how long jobs go on changes each time."""
        if words.partition("(")[0] != self._said.partition("(")[0]:
            logger.info("%s", words)
        self._said = words
