# SPDX-License-Identifier: Apache-2.0
"""What groups on the same GPUs are worth: progress, and the restarts that are saved by leaving things as they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import JobSnapshot, PairObservation, Profile
from scheduler.models.interference.colocated_speeds import ColocatedSpeeds
from scheduler.models.progress import remaining_s
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.policies.mlhub.group_values import CHARGED, GroupValues
from scheduler.policies.toolkit.policy import View
from tests.scheduler.cases import Case, cluster, job, kinds

LOSE = (PairObservation("one", "other", 0.3, 0.3),)
GAIN = (PairObservation("one", "other", 0.9, 0.8),)


def sharer(id: str, family: str, *, length_s: float, start_s: float = 15.0) -> JobSnapshot:
    return job(id, gpus=1, length_s=length_s, start_s=start_s, family=family, profile=Profile())


def room(n_gpus: int = 1, pairs: tuple[PairObservation, ...] = LOSE) -> Case:
    return replace(cluster(gpus=n_gpus, max_jobs_per_gpu=2), pairs=pairs)


def groups(case: Case) -> GroupValues:
    speeds = JobSpeeds(case.nodes, case.racks)
    view = View(case.now_s, case.jobs, case.tenants, speeds, pairs=case.pairs, max_jobs_per_gpu=2)
    sizes = {one.id: 1 for one in case.jobs}
    return GroupValues(
        view,
        ColocatedSpeeds(case.pairs),
        jobs=case.jobs,
        left_s=lambda one, n: remaining_s(one, step_s=speeds.step_s(one, n)),
        sizes=sizes,
    )


@pytest.mark.parametrize(
    ("start_s", "comes_s", "expected"),
    [(15.0, 990.0, {"a": "Keep", "b": "Wait"}), (0.0, 990.0, {"a": "Preempt", "b": "Wait"}),
     (15.0, 300.0, {"a": "Preempt", "b": "Wait"})],
)  # fmt: skip
def test_a_job_gives_way_only_if_that_gains_more_than_its_restart(
    start_s: float, comes_s: float, expected: dict[str, str]
) -> None:
    case = room().running(sharer("a", "one", length_s=1000.0, start_s=start_s))
    assert kinds(case.waiting(sharer("b", "other", length_s=comes_s, start_s=start_s)).decide("mlhub")) == expected


def test_a_job_that_is_about_to_end_is_not_stopped_for_a_shorter_one() -> None:
    case = room().running(sharer("a", "one", length_s=20.0)).waiting(sharer("b", "other", length_s=10.0))
    assert kinds(case.decide("mlhub")) == {"a": "Keep", "b": "Wait"}


def test_two_are_worth_more_where_they_are_than_if_one_had_to_move() -> None:
    case = room(2, GAIN).running(sharer("a", "one", length_s=900.0), sharer("b", "other", length_s=900.0))
    a, b = case.jobs
    there = groups(replace(case, jobs=(a, replace(b, allocation=a.allocation))))
    separate = groups(case)
    together, moved = there.unit(there.view.jobs, 1), separate.unit(separate.view.jobs, 1)
    assert together.value - moved.value == pytest.approx(there.saved["b"])
    assert there.saved["b"] == pytest.approx(there.weights["b"] * 15 * CHARGED / (900 + 15 * CHARGED))


def test_all_pairs_at_once_are_worth_what_each_is() -> None:
    case = room(3, GAIN).running(sharer("a", "one", length_s=900.0), sharer("b", "other", length_s=500.0))
    case = case.waiting(sharer("c", "one", length_s=700.0), sharer("d", "other", length_s=100.0))
    found = groups(case)
    value_JJ = found.values(case.jobs, 1)
    for i, one in enumerate(case.jobs):
        for j, other in enumerate(case.jobs[:i]):
            assert value_JJ[i, j] == value_JJ[j, i] == pytest.approx(found.unit((other, one), 1).value)
