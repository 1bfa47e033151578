# SPDX-License-Identifier: Apache-2.0
"""What the snapshot knows of a family is what its attempts took, also for a loop that has only just begun."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mlhub.clusters.models import Node
from mlhub.control.learning.learned_models import learned_models_of
from mlhub.control.learning.restart_costs import costs_of, costs_of_newest
from mlhub.control.learning.target_prediction import expected_steps
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.models import MetricPoint, Series, SpeedSample
from tests.cast import make_cast
from tests.control.worlds import World
from tests.jobs.builders import live_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def trained(world: World, job: Job, *, start_s: float, leave_s: float | None = None) -> None:
    """The job's live attempt took so long to its first step, and to leave."""
    attempt = live_attempt(job)
    began = attempt.created_at
    training_at = began + timedelta(seconds=start_s)
    Attempt.objects.filter(pk=attempt.pk).update(training_at=training_at)
    if leave_s is not None:
        left_at = training_at + timedelta(seconds=100 + leave_s)
        Attempt.objects.filter(pk=attempt.pk).update(
            stop_asked_at=training_at + timedelta(seconds=100), ended_at=left_at, outcome="stopped"
        )
    SpeedSample.objects.create(
        attempt=attempt, family=family_of(job), mode="all_reduce", n_workers=1, n_servers=0, n_nodes=1, n_racks=1,
        gpu_type="cpu-slot", batch_size=32, step_s=0.3, compute_s=0.2, sync_s=0.06, input_s=0.04, n_steps=500,
        updated_at=world.now, measured={"noise_scale": 512.0},
    )  # fmt: skip


def test_without_attempts_there_are_priors(world: World) -> None:
    costs = learned_models_of({"unheard-of"}).costs.of("unheard-of")
    assert (costs.start.basis, costs.start.seconds) == ("prior", pytest.approx(15.0))
    assert (costs.leave.seconds, costs.loss.seconds) == (pytest.approx(2.0), pytest.approx(0.0))


def test_a_family_s_own_times_count_and_others_count_for_families_that_never_ran(world: World) -> None:
    slow = world.job(name="slow", max_workers=1)
    quick = world.job(name="quick", max_workers=1, hyperparameters={"width": 5})
    world.rounds(2)
    trained(world, slow, start_s=40, leave_s=9)
    trained(world, quick, start_s=4)
    costs = learned_models_of({family_of(slow), family_of(quick), "new"}).costs
    assert costs.of(family_of(slow)).start.seconds > 30
    assert costs.of(family_of(slow)).start.basis == "few"
    assert costs.of(family_of(quick)).start.seconds < 6
    assert costs.of(family_of(quick)).leave.seconds == pytest.approx(9)  # the only one known
    assert 4 < costs.of("new").start.seconds < 40


def test_a_start_counts_without_what_it_fetched_into_the_cache_of_a_node(world: World) -> None:
    one = world.job(name="one", max_workers=1)
    world.rounds(2)
    trained(world, one, start_s=140)
    uses = {"n0": {"inputs_bytes": 10, "fetched_bytes": 10, "fetch_s": 100.0}}
    Attempt.objects.filter(job=one).update(inputs=uses)
    measured_s = learned_models_of({family_of(one)}).costs.of(family_of(one)).start.seconds
    Node.objects.filter(name="n0").update(has_own_cache=True)
    without_s = learned_models_of({family_of(one)}).costs.of(family_of(one)).start.seconds
    assert measured_s > 80
    assert without_s == pytest.approx(measured_s * 40 / 140, rel=0.05)


def test_work_after_the_last_checkpoint_is_a_loss_in_seconds(world: World) -> None:
    one = world.job(name="one", max_workers=1)
    world.rounds(2)
    trained(world, one, start_s=5, leave_s=2)
    first = one.attempts.get()
    Attempt.objects.filter(pk=first.pk).update(last_step=1000)
    later = {"mode": "all_reduce", "n_workers": 1, "token_hash": "x", "training_at": first.ended_at}
    Attempt.objects.create(job=one, number=9, first_step=900, **later)
    costs = learned_models_of({family_of(one)}).costs.of(family_of(one))
    assert costs.loss.high_s > costs.loss.seconds > 15  # 100 steps of 0.3 s, drawn to what is usual: nothing


def test_stages_of_a_family_become_its_profile(world: World) -> None:
    job = world.job(max_workers=1)
    world.rounds(2)
    trained(world, job, start_s=4)
    profile = learned_models_of({family_of(job)}).profiles[family_of(job)]
    assert (profile.cpu_io_s, profile.gpu_s, profile.network_s) == (0.04, 0.2, 0.06)
    world.round()
    snapshot = take_snapshot([], now=world.now, round_number=9)
    assert [of.noise_scale for of in snapshot.jobs] == [512.0]
    assert world.loop.plan is not None


def test_a_curve_that_nears_its_target_shortens_what_is_expected_of_the_job(world: World) -> None:
    configuration = {"target_metric": "eval/loss", "target_value": 0.3, "epochs": 100, "steps_total": 10_000}
    stops = world.job(name="stops", hyperparameters={"stop_at_target": True}, max_workers=1, **configuration)
    goes_on = world.job(name="goes on", max_workers=1, **configuration)
    world.rounds(2)
    for of in (stops, goes_on):
        attempt = live_attempt(of)
        series = Series.objects.create(job=of, attempt=attempt, key="eval/loss")
        MetricPoint.objects.bulk_create(
            MetricPoint(series=series, step=k, epoch=k / 100, value=0.2 + 1 / (0.01 * k + 0.5), at=world.now, seq=k)
            for k in range(100, 700, 100)
        )  # reaches 0.3 at step 950: with the tenth epoch
    jobs = list(Job.objects.order_by("name"))
    assert expected_steps(jobs) == {stops.id: 1000}
    world.round()
    stops.refresh_from_db()
    goes_on.refresh_from_db()
    assert stops.predicted_finish_at < goes_on.predicted_finish_at


def test_pages_show_what_a_restart_of_a_family_costs_and_on_how_much_that_rests(world: World) -> None:
    one, other = (
        world.job(name="one", max_workers=1),
        world.job(name="other", max_workers=1, hyperparameters={"width": 2}),
    )
    world.rounds(2)
    trained(world, one, start_s=40, leave_s=2)
    shown = costs_of(one)
    assert (shown["start"]["n"], shown["start"]["basis"], shown["loss"]["basis"]) == (1, "few", "prior")
    assert shown["restart"]["seconds"] == pytest.approx(
        sum(shown[part]["seconds"] for part in ("start", "leave", "loss"))
    )
    assert costs_of(other)["start"]["basis"] == "others"
    (row,) = costs_of_newest(9)
    assert row == {"job": {"id": one.id, "name": "one"}, **shown}
