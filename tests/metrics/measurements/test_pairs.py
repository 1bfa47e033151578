# SPDX-License-Identifier: Apache-2.0
"""Jobs that share hardware: who slows whom is measured, and steps with others are not taken for steps alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from mlhub.clusters.models import Node, Rack
from mlhub.control.learning.learned_pairs import learned_pairs, learned_slowdowns
from mlhub.jobs import attempts
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.measurements.colocation import colocation_of
from mlhub.metrics.models import PairSample, SharedResource, SpeedSample
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import post, progress

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    for rack in ("r0", "r1"):
        Rack.objects.create(name=rack, uplink_bps=1e10)
    for name, rack in (("n0", "r0"), ("n1", "r0"), ("n2", "r1"), ("n3", "r0"), ("n4", "r1")):
        Node.objects.create(
            name=name, rack_id=rack, gpu_type="V100", n_slots=4, cpus=8, memory_bytes=2**36, nic_bps=1e10,
            is_ready=True, is_schedulable=True, observed_at=timezone.now(), gpu_memory_bytes=16 * 2**30,
        )  # fmt: skip
    return make_cast()


def opened(of: Job, *held: tuple[str, tuple[int, ...]]) -> Attempt:
    of.refresh_from_db()
    found = attempts.open_attempt(
        of, mode="all_reduce", n_workers=sum(len(slots) for _, slots in held), n_servers=0,
        held=[attempts.Held(node, slots, 0) for node, slots in held], predicted_step_s=0.1, reason="fits",
        now=timezone.now(),
    )  # fmt: skip
    assert found is not None
    return found


class Pod:
    """Rank 0 of an attempt, whose reports are ours."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt, self.line, self.done = attempt, 0, 0

    def trains(self, n_reports: int, *, step_s: float, steps: int = 20, **measured: float) -> None:
        for _ in range(n_reports):
            self.done += steps
            parts: dict[str, Any] = {"measured": measured} if measured else {}
            assert post(self.attempt, self.line, progress(self.done, step_s) | parts).status_code == 200
            self.line += 1


def end(attempt: Attempt) -> None:
    attempts.close_stopped(attempt, cause=None, message="", now=timezone.now())


def test_two_jobs_on_one_gpu_measure_how_much_they_slow_each_other(cast: Cast) -> None:
    first = Pod(opened(job(cast.project_a, cast.bob, name="a"), ("n0", (0,))))
    first.trains(5, step_s=0.1, gpu_memory_bytes=4.0 * 2**30)
    second = Pod(opened(job(cast.project_a, cast.bob, name="b", hyperparameters={"width": 5}), ("n0", (0,))))
    second.trains(2, step_s=0.3)
    first.trains(6, step_s=0.15, gpu_memory_bytes=9.0 * 2**30)
    second.trains(5, step_s=0.3)
    sample = SpeedSample.objects.get(attempt=first.attempt)
    assert (sample.step_s, sample.n_colocated_steps) == (pytest.approx(0.1), 100)  # the first of 6 was mixed
    assert sample.measured["gpu_memory_bytes"] == 4 * 2**30  # later the counter shows what both hold
    assert SpeedSample.objects.get(attempt=second.attempt).n_steps == 0  # was never alone
    (known,) = learned_slowdowns()
    assert (known.slowdown, known.resource) == (pytest.approx(1.5), SharedResource.GPU)
    (half,) = learned_pairs()
    assert half.norm_a == half.norm_b == pytest.approx(1 / 1.5, abs=0.01)
    end(first.attempt)
    second.trains(3, step_s=0.2)  # the first report after the change is mixed; then it is alone
    (pair,) = learned_pairs()
    norms = {pair.family_a: pair.norm_a, pair.family_b: pair.norm_b}
    assert norms == {
        family_of(first.attempt.job): pytest.approx(1 / 1.5, abs=0.01),
        family_of(second.attempt.job): pytest.approx(0.2 / 0.3, abs=0.01),
    }
    assert pair.gpu_type == "V100"


def test_what_is_measured_alone_takes_the_place_of_what_was_measured_with_others(cast: Cast) -> None:
    first = Pod(opened(job(cast.project_a, cast.bob, name="a"), ("n0", (0,))))
    second = Pod(opened(job(cast.project_a, cast.bob, name="b", hyperparameters={"width": 5}), ("n0", (1,))))
    for pod in (first, second, first, second):
        pod.trains(3, step_s=0.4)
    sample = SpeedSample.objects.get(attempt=first.attempt)
    assert (sample.is_shared, sample.step_s) == (True, pytest.approx(0.4))
    end(second.attempt)
    first.trains(4, step_s=0.1)
    sample.refresh_from_db()
    assert (sample.is_shared, sample.step_s) == (False, pytest.approx(0.1))
    row = PairSample.objects.get(attempt=first.attempt)
    assert (row.resource, row.slowdown, row.alone_s) == ("node", pytest.approx(4.0), pytest.approx(0.1))
    third = Pod(opened(job(cast.project_a, cast.bob, name="c", hyperparameters={"width": 6}), ("n0", (1,))))
    third.trains(1, step_s=0.1)
    first.trains(4, step_s=0.4)
    sample.refresh_from_db()
    assert sample.step_s == pytest.approx(0.1)


def test_with_several_others_no_one_is_blamed(cast: Cast) -> None:
    pods = [
        Pod(opened(job(cast.project_a, cast.bob, name=f"j{i}", hyperparameters={"width": i + 1}), ("n0", (i,))))
        for i in range(3)
    ]
    for _ in range(3):
        for pod in pods:
            pod.trains(2, step_s=0.2)
    assert not PairSample.objects.exists()
    assert all(SpeedSample.objects.values_list("is_shared", flat=True))


@pytest.mark.parametrize(
    ("mine", "theirs", "resource"),
    [
        ([("n0", (0,))], [("n0", (0,))], "gpu"),
        ([("n0", (0,))], [("n0", (1,))], "node"),
        ([("n0", (0,)), ("n1", (0,))], [("n0", (1,))], "node"),
        ([("n0", (0,)), ("n1", (0,))], [("n1", (1,)), ("n3", (0,))], "nic"),
        ([("n0", (0,)), ("n2", (0,))], [("n3", (1,)), ("n4", (0,))], "uplink"),
        ([("n0", (0,)), ("n1", (0,))], [("n3", (1,)), ("n4", (0,))], None),
        ([("n0", (0,))], [("n1", (0,))], None),
    ],
)
def test_the_tightest_resource_that_two_gangs_share_counts(
    cast: Cast, mine: list[Any], theirs: list[Any], resource: str | None
) -> None:
    first = opened(job(cast.project_a, cast.bob, name="a"), *mine)
    second = opened(job(cast.project_a, cast.bob, name="b"), *theirs)
    assert colocation_of(first).resource == resource
    assert colocation_of(first).attempts == ((second.id,) if resource else ())
    end(second)
    assert colocation_of(first).resource is None
