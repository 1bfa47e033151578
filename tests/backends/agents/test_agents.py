# SPDX-License-Identifier: Apache-2.0
"""Real agents that are killed, hang, are cut off or belong to others; their pods, and what the platform makes of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlhub.backends.agents.backend import AgentsBackend
from mlhub.backends.protocol import GangPhase
from mlhub.clusters.models import AgentGang
from mlhub.control.agents.actions import make_token, remove_agent
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec, PodRole
from tests.backends.agents.machines import ROOT, Machine, ended, is_ready, machines, runs, status_of, wait
from tests.backends.specs import gang

pytestmark = [pytest.mark.slow, pytest.mark.dist, pytest.mark.django_db(transaction=True)]
Two = tuple[Machine, Machine, AgentsBackend]


@pytest.fixture
def two(tmp_path: Path, settings: Any) -> Iterator[Two]:
    """Machines node-1 and node-2."""
    with machines(tmp_path, settings) as ((first, second), backend):
        yield first, second, backend


@pytest.fixture
def soon_lost(settings: Any) -> None:
    """Agents are lost after a short while."""
    settings.AGENT_LOST_S = 12.0


def launched(backend: AgentsBackend, **given: Any) -> LaunchSpec:
    """A gang that runs, with a worker on each machine."""
    spec = gang(workers=2, **given)
    backend.launch(spec)
    wait(lambda: runs(backend, spec))
    return spec


def test_a_killed_agent_finds_its_pods_again(two: Two) -> None:
    _, second, backend = two
    spec = launched(backend)
    before = second.shims()
    assert len(before) == 1
    second.kill()
    second.start()
    wait(lambda: second.said().count("agent.connected") == 2)
    assert runs(backend, spec)
    assert second.shims() == before
    backend.stop(spec.attempt_id, grace_s=60)
    assert ended(backend, spec).phase is GangPhase.STOPPED
    backend.stop(spec.attempt_id, grace_s=0)
    wait(lambda: not list((second.folder / "home" / "pods").iterdir()))
    assert status_of(backend, spec) is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_pods_of_an_agent_that_is_gone_or_hangs_end_before_the_platform_counts_them_as_lost(
    soon_lost: None, two: Two, number: int
) -> None:
    first, second, backend = two
    spec = launched(backend)
    second.signal(number)
    status = ended(backend, spec)
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.NODE_LOST)
    assert "node-2 has not reported since" in status.message
    wait(lambda: not second.shims())
    ends = [json.loads(path.read_text())["at"] for path in second.folder.glob("home/pods/*/*/exit.json")]
    assert len(ends) == 1
    assert status.ended_at is not None
    assert ends[0] < status.ended_at.timestamp()  # so no twin of it can have run meanwhile
    wait(lambda: not first.shims())  # the rest of the gang was asked to leave
    node = next(node for node in backend.inventory() if node.name == "node-2")
    assert not node.is_ready
    assert "`mlhub agent run`" in node.message


def test_an_agent_that_comes_back_ends_what_it_has_no_longer(soon_lost: None, two: Two) -> None:
    _, second, backend = two
    spec = launched(backend)
    second.signal(signal.SIGSTOP)
    ended(backend, spec)
    backend.stop(spec.attempt_id, grace_s=0)  # dropped: its job goes on elsewhere
    second.signal(signal.SIGCONT)
    wait(lambda: is_ready(backend, "node-2"))
    wait(lambda: not list((second.folder / "home" / "pods").iterdir()))
    again = launched(backend)
    assert runs(backend, again)


def test_a_stop_reaches_pods_on_all_machines_and_stubborn_ones_are_killed(two: Two) -> None:
    _, _, backend = two
    spec = launched(backend, behave="stubborn")
    wait(lambda: runs(backend, spec))
    backend.stop(spec.attempt_id, grace_s=1)
    status = ended(backend, spec)
    assert status.phase is GangPhase.STOPPED
    assert status.message


def test_a_worker_that_fails_takes_the_rest_of_its_gang_along_on_the_other_machine(two: Two) -> None:
    first, _, backend = two
    spec = gang(["run", "exit 3"], workers=2)
    backend.launch(spec)
    status = ended(backend, spec)
    assert status.phase is GangPhase.FAILED
    assert {pod.exit_code for pod in status.pods} == {3, 75}
    assert list(backend.logs(spec.attempt_id, role=PodRole.WORKER, index=1)) == ["pod worker 1 runs"]
    wait(lambda: not first.shims())


def test_secrets_leave_the_platform_once_and_lie_on_the_machines_that_need_them_alone(two: Two) -> None:
    first, second, backend = two
    spec = replace(gang(), secrets={"API_KEY": "sesame"})  # on node-1
    backend.launch(spec)
    wait(lambda: runs(backend, spec))
    wait(lambda: bytes(AgentGang.objects.get(pk=spec.attempt_id).secrets) == b"")
    holds = ["grep", "-rl", "sesame"]
    found = subprocess.run([*holds, str(first.folder), str(second.folder)], capture_output=True, text=True, check=False)
    files = [Path(line) for line in found.stdout.split()]
    assert [path.name for path in files] == ["secrets.json"]
    assert first.folder in files[0].parents
    assert files[0].stat().st_mode & 0o077 == 0


def test_a_token_that_was_replaced_is_refused_and_the_agent_says_so(two: Two) -> None:
    first, _, backend = two
    make_token("node-1", actor=None)
    wait(lambda: not is_ready(backend, "node-1"))
    assert "refuses this agent's token" in first.said()
    assert "mlhub agent token NAME" in first.said()


def test_what_runs_on_a_machine_that_is_removed_is_lost_and_ends(soon_lost: None, two: Two) -> None:
    _, second, backend = two
    spec = launched(backend)
    remove_agent("node-2", actor=None)
    status = ended(backend, spec)
    assert status.cause is Cause.NODE_LOST
    assert [node.name for node in backend.inventory()] == ["node-1"]
    wait(lambda: not second.shims())


def test_a_folder_of_checkpoints_that_is_not_shared_keeps_jobs_away(tmp_path: Path, settings: Any) -> None:
    with machines(tmp_path, settings, names=("node-1",)) as ((machine,), backend):
        shared = Path(settings.CHECKPOINT_ROOT)
        settings.CHECKPOINT_ROOT = tmp_path / "others"  # which only the platform has by what this machine sees
        machine.kill()
        marker = next(path for path in shared.glob(".mlhub-*") if path.is_file())
        marker.write_text("another installation")
        settings.CHECKPOINT_ROOT = shared
        machine.start()
        wait(lambda: not is_ready(backend, "node-1"))
        node = backend.inventory()[0]
        assert str(shared) in node.message
        assert "Mount the platform's folder at the same path on node-1" in node.message
        marker.unlink()  # the platform writes it anew
        wait(lambda: is_ready(backend, "node-1"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--server=hub.example.org", "--token=mlg_a_b"], "give the platform's address"),
        (["--server=http://127.0.0.1:9", "--token=abc"], "no token of an agent"),
        (["--server=http://127.0.0.1:9"], "`mlhub agent token NAME`"),
        (["--server=http://127.0.0.1:9", "--token=mlg_a_b", "--address=192.0.2.77"], "no interface of this machine"),
    ],
)
def test_what_is_given_wrongly_is_said_with_the_remedy(tmp_path: Path, words: list[str], said: str) -> None:
    argv = [sys.executable, "-m", "mlhub.agent", f"--home={tmp_path}", "--warm-workers=0", *words]
    clean = {name: value for name, value in os.environ.items() if name != "MLHUB_AGENT_TOKEN"}
    done = subprocess.run(argv, cwd=ROOT, env=clean, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert said in done.stderr
