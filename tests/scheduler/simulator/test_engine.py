# SPDX-License-Identifier: Apache-2.0
"""The simulator on traces small enough to be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from scheduler import POLICIES, policy_named
from scheduler.api.snapshot import JobSnapshot
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.environments.environment import Segment, SimulatedGang
from scheduler.simulator.reports.summary import summary
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob


def environment(*jobs: TraceJob, gpus: int = 4, start_s: float = 0.0, stop_s: float = 0.0) -> CountingEnvironment:
    return CountingEnvironment(
        Trace("case", "mlhub", jobs), uniform_cluster(n_nodes=1, n_gpus=gpus), start_s=start_s, stop_s=stop_s
    )


def jcts(environment: CountingEnvironment, policy: str) -> dict[str, float]:
    return summary(simulate(environment, policy=policy_named(policy, {})), nodes=environment.nodes)["jct_s"]


def test_under_fifo_the_second_waits_for_the_first() -> None:
    assert jcts(environment(TraceJob("a", 0, 4, 100), TraceJob("b", 10, 4, 50)), "fifo") == {"a": 100, "b": 140}


def test_under_srtf_the_shorter_preempts_and_the_longer_loses_no_work() -> None:
    assert jcts(environment(TraceJob("a", 0, 4, 100), TraceJob("b", 10, 4, 50)), "srtf") == {"a": 150, "b": 50}


def test_starts_and_stops_cost_what_the_environment_says() -> None:
    """a trains from 5; at 10 b comes: a leaves by 12, b trains from 17 to 27; a trains again from 32, 95 s more."""
    found = jcts(environment(TraceJob("a", 0, 4, 100), TraceJob("b", 10, 4, 10), start_s=5, stop_s=2), "srtf")
    assert found == {"a": pytest.approx(27 + 5 + 95), "b": pytest.approx(17)}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_job_completes_and_the_work_is_conserved(policy: str) -> None:
    jobs = [TraceJob(f"j{i}", 7.0 * i, 1 + i % 4, 30.0 + 11 * (i % 5)) for i in range(40)]
    the_environment = environment(*jobs)
    outcome = simulate(the_environment, policy=policy_named(policy, {}))
    figures = summary(outcome, nodes=the_environment.nodes)
    assert figures["n_completed"] == figures["n_submitted"] == 40
    held = sum((to - since) * a.n_workers for history in outcome.histories.values() for since, to, a in history.spans)
    assert held == pytest.approx(sum(job.n_gpus * job.duration_s for job in jobs))


def test_rounds_of_a_period_see_things_at_its_multiples() -> None:
    the_environment = environment(TraceJob("a", 10, 4, 100))
    outcome = simulate(the_environment, policy=policy_named("fifo", {}), period_s=60.0)
    assert outcome.histories["a"].started_at_s == 60
    assert outcome.histories["a"].ended_at_s == 160


def test_a_job_that_can_never_run_is_an_error_and_not_a_silence() -> None:
    with pytest.raises(RuntimeError, match="1 job never run, among them 'big'"):
        jcts(environment(TraceJob("big", 0, 5, 10), TraceJob("a", 0, 1, 10)), "fifo")


def test_an_elastic_job_uses_what_is_idle_and_makes_room_again() -> None:
    """Alone on 4 GPUs a job of 400 s at one GPU is done in 100 s."""
    elastic = TraceJob("a", 0, 1, 400, min_gpus=1, max_gpus=4)
    assert jcts(environment(elastic), "mlhub") == {"a": pytest.approx(100)}
    both = jcts(environment(elastic, TraceJob("b", 50, 2, 10)), "mlhub")
    assert both["b"] < 60


class _LateWorld(CountingEnvironment):
    """Every segment ends just after its end, as where times are rounded down."""

    interrupted = 0

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        return super().segment(gang, others)._replace(is_late=True)

    def advance(self, job_id: str, segment: Segment, *, elapsed_s: float) -> None:
        self.interrupted += elapsed_s < segment.seconds
        super().advance(job_id, segment, elapsed_s=elapsed_s)


def test_a_leg_that_ends_late_has_not_ended_for_who_is_preempted_at_its_end() -> None:
    """a would end at 100, when b comes and takes its GPUs: that counts as an interruption, not as an end."""
    jobs = (TraceJob("a", 0, 4, 100), TraceJob("b", 100, 4, 10, priority=1))
    the_environment = _LateWorld(Trace("case", "mlhub", jobs), uniform_cluster(n_nodes=1, n_gpus=4))
    found = jcts(the_environment, "priority")
    assert the_environment.interrupted == 1
    assert found == {"a": pytest.approx(110), "b": pytest.approx(10)}


def test_who_waits_is_the_same_object_in_every_round_and_who_runs_is_seen_where_it_stands() -> None:
    seen: list[dict[str, JobSnapshot]] = []
    the_environment = environment(TraceJob("a", 0, 4, 100), TraceJob("b", 10, 4, 50), TraceJob("c", 30, 4, 20))
    simulate(
        the_environment,
        policy=policy_named("fifo", {}),
        on_round=lambda snapshot, _: seen.append({job.id: job for job in snapshot.jobs}),
    )
    first, second = [jobs for jobs in seen if {"a", "b"} <= set(jobs)]
    assert first["b"] is second["b"]
    assert (first["a"].steps_done, second["a"].steps_done) == (10, 30)
    assert (first["a"].executed_gpu_s, second["a"].executed_gpu_s) == (40, 120)
    assert all(list(jobs) == sorted(jobs) for jobs in seen)


def test_who_runs_is_the_same_object_in_rounds_of_one_instant_unless_something_happened_to_it() -> None:
    """At 10 c comes: b leaves at once, which is why another round follows, in which a is as it was."""
    seen: list[tuple[float, dict[str, JobSnapshot]]] = []
    jobs = (TraceJob("a", 0, 2, 30), TraceJob("b", 0, 2, 100), TraceJob("c", 10, 2, 5))
    simulate(
        environment(*jobs),
        policy=policy_named("srtf", {}),
        on_round=lambda snapshot, _: seen.append((snapshot.now_s, {job.id: job for job in snapshot.jobs})),
    )
    first, second = [jobs for now_s, jobs in seen if now_s == 10][:2]
    assert first["a"] is second["a"]
    assert first["a"].steps_done > 0
    assert (first["b"].phase, second["b"].phase) == ("running", "waiting")
    later = next(jobs for now_s, jobs in seen if now_s > 10)
    assert later["a"].steps_done > second["a"].steps_done
