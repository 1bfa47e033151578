# SPDX-License-Identifier: Apache-2.0
"""One sick thing costs itself: every other job's round goes on, and what was left out is shown with its reason."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from django.db import OperationalError, connection

from mlhub.backends.fake import FakeBackend
from mlhub.backends.protocol import BackendUnavailableError, ItemKind, QuarantinedItem
from mlhub.control.fault_isolation.isolation import MOST_UNREACHABLE, FaultIsolation
from mlhub.control.models import JobDecision, QuarantineRecord, SchedulerState
from mlhub.control.observation import reconcile as reconciliation
from mlhub.jobs import actions
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.metrics.models import SpeedSample, StallRecord
from mlhub.wire.launch import AttemptId, LaunchSpec
from scheduler.policies import POLICIES
from tests.cast import make_cast
from tests.control.misbehaving import Allergic, Broken
from tests.control.worlds import World, node, state
from tests.jobs.builders import PROFILE, live_attempt

pytestmark = pytest.mark.django_db


class SickBackend(FakeBackend):
    """raises: by verb and job or attempt, what calls about it raise."""

    def __init__(self) -> None:
        super().__init__([node("n0"), node("n1", "r1")])
        self.raises: dict[tuple[str, str], Exception] = {}

    def launch(self, spec: LaunchSpec) -> None:
        self._raise("launch", spec.job_id)
        super().launch(spec)

    def stop(self, attempt_id: AttemptId, *, grace_s: float) -> None:
        self._raise("stop", attempt_id)
        super().stop(attempt_id, grace_s=grace_s)

    def _raise(self, verb: str, name: str) -> None:
        if (verb, name) in self.raises:
            raise self.raises[verb, name]


@pytest.fixture
def backend() -> SickBackend:
    return SickBackend()


@pytest.fixture
def world(backend: SickBackend) -> World:
    return World(make_cast(), backend=backend)


def left_out() -> dict[tuple[str, str], str]:
    return {(row.kind, row.name): row.reason for row in QuarantineRecord.objects.filter(ended_at=None)}


def held() -> list[tuple[str, int]]:
    return [(a.node, slot) for a in Allocation.objects.filter(released_at=None) for slot in a.slots]


@pytest.mark.parametrize(
    "sick",
    [
        {"profile": PROFILE | {"parameters_bytes": "many"}},
        {"profile": PROFILE | {"example_s": "quick"}},
        {"profile": PROFILE | {"step_overhead_s": -1}},
        {"profile": PROFILE | {"workers_possible": "all"}},
        {"profile": []},
        {"resources": {"cpus": "x"}},
        {"resources": {"n_servers": -3}},
        {"hyperparameters": 7},
        {"mode": "telepathy"},
        {"min_workers": 5, "max_workers": 2},
    ],
)
def test_a_job_that_cannot_be_read_is_left_out_with_a_reason_and_others_start(
    world: World, sick: dict[str, Any]
) -> None:
    bad, good = world.job(name="bad"), world.job(name="good")
    Job.objects.filter(pk=bad.pk).update(**sick)
    record = world.round()
    assert record is not None
    assert record.error == ""
    assert (state(bad), state(good)) == ("queued", "starting")
    assert list(left_out()) == [("job", str(bad.id))]
    assert bad.reason == "quarantined"
    assert bad.explanations[0]["sentence"].startswith("The scheduler cannot handle this job")
    assert QuarantineRecord.objects.get().job == bad


def test_a_job_that_can_be_read_again_starts_and_its_record_ends(world: World) -> None:
    bad = world.job(name="bad")
    Job.objects.filter(pk=bad.pk).update(profile=[])
    world.rounds(2)
    Job.objects.filter(pk=bad.pk).update(profile=PROFILE)
    world.rounds(1)
    assert state(bad) == "starting"
    assert left_out() == {}
    ended = QuarantineRecord.objects.get()
    assert ended.ended_at == world.now
    assert ended.since < ended.ended_at


@pytest.mark.slow
def test_a_running_job_that_cannot_be_read_keeps_its_gpus_and_runs_on(world: World) -> None:
    bad = world.job(name="bad", min_workers=2, max_workers=2)
    world.rounds(2)
    Job.objects.filter(pk=bad.pk).update(profile=[])
    for number in range(3):
        world.job(name=f"good {number}", max_workers=4)
    world.rounds(3)
    assert state(bad) == "running"
    assert bad.explanations[0]["reason"] == "quarantined"
    assert len(held()) == len(set(held())) >= 3
    assert live_attempt(bad).allocations.filter(released_at=None).exists()
    world.backend.finish(str(live_attempt(bad).id))
    world.round()
    assert state(bad) == "succeeded"


def test_a_node_of_which_it_is_not_known_what_is_held_takes_nothing_new(world: World) -> None:
    bad = world.job(name="bad", min_workers=1, max_workers=1)
    world.rounds(2)
    there = Allocation.objects.get()
    Allocation.objects.filter(pk=there.pk).update(slots={"0": "x"})
    world.job(name="good", max_workers=4)
    world.rounds(2)
    assert state(bad) == "running"
    assert {a.node for a in Allocation.objects.filter(attempt__job__name="good")} == {"n0", "n1"} - {there.node}
    assert "cannot be read" in left_out()["job", str(bad.id)]


def test_a_job_on_which_the_policy_fails_is_left_out_and_others_are_decided_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(POLICIES, "allergic", Allergic)  # type: ignore[arg-type]
    world.settle(policy="allergic")
    good = [world.job(name=f"good {number}", max_workers=1) for number in range(2)]
    bad = world.job(name="indigestible", max_workers=1)
    late = world.job(name="late", max_workers=1)
    record = world.round()
    assert record is not None
    assert record.error == ""
    assert [state(job) for job in (*good, bad, late)] == ["starting", "starting", "queued", "starting"]
    assert "ZeroDivisionError: a bug" in left_out()["job", str(bad.id)]
    assert bad.reason == "quarantined"
    world.round()
    assert list(left_out()) == [("job", str(bad.id))], "it is not searched for in every round"
    assert SchedulerState.objects.get(pk=1).n_failures == 0


def test_a_policy_that_fails_without_jobs_too_costs_no_job_anything(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(POLICIES, "broken", Broken)  # type: ignore[arg-type]
    world.settle(policy="broken")
    world.job()
    record = world.round()
    assert record is not None
    assert "ZeroDivisionError" in record.error
    assert left_out() == {}
    assert "ZeroDivisionError" in SchedulerState.objects.get(pk=1).error


def test_an_attempt_that_cannot_be_followed_leaves_the_others_followed(world: World) -> None:
    bad, good = world.job(name="bad", max_workers=1), world.job(name="good", max_workers=1)
    world.rounds(2)
    Job.objects.filter(pk=bad.pk).update(intent="dance")
    bad_attempt = live_attempt(bad)
    world.backend.finish(str(live_attempt(good).id))
    world.round()
    assert state(good) == "succeeded"
    assert "dance" in left_out()["attempt", str(bad_attempt.id)]
    assert QuarantineRecord.objects.get(kind="attempt").job == bad


def test_a_launch_that_raises_what_it_must_not_frees_its_gpus_and_others_start(
    world: World, backend: SickBackend
) -> None:
    bad = world.job(name="bad", max_workers=1)
    backend.raises["launch", str(bad.id)] = KeyError("metadata")
    good = world.job(name="good", max_workers=1)
    world.round()
    assert (state(bad), state(good)) == ("queued", "starting")
    assert "KeyError" in bad.attempts.get().message
    assert bad.attempts.get().cause == "launch_failed"
    assert not Attempt.objects.live().filter(job=bad).exists()
    assert "KeyError: 'metadata'" in str(left_out())


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_gang_that_the_backend_does_not_answer_about_ends_no_round(world: World, backend: SickBackend) -> None:
    bad, good = world.job(name="bad", max_workers=1), world.job(name="good", max_workers=1)
    world.rounds(2)
    actions.cancel_job(bad, actor=world.cast.bob)
    backend.raises["stop", str(live_attempt(bad).id)] = BackendUnavailableError("The API server answers 500.")
    backend.finish(str(live_attempt(good).id))
    assert world.round() is not None
    assert (state(bad), state(good)) == ("stopping", "succeeded")
    assert "answers 500" in str(left_out())
    backend.raises.clear()
    world.rounds(2)
    assert state(bad) == "cancelled"
    assert left_out() == {}


@pytest.mark.slow
def test_several_gangs_in_a_row_without_an_answer_mean_that_the_backend_is_away(
    world: World, backend: SickBackend
) -> None:
    jobs = [world.job(name=f"job {i}", max_workers=1) for i in range(MOST_UNREACHABLE)]
    world.rounds(2)
    for job in jobs:
        actions.cancel_job(job, actor=world.cast.bob)
        backend.raises["stop", str(live_attempt(job).id)] = BackendUnavailableError("no route")
    assert world.round() is None
    assert SchedulerState.objects.get(pk=1).backend_away_since == world.now


@pytest.mark.parametrize(
    "sick",
    [
        {"nic_bps": 0.0}, {"nic_bps": math.nan}, {"memory_bytes": 2**70}, {"n_slots": -1}, {"cpus": math.inf},
        {"name": "n0"}, {"name": "x" * 300}, {"message": "\0"}, {"rack_uplink_bps": "fast"}, {"n_slots": 10**9},
        {"max_jobs_per_gpu": 0},
    ],
)  # fmt: skip
def test_a_node_that_reports_nonsense_is_not_used_and_the_others_are(world: World, sick: dict[str, Any]) -> None:
    world.backend.nodes.append(replace(node("sick", "r2"), **sick))
    good = world.job(min_workers=4, max_workers=4)
    world.round()
    assert state(good) == "starting"
    assert {a.node for a in Allocation.objects.all()} == {"n0", "n1"}
    ((kind, _),) = left_out()
    assert kind == "node"


def test_measurements_that_mean_nothing_cost_themselves(world: World) -> None:
    job = world.job(max_workers=1)
    world.rounds(2)
    attempt = live_attempt(job)
    SpeedSample.objects.create(
        attempt=attempt, family=family_of(job), mode="telepathy", n_workers=1, n_servers=0, n_nodes=1, n_racks=1,
        gpu_type="t", batch_size=32, step_s=0.3, compute_s=0.2, sync_s=0.1, input_s=0.0, n_steps=5,
        updated_at=world.now, measured={"noise_scale": "loud"},
    )  # fmt: skip
    other = world.job(name="other", max_workers=1)
    world.round()
    assert state(other) == "starting"
    assert "telepathy" in left_out()["attempt", str(attempt.id)]


def test_a_stall_that_cannot_be_handled_leaves_the_others_handled(world: World) -> None:
    bad, good = world.job(name="bad", max_workers=2), world.job(name="good", max_workers=2)
    world.rounds(2)
    for job in (bad, good):
        StallRecord.objects.create(
            attempt=live_attempt(job), worker=0, step=1, doing="compute", since=world.now.replace(year=2025),
            reported_at=world.now,
        )  # fmt: skip
    Job.objects.filter(pk=bad.pk).update(limits={"stall_s": "for ever"})
    world.round()
    assert state(good) == "failed"
    assert "for ever" in str(left_out())


def test_a_step_that_fails_is_shown_and_the_round_is_finished(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no history today")

    monkeypatch.setattr(world.loop._history, "record", fail)
    job = world.job()
    assert world.round() is not None
    assert state(job) == "starting"
    assert left_out() == {("step", "history"): "RuntimeError: no history today"}
    assert not JobDecision.objects.exists()


def test_what_no_step_expects_is_recorded_and_the_next_round_is_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.job()
    with monkeypatch.context() as broken:
        broken.setattr(world.backend, "inventory", lambda: [][0])
        assert world.loop.round_or_record_failure() is None
    assert "IndexError" in SchedulerState.objects.get(pk=1).error
    world.round()
    assert state(job) == "starting"
    assert SchedulerState.objects.get(pk=1).error == ""


def test_what_the_backend_left_out_is_stored_and_written_only_where_it_changed(
    world: World, django_assert_num_queries: Any
) -> None:
    damaged = QuarantinedItem(ItemKind.POD, "mlhub-a/x\0", "its annotation is no JSON", world.now)
    world.backend.damaged = [damaged]  # type: ignore[attr-defined]
    world.round()
    row = QuarantineRecord.objects.get()
    assert (row.kind, row.name, row.reason, row.since) == (
        "pod",
        "mlhub-a/x",
        "its annotation is no JSON",
        damaged.since,
    )
    with django_assert_num_queries(0):
        world.loop._quarantine.store([damaged], now=world.now)
    world.round(after_s=120)
    row.refresh_from_db()
    assert row.last_seen_at == world.now
    world.backend.damaged = []  # type: ignore[attr-defined]
    world.round()
    row.refresh_from_db()
    assert row.ended_at == world.now
    world.round(after_s=8 * 86400)
    world.backend.damaged = [damaged]  # type: ignore[attr-defined]
    world.round()
    assert QuarantineRecord.objects.get().ended_at is None


def test_gangs_of_no_attempt_are_ended_one_by_one(world: World, backend: SickBackend) -> None:
    first, second = world.job(name="a", max_workers=1), world.job(name="b", max_workers=1)
    world.rounds(2)
    sick = str(live_attempt(first).id)
    Attempt.objects.update(ended_at=world.now)
    Job.objects.filter(pk__in=[first.pk, second.pk]).update(state="failed")
    backend.raises["stop", sick] = TypeError("None")
    reconciliation.reconcile(backend, backend.observe(), now=world.now, isolation=(found := FaultIsolation()))
    assert list(found.found) == [(ItemKind.GANG, sick)]
    assert [status.phase.is_ended for status in backend.observe() if status.attempt_id != sick] == [True]


@pytest.mark.django_db(transaction=True)
def test_a_lost_connection_to_the_database_ends_the_round() -> None:
    def lose(_: int) -> None:
        connection.close()
        raise OperationalError("server closed the connection unexpectedly")

    with pytest.raises(OperationalError):
        FaultIsolation().each([1, 2], lose, kind=ItemKind.STEP)


def test_an_error_of_one_statement_is_the_item_s_own() -> None:
    def fail(pk: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / %s", [pk])

    found = FaultIsolation()
    found.each([1, 0, 2], fail, kind=ItemKind.STEP)
    assert list(found.found) == [(ItemKind.STEP, "0")]
    assert "division by zero" in found.found[ItemKind.STEP, "0"]
