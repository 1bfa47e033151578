# SPDX-License-Identifier: Apache-2.0
"""The ledger: each attempt is entered once, for good, with what of its time was lost."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from mlhub.events.models import Event
from mlhub.jobs.models import Allocation, Attempt, Checkpoint, Job
from mlhub.jobs.retention import deletion
from mlhub.registry.models import ModelVersion
from mlhub.usage import ledger
from mlhub.usage.models import UsageEntry
from mlhub.usage.tasks import check_ledger
from mlhub.wire.exits import Cause
from tests.cast import make_cast
from tests.control.worlds import World, node, state
from tests.jobs.builders import live_attempt
from tests.metrics.test_ingest import post

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def running(world: World, **fields: object) -> tuple[Job, Attempt, datetime]:
    """A job that runs since now; its attempt's first step came 20 s after its launch."""
    found = world.job(**fields)
    world.rounds(2)
    attempt = live_attempt(found)
    began = world.now
    Attempt.objects.filter(pk=attempt.pk).update(created_at=began, training_at=began + timedelta(seconds=20))
    return found, attempt, began


def entries(of: Attempt) -> list[tuple[float, float, float, str]]:
    rows = UsageEntry.objects.filter(attempt_id=of.pk).order_by("node")
    return [(e.gpu_s, e.startup_gpu_s, e.lost_gpu_s, e.outcome) for e in rows]


def ledger_failing_since(world: World) -> object:
    """As the cluster page shows it to administrators of the platform."""
    return world.cast.client(world.cast.root).get("/api/v1/cluster").json()["ledger_failing_since"]


def test_an_attempt_that_succeeds_is_entered_with_its_start_up(world: World) -> None:
    job, attempt, _ = running(world, min_workers=2, max_workers=2)
    assert entries(attempt) == []
    assert [(e.gpu_s, e.job) for e in ledger.running_entries(now=world.now + timedelta(seconds=5))] == [(10.0, "job")]
    world.backend.finish(str(attempt.id))
    world.round(after_s=100)
    assert state(job) == "succeeded"
    assert entries(attempt) == [(200.0, 40.0, 0.0, "succeeded")]
    assert ledger.running_entries(now=world.now) == []


@pytest.mark.parametrize(
    ("kind", "first_step_s", "startup_s"),
    [
        ("script", None, 8.0),  # it runs, and says nothing of steps
        ("script", 20.0, 20.0),
        ("package", None, 100.0),  # it never came to train
    ],
)
def test_a_script_that_reports_no_step_works_once_it_runs(
    world: World, kind: str, first_step_s: float | None, startup_s: float
) -> None:
    job, attempt, began = running(world, min_workers=1, max_workers=1)
    ModelVersion.objects.filter(pk=job.model_version_id).update(kind=kind)
    startup = {"pod_started": began.timestamp() + 3, "inputs_ready": began.timestamp() + 8}
    training_at = began + timedelta(seconds=first_step_s) if first_step_s is not None else None
    Attempt.objects.filter(pk=attempt.pk).update(startup=startup, training_at=training_at)
    (present,) = ledger.running_entries(now=began + timedelta(seconds=5))
    assert present.startup_gpu_s == 5.0
    world.backend.finish(str(attempt.id))
    world.round(after_s=100)
    assert entries(attempt) == [(100.0, startup_s, 0.0, "succeeded")]


def test_nothing_of_a_notebook_is_lost_and_its_hours_are_no_start_up(world: World) -> None:
    job, attempt, began = running(world, min_workers=1, max_workers=1)
    ModelVersion.objects.filter(pk=job.model_version_id).update(kind="script")
    Job.objects.filter(pk=job.pk).update(kind="notebook")
    Attempt.objects.filter(pk=attempt.pk).update(startup={"inputs_ready": began.timestamp() + 8}, training_at=None)
    world.backend.fail(str(attempt.id), Cause.NODE_LOST)
    world.round(after_s=3600)
    assert entries(attempt) == [(3600.0, 8.0, 0.0, "failed")]


def test_a_report_has_what_runs_and_counts_its_job_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, attempt, _ = running(world, min_workers=1, max_workers=1)
    world.backend.fail(str(attempt.id), Cause.NODE_LOST)
    world.round(after_s=3600)
    world.rounds(20)
    again = Attempt.objects.live().get()
    Attempt.objects.filter(pk=again.pk).update(created_at=world.now, training_at=None)
    monkeypatch.setattr("mlhub.usage.api.views.timezone.now", lambda: world.now + timedelta(hours=2))
    window = {"since": "2025-12-31T00:00:00Z", "until": "2026-01-02T00:00:00Z", "by": "outcome"}
    found = world.cast.client(world.cast.bob).get("/api/v1/usage", window).json()
    assert {row["name"]: round(row["gpu_hours"], 3) for row in found["rows"]} == {"running": 2.0, "failed": 1.0}
    assert found["total"]["n_jobs"] == 1


def test_what_came_after_the_last_checkpoint_of_a_failed_attempt_is_lost(world: World) -> None:
    _, attempt, began = running(world, min_workers=1, max_workers=1)
    Checkpoint.objects.create(
        attempt=attempt, step=5, name="step-5", size_bytes=1, write_s=0, stall_s=0, at=began + timedelta(seconds=70)
    )
    world.backend.fail(str(attempt.id), Cause.NODE_LOST)
    world.round(after_s=100)
    assert entries(attempt) == [(100.0, 20.0, 30.0, "failed")]


def test_an_attempt_that_failed_before_its_first_step_lost_nothing_but_its_start_up(world: World) -> None:
    _, attempt, _ = running(world, min_workers=1, max_workers=1)
    Attempt.objects.filter(pk=attempt.pk).update(training_at=None)
    world.backend.fail(str(attempt.id), Cause.NODE_LOST)
    world.round(after_s=50)
    assert entries(attempt) == [(50.0, 50.0, 0.0, "failed")]


def test_the_bill_outlives_the_job(world: World) -> None:
    job, attempt, _ = running(world, min_workers=1, max_workers=1)
    world.backend.finish(str(attempt.id))
    world.round(after_s=100)
    job.refresh_from_db()
    deletion.delete_job(job, actor=world.cast.bob)
    assert not Allocation.objects.exists()
    assert entries(attempt) == [(100.0, 20.0, 0.0, "succeeded")]


def busy(of: Attempt, *readings: tuple[int, float, float]) -> None:
    """Samples as pods post them: worker, seconds, utilisation."""
    for worker, interval_s, utilisation in readings:
        line = {"at": 1.7e9, "interval_s": interval_s, "values": {"cpus": 1, "gpu_utilisation": utilisation}}
        first = of.streams.filter(stream="usage", index=worker).values_list("next", flat=True).first() or 0
        assert post(of, first, line, stream="usage", index=worker).status_code == 200


def measured(entry: UsageEntry) -> tuple[float, float]:
    return round(entry.measured_gpu_s, 6), round(entry.busy_gpu_s, 6)


def test_how_busy_gpus_were_is_entered_as_their_workers_measured_it(world: World) -> None:
    _, attempt, _ = running(world, min_workers=3, max_workers=3)
    assert [measured(entry) for entry in ledger.running_entries(now=world.now + timedelta(seconds=50))] == [(0, 0)] * 2
    busy(attempt, (0, 40.0, 0.5), (0, 40.0, 1.0), (1, 60.0, 0.25), (2, 400.0, 0.5))  # no more than it was held
    post(attempt, 0, {"at": 1.7e9, "interval_s": 40.0, "values": {"gpu_utilisation": 0.5}}, stream="usage")  # again
    post(attempt, 1, {"at": 1.7e9, "interval_s": 9.0, "values": {"cpus": 1}}, stream="usage", index=1)  # no meter
    live = {entry.node: measured(entry) for entry in ledger.running_entries(now=world.now + timedelta(seconds=50))}
    assert sum(len(entry.slots) for entry in ledger.running_entries(now=world.now)) == 3
    world.backend.finish(str(attempt.id))
    world.round(after_s=100)
    found = {e.node: (len(e.slots), measured(e)) for e in UsageEntry.objects.filter(attempt_id=attempt.pk)}
    two, one = (next(node for node, (n, _) in found.items() if n == k) for k in (2, 1))
    assert (live[two], found[two][1]) == ((100.0, 50.0), (140.0, 75.0))
    assert (live[one], found[one][1]) == ((50.0, 25.0), (100.0, 50.0))
    assert ledger.mismatches() == []


def test_jobs_that_share_a_gpu_divide_its_busy_time(world: World) -> None:
    _, first, began = running(world, name="first", min_workers=1, max_workers=1)
    _, second, _ = running(world, name="second", min_workers=1, max_workers=1)
    for attempt in (first, second):
        Attempt.objects.filter(pk=attempt.pk).update(created_at=began)
        busy(attempt, (0, 30.0, 0.8))
        ended = {"node": "n0", "slots": [0], "released_at": began + timedelta(seconds=30)}
        Allocation.objects.filter(attempt=attempt).update(**ended)
    check_ledger()
    assert [measured(UsageEntry.objects.get(attempt_id=a.pk)) for a in (first, second)] == [(15.0, 12.0)] * 2


@pytest.mark.parametrize("n", [1, 12])
def test_a_report_of_what_runs_takes_as_many_queries_for_twelve_jobs_as_for_one(
    world: World, n: int, django_assert_max_num_queries: Any
) -> None:
    world.backend.nodes = [node(f"n{i}") for i in range(6)]
    for i in range(n):
        running(world, name=f"job {i}", min_workers=1, max_workers=1)
        busy(Attempt.objects.live().latest("created_at"), (0, 5.0, 1.0))
    with django_assert_max_num_queries(6):
        assert len(ledger.running_entries(now=world.now)) == n


def test_entries_are_neither_changed_nor_deleted(world: World) -> None:
    _, attempt, _ = running(world, min_workers=1, max_workers=1)
    world.backend.finish(str(attempt.id))
    world.round(after_s=100)
    for change in (lambda rows: rows.update(gpu_s=0), lambda rows: rows.delete()):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change(UsageEntry.objects.all())
    ledger.enter_closed_attempt(attempt_id=attempt.pk)
    assert len(entries(attempt)) == 1


def test_attempts_of_before_the_ledger_that_shared_a_gpu_are_entered_with_their_parts(world: World) -> None:
    _, first, began = running(world, name="first", min_workers=1, max_workers=1)
    _, second, _ = running(world, name="second", min_workers=1, max_workers=1)
    for attempt in (first, second):
        Attempt.objects.filter(pk=attempt.pk).update(created_at=began)
        ended = {"node": "n0", "slots": [0], "released_at": began + timedelta(seconds=30)}
        Allocation.objects.filter(attempt=attempt).update(**ended)
    check_ledger()
    assert [entries(attempt)[0][0] for attempt in (first, second)] == [15.0, 15.0]


def test_what_cannot_be_entered_costs_no_attempt_its_end_and_is_entered_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, attempt, _ = running(world, min_workers=1, max_workers=1)
    with monkeypatch.context() as patched:
        patched.setattr("mlhub.usage.ledger.Node", None)
        world.backend.finish(str(attempt.id))
        world.round(after_s=100)
    assert (state(job), entries(attempt)) == ("succeeded", [])
    check_ledger()
    assert entries(attempt) == [(100.0, 20.0, 0.0, "succeeded")]


def test_the_check_appends_what_is_missing_and_names_what_disagrees(world: World) -> None:
    _, attempt, began = running(world, min_workers=1, max_workers=1)
    Allocation.objects.filter(attempt=attempt).update(released_at=began + timedelta(seconds=30))  # before the ledger
    assert check_ledger() == 0
    assert [gpu_s for gpu_s, *_ in entries(attempt)] == [30.0]
    moved = timezone.now() + timedelta(seconds=40)
    Allocation.objects.filter(attempt=attempt).update(released_at=moved)
    assert ledger_failing_since(world) is None
    assert check_ledger() == 1
    since = ledger_failing_since(world)
    assert since is not None
    assert check_ledger() == 1
    assert ledger_failing_since(world) == since
    assert world.cast.client(world.cast.alice).get("/api/v1/cluster").json()["ledger_failing_since"] is None
    assert Event.objects.filter(kind="usage.mismatch").count() == 1
    assert ledger.mismatches() == [Allocation.objects.get(attempt=attempt).pk]
    assert ledger.mismatches(since=moved + timedelta(seconds=1)) == []
