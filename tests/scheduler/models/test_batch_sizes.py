# SPDX-License-Identifier: Apache-2.0
"""The round chooses a batch for the size: by goodput, in steps of two, within memory, and it says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import (
    ClusterSnapshot,
    JobSnapshot,
    Mode,
    NodeSnapshot,
    RackSnapshot,
    RoundMemory,
    SpeedObservation,
    decide,
    policy_named,
)
from scheduler.api.plan import BatchChoice, Plan, Reason
from scheduler.api.records import plan_from_json, plan_to_json, snapshot_from_json, snapshot_to_json
from scheduler.api.snapshot import GangAllocation, NodeAllocation, Phase, TenantSnapshot
from scheduler.models.speed.job_speeds import JobSpeeds

NODES = (NodeSnapshot("n0", "r0", "v100", 1, 64.0, 1 << 38, 10e9),)
RACKS = (RackSnapshot("r0", 20e9),)
ALICE = (TenantSnapshot("alice"),)
HELD = GangAllocation(Mode.ALL_REDUCE, 1, 0, (NodeAllocation("n0", (0,)),))
# a step costs half a second whatever its batch, so that larger batches are nearly free
JOB = JobSnapshot(
    "a", "alice", 0.0, 10_000, 128, family="f", max_workers=1, mode=Mode.ALL_REDUCE, example_s=1e-5,
    step_overhead_s=0.5, max_batch_size=1024, noise_scale=900.0, phase=Phase.RUNNING, allocation=HELD,
    allocated_at_s=0.0, training_since_s=10.0, counts_examples=True,
)  # fmt: skip


def plan_of(job: JobSnapshot) -> Plan:
    snapshot = ClusterSnapshot(1000.0, NODES, RACKS, (job,), ALICE, seed=1)
    return decide(snapshot, policy=policy_named("mlhub", {}), memory=RoundMemory())


def sizes_over_rounds(job: JobSnapshot, n: int) -> list[int]:
    """The trainer follows each choice before the next round."""
    found = []
    for _ in range(n):
        chosen = plan_of(job).batches[job.id].batch_size
        job = replace(job, used_batch_size=chosen)
        found.append(chosen)
    return found


def test_a_noisy_gradient_doubles_the_batch_and_the_plan_says_why() -> None:
    plan = plan_of(JOB)
    assert plan.batches == {"a": BatchChoice(256, 900.0)}
    (why,) = [e for e in plan.of("a").explanations if e.reason is Reason.BATCH_SIZE_CHANGES]
    assert why.sentence.startswith("Batch size 128 -> 256: with a gradient noise scale of 900 examples")
    # twice the examples in about the same time, each worth (900 + 128) / (900 + 256)
    assert why.facts["times"] == pytest.approx(2 * 1028 / 1156, rel=0.01)


def test_it_grows_to_the_largest_that_the_user_allows_and_stays_there() -> None:
    assert sizes_over_rounds(JOB, 6) == [256, 512, 1024, 1024, 1024, 1024]
    assert sizes_over_rounds(replace(JOB, max_batch_size=1000), 4)[-1] == 512, "only multiples of the declared batch"


@pytest.mark.parametrize("noise_scale", [None, 0.0])
def test_an_unknown_noise_scale_changes_nothing_and_a_grown_batch_is_kept(noise_scale: float | None) -> None:
    assert plan_of(replace(JOB, noise_scale=noise_scale)).batches["a"].batch_size == 128
    grown = replace(JOB, noise_scale=noise_scale, used_batch_size=512)
    assert plan_of(grown).batches["a"].batch_size == 512


def test_a_gradient_without_noise_returns_to_the_declared_batch() -> None:
    assert sizes_over_rounds(replace(JOB, noise_scale=1.0, used_batch_size=1024, step_overhead_s=1e-4), 3)[-1] == 128


def test_an_absurd_noise_scale_grows_the_batch_by_two_at_most() -> None:
    assert plan_of(replace(JOB, noise_scale=1e12, max_batch_size=10**9)).batches["a"].batch_size == 256


def test_a_batch_beyond_memory_is_priced_by_its_passes() -> None:
    """On two passes of half a second each twice the batch gains nothing."""
    assert plan_of(replace(JOB, max_local_batch=128)).batches["a"].batch_size == 128


def test_a_fixed_batch_has_no_choice() -> None:
    assert plan_of(replace(JOB, max_batch_size=None)).batches == {}


def test_a_waiting_job_is_launched_with_the_batch_that_it_had() -> None:
    waiting = replace(JOB, phase=Phase.WAITING, allocation=None, noise_scale=None, used_batch_size=512)
    assert plan_of(waiting).batches == {"a": BatchChoice(512)}


def test_where_all_examples_are_seen_anyway_a_job_ends_as_its_batches_do() -> None:
    speeds = JobSpeeds(NODES, RACKS)
    worth, seen = (speeds.step_s_on(replace(JOB, counts_examples=c), HELD) for c in (False, True))
    best = speeds.best_batch(JOB, HELD)[0]
    assert seen < worth, "a grown batch sees as many examples, though each is worth less"
    assert best > 128


def test_measured_steps_of_grown_batches_correct_the_choice() -> None:
    def seen(batch: int, step_s: float) -> SpeedObservation:
        return SpeedObservation(Mode.ALL_REDUCE, 1, 0, 1, 1, "v100", batch, step_s, step_s, 0.0, n_steps=200)

    slow = replace(JOB, observations=(seen(128, 0.5), seen(256, 1.2)), used_batch_size=256)
    assert plan_of(slow).batches["a"].batch_size == 128


def test_records_keep_batches_and_what_they_follow_from() -> None:
    snapshot = ClusterSnapshot(1000.0, NODES, RACKS, (replace(JOB, used_batch_size=256),), ALICE, seed=1)
    assert snapshot_from_json(snapshot_to_json(snapshot)).jobs == snapshot.jobs
    plan = plan_of(JOB)
    assert plan_from_json(plan_to_json(plan)).batches == plan.batches
