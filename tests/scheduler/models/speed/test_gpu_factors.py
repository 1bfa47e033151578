# SPDX-License-Identifier: Apache-2.0
"""GPU types: what families show of them, and what is predicted of a type that a job never ran on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from numpy.typing import NDArray

from scheduler import JobSnapshot, Mode, SpeedObservation
from scheduler.models.speed import step_time_cache
from scheduler.models.speed.gpu_factors import NO_FACTORS, learn_gpu_factors
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.models.speed.model import SpeedModel
from scheduler.models.speed.step_time_cache import StepTimeCache, speed_model
from tests.scheduler.cases import cluster, job

RESIDUAL, DRY_RUN_SPREAD, RIDGE = 0.25, 0.4, (0.25 / 0.8) ** 2  # of gpu_factors.py
MIXED = cluster(nodes=3, gpus=4).with_node("n0", gpu_type="k80").with_node("n1", gpu_type="p100")


def seen(gpu_type: str, step_s: float, *, n_workers: int = 1, batch: int = 100) -> SpeedObservation:
    return SpeedObservation(Mode.ALL_REDUCE, n_workers, 0, 1, 1, gpu_type, batch, step_s, step_s, 0.0, 100)


def family(name: str, *observations: SpeedObservation, **more: Any) -> JobSnapshot:
    return job(name, **({"family": name, "example_s": 0.001, "observations": observations} | more))


def speeds_of(*jobs: JobSnapshot) -> JobSpeeds:
    return JobSpeeds(MIXED.nodes, MIXED.racks, jobs=jobs)


def test_factors_are_learnt_from_families_that_ran_on_several_types() -> None:
    levels = [{"v100": math.log(a), "k80": math.log(5 * a)} for a in (0.1, 1.0, 7.0)]
    factors = learn_gpu_factors([*levels, {"v100": 3.0}])
    assert factors.ratio("k80", "v100") == pytest.approx(5.0, rel=0.1)
    assert learn_gpu_factors([{"v100": 3.0}]) == NO_FACTORS


def test_a_type_that_a_family_never_ran_on_is_predicted_from_others_with_an_error() -> None:
    others = [family(f"f{i}", seen("v100", 0.1 * i), seen("k80", 0.5 * i)) for i in range(1, 6)]
    new = family("new", seen("v100", 0.2))
    speeds = speeds_of(*others, new)
    assert speeds.step_s(new, 1, gpu_type="v100") == pytest.approx(0.2)
    assert speeds.step_s(new, 1, gpu_type="k80") == pytest.approx(1.0, rel=0.15)
    assert speeds.best_step_s(new, 1, gpu_type="k80") > 1.1 * speeds.step_s(new, 1, gpu_type="k80")
    assert 0.2 < speeds.step_s(new, 1, gpu_type="p100") < 1.0  # no family ran there: between the others


def test_the_error_is_larger_where_families_differ_more() -> None:
    alike = learn_gpu_factors([{"a": 0.0, "b": 1.0}] * 8)
    differ = learn_gpu_factors([{"a": 0.0, "b": 1.0 + d} for d in (-0.8, 0.8) * 4])
    assert differ.error("b") > 2 * alike.error("b")
    assert alike.error("unknown") > differ.error("b")


def test_a_familys_own_measurements_outweigh_those_of_others() -> None:
    others = [family(f"f{i}", seen("v100", 0.1), seen("k80", 0.5)) for i in range(5)]
    own = family(
        "own", *(seen("v100", 0.1, n_workers=n) for n in (1, 2)), *(seen("k80", 0.11, n_workers=n) for n in (1, 2))
    )
    assert speeds_of(*others, own).step_s(own, 3, gpu_type="k80") < 0.2


def test_one_slow_type_does_not_make_the_fast_one_slow() -> None:
    """Both types were measured at one worker; more workers are predicted from the type's own line."""
    both = family("both", seen("v100", 0.1), seen("k80", 1.0))
    alone = replace(both, observations=(seen("v100", 0.1),))
    speeds = speeds_of(both)
    assert speeds.step_s(both, 4, gpu_type="v100") == pytest.approx(
        speeds_of(alone).step_s(alone, 4, gpu_type="v100"), rel=0.1
    )
    assert speeds.step_s(both, 4, gpu_type="k80") > 5 * speeds.step_s(both, 4, gpu_type="v100")


def test_on_a_cluster_of_one_type_families_teach_nothing_of_others() -> None:
    one = cluster(nodes=2, gpus=4)
    jobs = [family(f"f{i}", seen("v100", 0.1), seen("k80", 0.5)) for i in range(5)]
    assert JobSpeeds(one.nodes, one.racks, jobs=jobs).model(jobs[0]) is not None
    factors = JobSpeeds(one.nodes, one.racks, jobs=jobs).cluster.gpu_factors(jobs)
    assert factors.log_factors == NO_FACTORS.log_factors


def test_a_family_that_never_ran_is_as_much_slower_than_its_dry_run_as_others_are() -> None:
    """The dry run was made on another processor: here, the GPUs take five times as long, and k80 twice that."""
    others = [
        family(f"f{i}", seen("v100", 0.5 * i), seen("k80", 1.0 * i), example_s=0.001 * i) for i in range(1, 5)
    ]  # a pass over 100 examples took 0.1 * i in the dry run
    new = family("new", example_s=0.003)
    speeds = speeds_of(*others, new)
    assert speeds.step_s(new, 1, gpu_type="v100") == pytest.approx(1.5, rel=0.1)
    assert speeds.step_s(new, 1, gpu_type="k80") == pytest.approx(3.0, rel=0.1)
    without = family("script", example_s=None)
    assert speeds_of(*others, without).step_s(without, 1, gpu_type="v100") < 0.5  # it had no dry run to compare with


def test_on_a_cluster_of_one_type_dry_runs_are_corrected_too() -> None:
    one = cluster(nodes=2, gpus=4)
    jobs = [family("ran", seen("v100", 0.5)), family("new", example_s=0.003)]
    assert JobSpeeds(one.nodes, one.racks, jobs=jobs).step_s(jobs[1], 1) == pytest.approx(1.5, rel=0.1)


def test_families_on_one_type_each_tell_the_types_apart_by_their_dry_runs() -> None:
    """Passes take ten times the dry run on v100, and twenty times on k80; no family ran on both."""
    fast = [family(f"f{i}", seen("v100", 1.0 * i), example_s=0.001 * i) for i in range(1, 4)]
    slow = [family(f"s{i}", seen("k80", 2.0 * i), example_s=0.001 * i) for i in range(1, 4)]
    speeds = speeds_of(*fast, *slow)
    assert speeds.step_s(fast[0], 1, gpu_type="k80") == pytest.approx(2.0, rel=0.25)
    assert speeds.step_s(slow[0], 1, gpu_type="v100") == pytest.approx(1.0, rel=0.25)
    without = [replace(one, example_s=None, observations=one.observations) for one in (*fast, *slow)]
    assert speeds_of(*without).step_s(without[0], 1, gpu_type="k80") == pytest.approx(1.0, rel=0.05)


def test_a_family_is_not_fitted_anew_when_others_show_more_of_gpu_types(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[str] = []

    def counted(job: JobSnapshot, **more: Any) -> SpeedModel:
        fits.append(job.family)
        return speed_model(job, **more)

    monkeypatch.setattr(step_time_cache, "speed_model", counted)
    cache, own = StepTimeCache(), family("own", seen("v100", 0.1))
    times_s = []
    for n_others in range(4):
        others = [family(f"f{i}", seen("v100", 0.1), seen("k80", 0.5)) for i in range(n_others)]
        speeds = JobSpeeds(MIXED.nodes, MIXED.racks, cache=cache, jobs=[own, *others])
        times_s.append(speeds.step_s(own, 1, gpu_type="k80"))
    assert fits == ["own"]
    assert times_s == sorted(times_s)  # the more families ran there, the more is believed of it
    assert times_s[-1] > 4 * times_s[0]


def test_factors_are_those_of_least_squares_over_all_families() -> None:
    """Families that ran on two types, on three, and one with a dry run on one: written out term by term."""
    free, tried = [{"a": 0.1, "b": 0.9}, {"a": -0.2, "b": 0.7, "c": 1.1}], [{"c": 2.0}]
    factors = learn_gpu_factors([*free, *tried], tried)

    def loss(effects: NDArray[np.float64]) -> float:
        of, level = dict(zip("abc", effects, strict=False)), effects[3]
        total = RIDGE * float((effects[:3] ** 2).sum())
        for levels in free:
            rest = np.array([log - of[t] for t, log in levels.items()])
            total += float(((rest - rest.mean()) ** 2).sum())
        rest = 2.0 - of["c"] - level
        return total + float(rest**2 / (1 + (DRY_RUN_SPREAD / RESIDUAL) ** 2))

    best = scipy.optimize.minimize(loss, np.zeros(4), tol=1e-12).x
    assert [log for _, log in factors.log_factors] == pytest.approx(best[:3].tolist(), abs=0.026)
