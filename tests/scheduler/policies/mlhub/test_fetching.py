# SPDX-License-Identifier: Apache-2.0
"""Sizes and GPU types are chosen with the time that fetching inputs onto nodes without a copy of them takes."""

from __future__ import annotations

from dataclasses import replace

from scheduler import GangAllocation, Keep, Launch, Mode, NodeAllocation, Phase, Plan, Resize, SpeedObservation
from scheduler.api.plan import Reason
from scheduler.api.topology import InputSet
from scheduler.placement.input_fetching import FetchingBySize, InputFetching
from tests.scheduler.cases import Case, cluster, job, sizes

DATA, SIZE_BYTES = "project/data", 60 * 10**9  # 600 s at 0.8 Gbit/s


def holding(case: Case, *nodes: str) -> Case:
    """These nodes hold the inputs."""
    return replace(case, input_sets=(InputSet(DATA, SIZE_BYTES, tuple((node, SIZE_BYTES) for node in nodes)),))


def running_on_n0(length_s: float) -> Case:
    """A job that has trained on the first of two nodes for a while, and could use the other one, too."""
    long = job("a", length_s=length_s, max_workers=8, start_s=10.0, checkpoint_s=5.0, inputs=DATA)
    return cluster(nodes=2, gpus=4).running(long, n=4)


def test_a_job_does_not_grow_onto_a_cold_node_where_fetching_takes_what_it_gains() -> None:
    """4,000 s on one worker: 1,000 s on four, 500 s on eight."""
    case = running_on_n0(4000)
    assert isinstance(holding(case, "n0", "n1").decide("mlhub").of("a"), Resize)
    cold = holding(case, "n0").decide("mlhub").of("a")
    assert isinstance(cold, Keep)
    why = cold.explanations[0]
    assert why.reason is Reason.RESTART_NOT_WORTH_IT
    assert why.facts["cost_s"] == 615.0


def test_a_long_job_grows_onto_a_cold_node_all_the_same() -> None:
    assert sizes(holding(running_on_n0(400_000), "n0").decide("mlhub")) == {"a": 8}


def test_a_job_starts_on_the_nodes_that_hold_its_inputs_where_all_others_would_wait_for_it_to_fetch() -> None:
    """All of the gang's GPUs stand idle while one of its nodes fetches."""
    new = job("a", length_s=4000, max_workers=8, start_s=10.0, inputs=DATA)
    case = cluster(nodes=2, gpus=4).waiting(new)
    assert sizes(holding(case, "n0", "n1").decide("mlhub")) == {"a": 8}
    assert sizes(holding(case, "n1").decide("mlhub")) == {"a": 4}


def test_a_running_job_changes_its_gpu_type_only_where_that_pays_for_fetching_too() -> None:
    """Twice as fast on the other type: 900 s in place of 1,800 s, but 600 s of fetching, which counts twice."""
    case = cluster(nodes=2, gpus=1).with_node("n0", gpu_type="k80")
    slow = job("a", gpus=1, length_s=900, start_s=10.0, checkpoint_s=5.0, inputs=DATA)
    seen = [observed("k80", 0.2), observed("v100", 0.1)]
    place = GangAllocation(Mode.ALL_REDUCE, 1, 0, (NodeAllocation("n0", (0,)),))
    held = replace(slow, phase=Phase.RUNNING, allocation=place, allocated_at_s=0.0, observations=tuple(seen))
    case = replace(case, jobs=(held,))
    assert nodes_of(holding(case, "n0", "n1").decide("mlhub")) == {"n1"}
    assert isinstance(holding(case, "n0").decide("mlhub").of("a"), Keep)


def test_fetching_takes_as_long_as_the_warmest_free_nodes_of_the_size_need() -> None:
    """And as on any node where too few GPUs are free; what a gang holds, it keeps."""
    case = holding(cluster(nodes=3, gpus=2), "n1")
    fetching = FetchingBySize(InputFetching(case.snapshot), lambda: {"n0": 1, "n1": 2})
    new = job("new", inputs=DATA)
    assert fetching.seconds(new, (1, 2, 3, 4)) == [0.0, 0.0, 600.0, 400.0]
    assert fetching.seconds(job("other", inputs="unknown"), (1, 4)) == [0.0, 0.0]
    place = GangAllocation(Mode.ALL_REDUCE, 2, 0, (NodeAllocation("n1", (0, 1)),))
    held = replace(new, phase=Phase.RUNNING, allocation=place)
    assert fetching.seconds(held, (1, 2, 4, 5)) == [0.0, 0.0, 0.0, 600.0]
    assert fetching.seconds(held, (3,), stays=False) == [600.0]


def observed(gpu_type: str, step_s: float) -> SpeedObservation:
    return SpeedObservation(Mode.ALL_REDUCE, 1, 0, 1, 1, gpu_type, 100, step_s, step_s, 0.0, 500)


def nodes_of(plan: Plan) -> set[str]:
    decision = plan.of("a")
    assert isinstance(decision, Launch | Resize)
    return {share.node for share in decision.allocation.shares}
