# SPDX-License-Identifier: Apache-2.0
"""On a running platform, processes around pods and dry runs are killed: relay, shim, holder, the queue's worker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mlhub.backends.local.shim import descendants
from tests.backends.test_sandbox_processes import children
from tests.chaos.training import AWAY, Training
from tests.platform import is_alive, running, wait

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(900)]
KILLED = "The pod's shim was killed."
HOLDERS = ("sandbox/init.py", "mlhub.runtime.warm.inspection")
BATCH_SIZES = iter(range(16, 64))  # of no other job here: what has passed a dry run is not tried out again
RELAY = "The relay that connects the pod with the platform ended by SIGKILL."


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    folder = tmp_path_factory.mktemp("sandbox")
    with running(folder) as platform:
        yield Training(platform, folder)


def holder(training: Training) -> int:
    """Of the first worker's pod of the present attempt: the process that made its namespaces."""
    attempt = training.job()["current_attempt"]["id"]
    return next(pid for name, pid in sorted(training.platform.pods().items()) if attempt in name)


@pytest.mark.parametrize(
    ("victim", "cause", "message"),
    [("relay", "sandbox_failed", RELAY), ("shim", "killed", KILLED), ("holder", "killed", "ended with status -9.")],
)
def test_a_killed_process_around_a_pod_costs_an_attempt_and_training_resumes_from_its_checkpoint(
    victim: str, cause: str, message: str, training: Training
) -> None:
    platform = training.platform
    attempt = training.job()["current_attempt"]
    folders = platform.home / "checkpoints" / training.id
    wait(
        lambda: any(folders.glob(f"attempt-{attempt['number']:04d}-*/manifest.json")),
        seconds=180,
        message=platform.logs(),
    )
    around = holder(training)
    pids = {"holder": around, "relay": min(children(around)), "shim": _parent(around)}
    os.kill(pids[victim], signal.SIGKILL)
    wait(lambda: _attempt(training)["number"] > attempt["number"], seconds=240, message=platform.logs())
    wait(lambda: _attempt(training)["training_at"], seconds=240, message=platform.logs())
    ended = next(a for a in training.job()["attempts"] if a["number"] == attempt["number"])
    assert (ended["outcome"], ended["cause"]) == ("failed", cause)
    assert ended["message"].endswith(message)
    assert _attempt(training)["first_step"] > 0
    assert training.job()["failure"] is None


@pytest.mark.parametrize("victim", ["worker", "holder"])
def test_a_dry_run_whose_supervisor_is_killed_is_made_again(victim: str, training: Training) -> None:
    """worker: the parent of the processes that work off the queue. holder: the process around the sandboxed program."""
    job = _killed_dry_run(training, victim)

    def succeeded() -> bool:
        try:
            return bool(training.person.get(f"/jobs/{job}")["state"] == "succeeded")
        except AWAY:
            return False

    wait(succeeded, seconds=420, message=training.platform.logs())


def _attempt(training: Training) -> dict[str, Any]:
    """The newest one."""
    found: dict[str, Any] = max(training.job()["attempts"], key=lambda a: a["number"])
    return found


def _killed_dry_run(training: Training, victim: str) -> str:
    """The job whose dry run was under way when the victim was killed.

    A dry run may be over before it is seen, in a sandbox that had imported torch: then it is another job's turn.
    """
    for batch_size in BATCH_SIZES:
        worker = training.platform.pids()["worker"]
        wanted = {**training.body, "epochs": 1, "batch_size": batch_size}
        job = str(training.person.post("/jobs", **wanted, max_workers=1)["id"])
        around = _seen_dry_run(training, job, worker)
        if around is None:
            continue
        os.kill(worker if victim == "worker" else around, signal.SIGKILL)
        wait(partial(_is_gone, around), seconds=60)
        if _is_broken_off(training, job, victim):
            return job
    raise AssertionError("no dry run was seen while it was under way")


def _seen_dry_run(training: Training, job: str, worker: int) -> int | None:
    while _shown(training, job)["preflight"] == "pending":
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            if (around := _dry_run(worker)) is not None:
                return around
    return None


def _is_gone(pid: int) -> bool:
    return not is_alive(pid)


def _is_broken_off(training: Training, job: str, victim: str) -> bool:
    """Whether the dry run was killed before it had its result."""
    if victim == "worker":
        return bool(_shown(training, job)["preflight"] == "pending")
    found: dict[str, Any] = {}

    def is_known() -> bool:
        found.update(_shown(training, job))
        return found["preflight"] != "pending" or bool(found["validation_problem"])

    wait(is_known, seconds=240, message=training.platform.logs())
    if found["preflight"] == "pending":
        assert "its first process was killed" in found["validation_problem"]
    assert found["preflight"] != "failed"  # nobody's job fails by it
    return bool(found["preflight"] == "pending")


def _shown(training: Training, job: str) -> dict[str, Any]:
    found: dict[str, Any] = training.person.get(f"/jobs/{job}")
    return found


def _dry_run(worker: int) -> int | None:
    """The process around a sandboxed program that the worker has started; None while there is none.

    It was started for that program (sandbox/init.py), or before, to import what dry runs need: then it has no child
    until it gets its program.
    """
    around = (pid for pid in descendants(worker) if any(name in _command(pid) for name in HOLDERS))
    return next((pid for pid in around if children(pid)), None)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
