# SPDX-License-Identifier: Apache-2.0
"""What is left of jobs of unknown length, learned from those that ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import RoundMemory, decide, policy_named
from scheduler.models.job_length import JobLengthModel
from tests.scheduler.cases import cluster, job


def lengths_of(*ended: tuple[str, float], here: tuple[tuple[str, float], ...] = ()) -> JobLengthModel:
    lengths = JobLengthModel({"ended": list(ended)})
    lengths.see({f"here-{i}": (family, work, 0.0) for i, (family, work) in enumerate(here)}, now_s=0.0)
    return lengths


def test_where_nothing_was_learned_as_much_is_left_as_was_done() -> None:
    lengths = lengths_of()
    for done_gpu_s in (100.0, 10_000.0):
        assert lengths.left_gpu_s("f", done_gpu_s) == pytest.approx(done_gpu_s, rel=0.25)


def test_before_a_length_that_many_have_less_is_left_the_more_was_done() -> None:
    """Half are short, the others take about a million: who is past the short ones had better be left to end."""
    lengths = lengths_of(*[("f", 100.0 + i) for i in range(50)], *[("f", 1e6 + 1000 * i) for i in range(50)])
    middle, late = lengths.left_gpu_s("f", 50_000.0), lengths.left_gpu_s("f", 700_000.0)
    assert lengths.left_gpu_s("f", 50.0) < late < middle
    assert 0.5e6 < middle < 2e6


def test_families_differ_where_enough_of_them_ended() -> None:
    lengths = lengths_of(*[("short", 100.0)] * 50, *[("long", 100_000.0)] * 50)
    short, new, long = (lengths.left_gpu_s(family, 10.0) for family in ("short", "new", "long"))
    assert 90 < short < new < long
    assert long > 10 * short


def test_those_that_did_not_end_yet_count_as_longer() -> None:
    ended = [("f", 1000.0)] * 20
    with_others = lengths_of(*ended, here=tuple([("f", 50_000.0)] * 60))
    assert with_others.left_gpu_s("f", 10.0) > 2 * lengths_of(*ended).left_gpu_s("f", 10.0)


def test_who_is_gone_ended_where_it_would_have_come_to() -> None:
    lengths = JobLengthModel({})
    lengths.see({"a": ("f", 500.0, 8.0)}, now_s=100.0)
    lengths.see({}, now_s=150.0)
    assert lengths.to_json() == {"open": {}, "ended": [["f", 900.0]]}
    again = JobLengthModel(lengths.to_json())
    assert again.left_gpu_s("f", 10.0) == lengths.left_gpu_s("f", 10.0)


def test_cancelled_jobs_count_as_longer_than_they_came_not_as_ended() -> None:
    """Of sixty who came to 50,000 and were cancelled there, none is known to end there."""
    jobs = {f"j{i}": ("f", 50_000.0, 8.0) for i in range(60)}
    lengths, wrong = lengths_of(*[("f", 1000.0)] * 20), lengths_of(*[("f", 1000.0)] * 20)
    for one, withdrawn in ((lengths, list(jobs)), (wrong, [])):
        one.see(jobs, now_s=0.0)
        one.see({}, withdrawn=withdrawn, now_s=0.0)
    assert lengths.left_gpu_s("f", 40_000.0) > 2 * wrong.left_gpu_s("f", 40_000.0)
    again = JobLengthModel(lengths.to_json())
    assert again.left_gpu_s("f", 40_000.0) == lengths.left_gpu_s("f", 40_000.0)
    assert len(again.to_json()["ended"]) == 20


def test_a_round_knows_of_those_that_were_cancelled() -> None:
    unknown = [job(i, length_is_known=False, gpus=1, family="f") for i in "abc"]
    case = cluster(gpus=3).running(*[replace(one, steps_done=9_000.0) for one in unknown])
    policy = policy_named("srtf", {})
    plan = decide(case.snapshot, policy=policy, memory=RoundMemory())
    later = replace(case.snapshot, now_s=case.snapshot.now_s + 10, jobs=case.snapshot.jobs[2:], withdrawn=("a",))
    values = decide(later, policy=policy, memory=plan.memory).memory
    assert [len(values.job_lengths[key]) for key in ("ended", "cut_short", "open")] == [1, 1, 1]
    ended = values.prediction_intervals["first_running"]["ended"]
    assert sorted(did_end for _, _, did_end, *_ in ended) == [0.0, 1.0]


def test_a_round_learns_from_jobs_that_are_gone() -> None:
    """Two of a hundred steps of a GPU-second each ended; the third, at 90 steps, is taken for nearly done."""
    unknown = [job(i, length_is_known=False, gpus=1, family="f") for i in "abc"]
    case = cluster(gpus=3)
    for one in unknown:
        case = case.running(replace(one, steps_done=90.0))
    policy = policy_named("srtf", {})
    plan = decide(case.snapshot, policy=policy, memory=RoundMemory())
    later = replace(case.snapshot, now_s=case.snapshot.now_s + 10, jobs=case.snapshot.jobs[2:])
    memory = decide(later, policy=policy, memory=plan.memory).memory
    assert len(memory.job_lengths["ended"]) == 2
    assert list(memory.job_lengths["open"]) == ["c"]


def test_a_job_whose_steps_nobody_knows_the_time_of_counts_by_what_it_has_held() -> None:
    """A script that reports no time of its steps: of its hour as much is left, not a second."""
    script = job("a", length_is_known=False, gpus=1, step_overhead_s=0.0, example_s=None, steps_total=0)
    case = cluster(gpus=1).running(replace(script, executed_gpu_s=3600.0, steps_done=3.0))
    plan = decide(case.snapshot, policy=policy_named("mlhub", {}), memory=RoundMemory())
    assert plan.memory.job_lengths["open"]["a"][1] == 3600.0
    (decision,) = plan.decisions
    finish = decision.prediction.finish_p50_s
    assert finish is not None
    assert finish - case.snapshot.now_s > 1800


def test_the_end_of_a_job_of_which_nothing_is_known_is_not_predicted() -> None:
    """Neither what it has trained nor the end of another job says how long it is."""
    script = job("a", length_is_known=False, gpus=1, step_overhead_s=0.0, example_s=None, steps_total=0)
    case = cluster(gpus=2).running(replace(script, executed_gpu_s=10.0, steps_done=3.0))
    plan = decide(case.snapshot, policy=policy_named("mlhub", {}), memory=RoundMemory())
    assert plan.decisions[0].prediction.finish_p50_s is None
    memory = replace(plan.memory, job_lengths={**plan.memory.job_lengths, "ended": [["other", 500.0]]})
    again = decide(case.snapshot, policy=policy_named("mlhub", {}), memory=memory)
    assert again.decisions[0].prediction.finish_p50_s is not None
