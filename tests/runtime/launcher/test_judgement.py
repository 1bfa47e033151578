# SPDX-License-Identifier: Apache-2.0
"""Every way in which a process of a gang may die, and what follows: cause, fault, another attempt or the end."""

from __future__ import annotations

import itertools
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mlhub.backends.kubernetes.status.gangs import KubePodState, PodMember, Record, gang_state
from mlhub.backends.kubernetes.status.problems import Ending
from mlhub.backends.protocol import GangPhase
from mlhub.jobs.execution.causes import judge_failure
from mlhub.runtime.launcher.fork_supervisor import ForkSupervisor, Incarnation
from mlhub.runtime.launcher.judgement import OomKillCounter, judge_end
from mlhub.wire.exits import Cause, ExitCode, Fault, cause_of
from mlhub.wire.launch import AttemptId, PodRole

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROCESSES = ("launcher", "trainer of rank 0", "trainer of rank 1", "server", "fork supervisor")
DEATHS = (-signal.SIGKILL, -signal.SIGSEGV, -signal.SIGTERM, -signal.SIGABRT, 1)
PHASES = ("rendezvous", "training", "saving", "finishing")
# what the rest of the gang ends with: it never meets, it loses its peer, it is asked to leave, or it was done already
OTHERS = {
    "rendezvous": ExitCode.TIMEOUT,
    "training": ExitCode.PEER_LOST,
    "saving": ExitCode.PREEMPTED,
    "finishing": ExitCode.DONE,
}
CAUSES = {-signal.SIGSEGV: Cause.CRASHED, -signal.SIGABRT: Cause.CRASHED, 1: Cause.UNKNOWN}
DEAD_PODS = {
    "launcher": (PodRole.WORKER, 1), "trainer of rank 0": (PodRole.WORKER, 0), "trainer of rank 1": (PodRole.WORKER, 1),
    "server": (PodRole.SERVER, 0), "fork supervisor": (PodRole.SERVER, 0),
}  # fmt: skip


def pod_status(process: str, death: int) -> int:
    """The exit status of the pod in which the process died. The server's supervisor may start it no more."""
    if process == "launcher":
        return 128 - death if death < 0 else death
    return judge_end(death, is_asked_to_stop=False, was_oom_killed=False).exit_code


def end_of_gang(process: str, death: int, phase: str) -> tuple[GangPhase, Cause | None]:
    role, index = DEAD_PODS[process]
    members = (
        PodMember(PodRole.WORKER, 0, "node-1"),
        PodMember(PodRole.WORKER, 1, "node-2"),
        PodMember(PodRole.SERVER, 0, "node-1"),
    )
    pods = []
    for member in members:
        is_dead = (member.role, member.index) == (role, index)
        code = pod_status(process, death) if is_dead else OTHERS[phase]
        # the launcher of the dead process sends its reports before it leaves, and may be the last
        at = NOW + timedelta(seconds=9 if is_dead else 1)
        pods.append(KubePodState(member, None, Ending(code, cause_of(code), "", at)))
    record = Record(AttemptId("a"), "n", "g", "u", NOW, NOW, 60.0, members, stop=None)
    status = gang_state(record, pods, now=NOW).status
    return status.phase, status.cause


@pytest.mark.parametrize(("process", "death", "phase"), list(itertools.product(PROCESSES, DEATHS, PHASES)))
def test_a_death_without_proof_is_the_platforms_fault_and_tried_again(process: str, death: int, phase: str) -> None:
    gang_phase, cause = end_of_gang(process, death, phase)
    if phase == "finishing" and DEAD_PODS[process][0] is PodRole.SERVER:
        assert (gang_phase, cause) == (GangPhase.SUCCEEDED, None)  # every worker had its result
        return
    assert (gang_phase, cause) == (GangPhase.FAILED, CAUSES.get(death, Cause.KILLED))
    assert cause is not None
    assert cause.fault is Fault.PLATFORM
    first, last = (judge_failure(cause, n_failures=n, max_retries=3) for n in (1, 4))
    assert (first.is_final, first.wait_s) == (False, 5.0)
    assert last.is_final


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause.fault is Fault.USER])
def test_a_failure_by_the_users_fault_ends_the_job_at_once(cause: Cause) -> None:
    assert judge_failure(cause, n_failures=1, max_retries=3).is_final


@pytest.mark.parametrize("death", [-signal.SIGSEGV, -signal.SIGTERM, -signal.SIGABRT])
def test_only_a_kill_is_ever_taken_for_want_of_memory(death: int) -> None:
    end = judge_end(death, is_asked_to_stop=False, was_oom_killed=True)
    assert end.cause is not Cause.OUT_OF_MEMORY
    proven = judge_end(-signal.SIGKILL, is_asked_to_stop=False, was_oom_killed=True)
    assert (proven.exit_code, proven.cause) == (ExitCode.OUT_OF_MEMORY, Cause.OUT_OF_MEMORY)


def test_a_trainer_that_is_asked_to_stop_before_it_began_has_left_in_good_order() -> None:
    end = judge_end(-signal.SIGTERM, is_asked_to_stop=True, was_oom_killed=False)
    assert (end.exit_code, end.cause) == (ExitCode.PREEMPTED, None)


def test_exit_status_0_before_the_work_is_done_is_the_users_fault() -> None:
    end = judge_end(0, is_asked_to_stop=False, was_oom_killed=False, is_complete=False)
    assert (end.exit_code, end.cause) == (ExitCode.USER_CODE, Cause.USER_CODE)
    assert judge_end(0, is_asked_to_stop=False, was_oom_killed=False, is_complete=True).exit_code == ExitCode.DONE
    assert judge_end(75, is_asked_to_stop=True, was_oom_killed=False, is_complete=False).exit_code == ExitCode.PREEMPTED


def test_the_kernels_count_proves_a_kill_only_while_it_is_fresh(tmp_path: Path) -> None:
    events = tmp_path / "memory.events"
    events.write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    counter = OomKillCounter(events)
    assert not counter.has_grown()
    events.write_text("low 0\noom 4\noom_kill 3\noom_group_kill 0\n")
    assert counter.has_grown()
    counter.sample()
    assert counter.has_grown()
    counter.sample()
    assert not counter.has_grown()


def test_without_a_control_group_nothing_is_proven(tmp_path: Path) -> None:
    assert not OomKillCounter(tmp_path / "absent").has_grown()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_server_that_dies_by_a_signal_goes_on_under_its_supervisor(number: signal.Signals) -> None:
    def work(incarnation: Incarnation) -> int:
        if incarnation.number == 0:
            signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
            os.kill(os.getpid(), number)
        return ExitCode.DONE

    assert _supervised(work, can_return=True) == ExitCode.DONE


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_may_not_return_takes_its_supervisor_along(number: signal.Signals) -> None:
    def work(_: Incarnation) -> int:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return ExitCode.DONE

    assert _supervised(work, can_return=False) == -number


def test_a_server_that_ends_with_a_status_is_not_started_again() -> None:
    assert _supervised(lambda _: 1, can_return=True) == 1


def _supervised(work: object, *, can_return: bool) -> int:
    """Exit status of a supervisor in a process of its own."""
    child = os.fork()
    if child == 0:
        os._exit(ForkSupervisor(work, lambda: can_return).run())  # type: ignore[arg-type]
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
