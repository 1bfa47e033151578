# SPDX-License-Identifier: Apache-2.0
"""Sharing under the default policy: only where it helps those who wait, and only what is known to gain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scheduler import JobSnapshot, PairObservation, Plan, Profile, decide, policy_named
from scheduler.models.interference.colocated_speeds import ColocatedSpeeds
from tests.scheduler.cases import cluster, job, kinds

LOADS = Profile(cpu_io_s=0.09, gpu_s=0.01, network_s=0.0)
COMPUTES = Profile(cpu_io_s=0.01, gpu_s=0.08, network_s=0.01)


def sharer(id: str, profile: Profile | None = LOADS, **more: Any) -> JobSnapshot:
    return job(id, **({"gpus": 1, "profile": profile, "length_s": 1000.0, "family": id} | more))


def decided(*jobs: JobSnapshot, pairs: tuple[PairObservation, ...] = (), gpus: int = 1) -> Plan:
    snapshot = replace(cluster(gpus=gpus, max_jobs_per_gpu=2).waiting(*jobs).snapshot, pairs=pairs)
    return decide(snapshot, policy=policy_named("mlhub", {}), memory=cluster().memory)


def test_those_that_need_different_things_share_when_gpus_are_few() -> None:
    plan = decided(sharer("a"), sharer("b", COMPUTES))
    assert kinds(plan) == {"a": "Launch", "b": "Launch"}
    assert "together they do 1.53 times the work" in plan.of("a").explanations[0].sentence


def test_no_jobs_share_while_there_are_gpus_for_all() -> None:
    plan = decided(sharer("a"), sharer("b", COMPUTES), gpus=2)
    assert plan.of("a").allocation.shares != plan.of("b").allocation.shares


def test_those_that_would_be_in_each_others_way_do_not_share() -> None:
    only_computes = Profile(cpu_io_s=0.0, gpu_s=0.1, network_s=0.0)
    assert sorted(kinds(decided(sharer("a", only_computes), sharer("b", only_computes))).values()) == ["Launch", "Wait"]


def test_what_was_never_profiled_does_not_share() -> None:
    assert sorted(kinds(decided(sharer("a"), sharer("b", None))).values()) == ["Launch", "Wait"]


@pytest.mark.parametrize(("norm", "expected"), [(0.9, ["Launch", "Launch"]), (0.4, ["Launch", "Wait"])])
def test_what_was_measured_counts_where_stages_are_not_known(norm: float, expected: list[str]) -> None:
    jobs = sharer("a", Profile()), sharer("b", Profile())
    assert sorted(kinds(decided(*jobs, pairs=(PairObservation("b", "a", norm, norm),))).values()) == expected


def test_three_jobs_without_stages_have_no_predicted_speeds() -> None:
    jobs = [sharer(id, Profile()) for id in "abc"]
    colocated = ColocatedSpeeds([PairObservation("a", "b", 0.9, 0.7)])
    assert colocated.norms(jobs, alone_s=[0.1] * 3) is None
    assert colocated.norms(jobs[:2], alone_s=[0.1] * 2) == (0.9, 0.7)
    assert colocated.norms(jobs[1::-1], alone_s=[0.1] * 2) == (0.7, 0.9)


def test_what_is_not_known_of_a_pair_is_tried_by_those_who_train_for_long() -> None:
    """After eight bad pairs a ninth is predicted to be bad; a try of a minute costs days of training almost nothing."""
    bad = tuple(PairObservation(f"f{i}", f"f{i + 1}", 0.4, 0.4) for i in range(0, 16, 2))
    short = (replace(sharer(i, Profile()), family=f"f{n}", steps_total=3000) for i, n in (("a", 0), ("b", 3)))
    long = (replace(sharer(i, Profile()), family=f"f{n}", steps_total=3_000_000) for i, n in (("a", 0), ("b", 3)))
    assert sorted(kinds(decided(*short, pairs=bad)).values()) == ["Launch", "Wait"]
    model = ColocatedSpeeds(bad)
    cautious = model.norms(jobs := tuple(long), alone_s=[0.1, 0.1])
    bold = model.norms(jobs, alone_s=[0.1, 0.1], sds=1.0)
    assert cautious is not None
    assert bold is not None
    assert sum(cautious) < sum(bold)


def test_no_jobs_share_where_the_policy_is_configured_not_to() -> None:
    snapshot = cluster(gpus=1, max_jobs_per_gpu=2).waiting(sharer("a"), sharer("b", COMPUTES)).snapshot
    plan = decide(snapshot, policy=policy_named("mlhub", {"shares": False}), memory=cluster().memory)
    assert sorted(kinds(plan).values()) == ["Launch", "Wait"]
