# SPDX-License-Identifier: Apache-2.0
"""DL2: the network's shapes, what it may do, and that training was worth it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from scheduler.policies.dl2.network import N_FEATURES, SHAPES, checked, logits, trained
from scheduler.policies.dl2.policy import Dl2, next_size, sizes_of
from scheduler.policies.toolkit.policy import Policy
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.reports.summary import summary
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob
from tests.scheduler.cases import cluster, job, kinds, sizes


@dataclass(frozen=True)
class Drawn(Dl2):
    """Whatever is allowed, by lot."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(4))

    def act(self, features_JF: np.ndarray, mask: np.ndarray, scores: np.ndarray) -> int:
        return int(self.rng.choice(np.nonzero(mask == 0)[0]))


def average_s(policy: Policy) -> float:
    rng = np.random.default_rng(11)
    jobs = tuple(
        TraceJob(f"j{i}", 60.0 * i, 1, float(np.exp(rng.normal(8, 1.2))), min_gpus=1, max_gpus=8) for i in range(24)
    )
    environment = CountingEnvironment(Trace("small", "mlhub", jobs), uniform_cluster(n_nodes=2, n_gpus=4))
    return float(summary(simulate(environment, policy=policy), nodes=environment.nodes)["avg_jct_s"])


def test_the_trained_network_beats_drawing_by_lot() -> None:
    assert average_s(Dl2()) < average_s(Drawn())


def test_the_network_scores_any_number_of_jobs_and_does_not_mind_their_order() -> None:
    features = np.random.default_rng(2).random((5, N_FEATURES))
    scores = logits(features, trained())
    assert scores.shape == (6,)
    assert logits(features[::-1], trained())[:5] == pytest.approx(scores[:5][::-1])
    assert logits(features[:1], trained()).shape == (2,)


def test_weights_of_a_wrong_shape_are_refused_by_name() -> None:
    weights = {name: np.zeros(shape) for name, shape in SHAPES.items()} | {"mixed_b": np.zeros(3)}
    with pytest.raises(ValueError, match=r"'mixed_b' must have shape \(32,\), not \(3,\)"):
        checked(weights)


def test_sizes_double_from_the_least_to_the_most() -> None:
    one = job("a", min_workers=3, max_workers=20)
    assert sizes_of(one) == (3, 6, 12, 20)
    assert [next_size(one, n) for n in (0, 3, 12, 20)] == [3, 6, 20, 20]


def test_it_may_not_stop_while_a_job_waits_that_fits() -> None:
    assert len(sizes(cluster(gpus=4).waiting(*(job(f"j{i}") for i in range(4))).decide("dl2"))) == 4


def test_inside_a_slot_those_that_run_stay_as_they_are() -> None:
    case = cluster(gpus=4).waiting(job("a", length_s=9e4, max_workers=2))
    plan = case.decide("dl2")
    case = case.after(plan, seconds=60.0).waiting(job("b", gpus=4, length_s=1.0), job("c", gpus=1))
    inside = case.decide("dl2")
    assert kinds(inside) == {"a": "Keep", "b": "Wait", "c": "Launch"}
    assert inside.wake_at_s == plan.wake_at_s == 2200.0
