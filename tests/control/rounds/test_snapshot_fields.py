# SPDX-License-Identifier: Apache-2.0
"""What a policy may use is in the live snapshot, measured or asked for; or it is named here, with a reason."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta

import pytest

from mlhub.backends.protocol import GpuStatus
from mlhub.clusters.cached_inputs import InputUse, record_input_use
from mlhub.clusters.models import Node
from mlhub.control.rounds.snapshots import take_snapshot, with_hypothetical
from mlhub.core.ids import new_id
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import JobState
from mlhub.metrics.models import PairSample, SpeedSample
from mlhub.registry.models import ModelVersion
from mlhub.tenants.actions.limits.user_quotas import limit_user
from mlhub.tenants.models import QuotaBoost
from scheduler.api.sharing_measurements import PairObservation, PairResource, Profile
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, SpeedObservation
from scheduler.api.topology import FETCH_BPS, InputSet, NodeSnapshot
from tests.cast import make_cast
from tests.control.worlds import GIB, World
from tests.experiments.training import trial_of
from tests.jobs.builders import live_attempt

pytestmark = pytest.mark.django_db

NOT_LIVE = {
    "JobSnapshot.likely_steps_left": "the round fills it in",
    "JobSnapshot.min_local_batch": "MLHub's trainer trains with any part of a batch from one example on",
}


@pytest.fixture
def world() -> World:
    return World(make_cast())


def measured(world: World, of: Job, **changes: object) -> SpeedSample:
    values = {
        "attempt": changes.get("attempt") or live_attempt(of),
        "family": family_of(of), "mode": "all_reduce", "n_workers": 1, "n_servers": 0, "n_nodes": 1, "n_racks": 1,
        "gpu_type": "cpu-slot", "batch_size": 32, "step_s": 0.3, "compute_s": 0.2, "sync_s": 0.06, "input_s": 0.04,
        "n_steps": 500, "updated_at": world.now,
    }  # fmt: skip
    return SpeedSample.objects.create(**{**values, **changes})


def pair(attempt: Attempt, family: str, other_family: str, slowdown: float) -> None:
    PairSample.objects.create(
        attempt=attempt, family=family, other_family=other_family, resource="node", gpu_type="cpu-slot",
        step_s=0.3 * slowdown, alone_s=0.3, slowdown=slowdown, n_steps=100, n_reports=20, at=attempt.created_at,
    )  # fmt: skip


def rich(world: World) -> tuple[Job, Job]:
    """A job that uses every setting, with everything measured, and another one on its node."""
    asked = {"gpu_types": ["cpu-slot"], "n_workers": 2, "n_servers": 2, "cpus": 1.5}
    grows = {"max_batch_size": 128}
    one = world.job(
        name="one", min_workers=2, max_workers=2, resources=asked, priority=3, mode="all_reduce", hyperparameters=grows
    )
    other = world.job(name="other", max_workers=1, hyperparameters={"width": 5})
    world.rounds(2)
    seen = {
        "noise_scale": 512.0, "gpu_memory_bytes": 60.0 * GIB, "gpu_utilisation": 0.8, "memory_bandwidth": 0.4,
        "cpus_used": 1.0,
    }  # fmt: skip
    first = measured(world, one, measured=seen, noise_curve=[[100, 256.0], [4000, 512.0]], is_shared=True)
    second = measured(world, other, batch_size=16, measured={"peak_memory_bytes": 2.0 * GIB})
    for sample, slowdown, partner in ((first, 1.6, second), (second, 1.25, first)):
        pair(sample.attempt, sample.family, partner.family, slowdown)
    return one, other


def cached(of: Job, node: str, *, fetch_s: float | None = None, sha256: str = "0" * 64) -> None:
    """The node holds the job's dataset, as builders have it."""
    use = InputUse(sha256, 10 * 2**20, fetch_s)
    DatasetVersion.objects.filter(pk=of.dataset_version_id).update(
        files=[{"name": "blobs.npz", "sha256": use.sha256, "size_bytes": use.size_bytes}]
    )
    record_input_use(node, project=of.project_id, uses=[use], now=of.submitted_at)


def snapshot(world: World) -> ClusterSnapshot:
    return take_snapshot(world.backend.inventory(), now=world.now + timedelta(seconds=1), round_number=5)


def with_memory(world: World, gpu_memory_bytes: int) -> None:
    """The world's GPUs have so much memory, also in the inventory of the round before."""
    nodes = [replace(one, gpu_memory_bytes=gpu_memory_bytes) for one in world.backend.nodes]
    world.backend.nodes = nodes
    Node.objects.update(gpu_memory_bytes=gpu_memory_bytes)


def by_name(found: ClusterSnapshot, name: str) -> JobSnapshot:
    return next(job for job in found.jobs if job.name == name)


def test_every_field_differs_from_its_default_or_is_named_with_a_reason(world: World) -> None:
    script = world.job(name="script", steps_total=0, not_before=world.now + timedelta(hours=1))
    package = ModelVersion.objects.create(model=script.model_version.model, number=2, kind="script")
    Job.objects.filter(pk=script.pk).update(model_version=package)
    limit_user(world.cast.a, world.cast.bob, max_gpus=100, actor=world.cast.alice)
    one, other = rich(world)
    later = world.now + timedelta(hours=1)
    QuotaBoost.objects.create(
        organisation=world.cast.a, extra_guarantee=1, starts_at=later, began_at=None, ends_at=later + timedelta(hours=1)
    )
    Job.objects.filter(pk=one.pk).update(steps_done=10)
    trial_of(other, study="sweep")
    began = world.now - timedelta(minutes=5)
    Attempt.objects.filter(job=one).update(training_at=began, created_at=began)
    stopped = {"mode": "all_reduce", "n_workers": 1, "token_hash": "x", "outcome": "stopped", "training_at": began}
    times = {"stop_asked_at": began, "ended_at": began + timedelta(seconds=9)}
    first = Attempt.objects.create(job=other, number=90, last_step=900, **stopped, **times)
    measured(world, one, attempt=first, batch_size=16, measured={"gpu_memory_bytes": 40.0 * GIB})
    second = Attempt.objects.create(job=other, number=91, first_step=100, **stopped, ended_at=began)
    pair(first, family_of(one), family_of(other), 1.6)
    pair(second, family_of(other), family_of(one), 1.25)
    with_memory(world, 80 * GIB)
    shared, closed = world.backend.nodes
    broken = GpuStatus(0, "GPU-1", "H200", 80 * GIB, 60 * GIB, problem="An ended process holds memory.")
    world.backend.nodes = [
        replace(shared, max_jobs_per_gpu=2, shares_within_project=True),
        replace(closed, is_schedulable=False, gpus=(broken,)),
    ]  # fmt: skip
    Node.objects.filter(name=shared.name).update(has_own_cache=True)
    cached(one, shared.name, fetch_s=2.0)
    gone = str(new_id())
    found = take_snapshot(world.backend.inventory(), now=world.now, round_number=5, remembered=[gone])
    held = by_name(found, "one")
    seen: dict[str, list[object]] = {
        "ClusterSnapshot": [found],
        "JobSnapshot": list(found.jobs),
        "SpeedObservation": list(held.observations),
        "Profile": [held.profile],
        "PairObservation": list(found.pairs),
        "NodeSnapshot": list(found.nodes),
        "InputSet": list(found.input_sets),
    }
    untouched = set()
    for kind in (ClusterSnapshot, JobSnapshot, SpeedObservation, Profile, PairObservation, NodeSnapshot, InputSet):
        for each in fields(kind):
            values = [getattr(value, each.name) for value in seen[kind.__name__]]
            if all(value == each.default for value in values):
                untouched.add(f"{kind.__name__}.{each.name}")
    assert untouched == set(NOT_LIVE)


def test_what_a_job_asks_for_is_what_a_policy_sees(world: World) -> None:
    rich(world)
    job = by_name(snapshot(world), "one")
    assert (job.gpu_types, job.requested_workers, job.requested_servers) == (("cpu-slot",), 2, 2)
    assert job.fixed_workers == 2


def test_a_script_has_no_known_length_until_it_reports_one(world: World) -> None:
    of = world.job(name="script", steps_total=0)
    package = ModelVersion.objects.create(model=of.model_version.model, number=2, kind="script")
    Job.objects.filter(pk=of.pk).update(model_version=package)
    assert not by_name(snapshot(world), "script").length_is_known
    Job.objects.filter(pk=of.pk).update(steps_total=500)
    assert by_name(snapshot(world), "script").length_is_known


def test_measured_memory_is_the_most_that_a_family_ever_held(world: World) -> None:
    rich(world)
    with_memory(world, 80 * GIB)
    profile = by_name(snapshot(world), "one").profile
    assert profile == Profile(0.04, 0.2, 0.06, 0.8, 0.4, 60 * GIB)
    assert by_name(snapshot(world), "other").profile.gpu_memory_bytes is None  # type: ignore[union-attr]


def test_where_gpus_have_no_memory_of_their_own_a_worker_s_stands_for_it(world: World) -> None:
    rich(world)
    assert by_name(snapshot(world), "other").profile.gpu_memory_bytes == 2 * GIB  # type: ignore[union-attr]


@pytest.mark.slow
def test_steps_with_others_are_marked_with_what_they_left_of_its_speed(world: World) -> None:
    rich(world)
    (observation,) = by_name(snapshot(world), "one").observations
    assert observation.share == pytest.approx(1 / 1.6)
    PairSample.objects.update(slowdown=1.01)
    (observation,) = by_name(snapshot(world), "one").observations
    assert observation.share == 1.0
    PairSample.objects.all().delete()
    (observation,) = by_name(snapshot(world), "one").observations
    assert observation.share == pytest.approx(0.9)


def test_pairs_have_what_they_share_and_a_direction_that_was_not_measured_is_like_the_other(world: World) -> None:
    one, other = rich(world)
    (pair,) = snapshot(world).pairs
    norms = {pair.family_a: pair.norm_a, pair.family_b: pair.norm_b}
    assert norms == {family_of(one): 0.62, family_of(other): 0.8}
    assert (pair.resource, pair.gpu_type, pair.n) == (PairResource.NODE, "cpu-slot", 1)
    PairSample.objects.filter(family=family_of(other)).delete()
    (pair,) = snapshot(world).pairs
    assert (pair.family_a, pair.norm_a, pair.norm_b) == (family_of(one), 0.62, 0.62)


def test_the_largest_batch_of_a_worker_follows_from_memory_at_two_sizes(world: World) -> None:
    one, other = rich(world)
    SpeedSample.objects.filter(family=family_of(one)).update(measured={"gpu_memory_bytes": 10.0 * GIB})
    SpeedSample.objects.filter(family=family_of(other)).update(
        family=family_of(one), batch_size=16, measured={"gpu_memory_bytes": 6.0 * GIB}
    )
    assert by_name(snapshot(world), "one").max_local_batch is None  # the GPU's memory is not known
    with_memory(world, 80 * GIB)
    # 2 GiB whatever the batch, a quarter GiB an example, and nine tenths of 80 GiB to use
    assert by_name(snapshot(world), "one").max_local_batch == 280


def test_the_noise_of_an_attempt_that_began_with_a_grown_batch_is_counted_in_declared_steps(world: World) -> None:
    one = world.job(name="one", mode="all_reduce", hyperparameters={"max_batch_size": 128})
    world.rounds(2)
    measured(world, one, batch_size=128, noise_curve=[[100, 256.0], [4000, 512.0]], measured={"noise_scale": 512.0})
    Job.objects.filter(pk=one.pk).update(steps_done=2000)
    one.refresh_from_db()
    ahead = by_name(snapshot(world), "one").noise_ahead
    assert ahead[-1][0] == 4000


def test_a_job_that_is_only_asked_about_has_inputs_too(world: World) -> None:
    one = world.job(name="one")
    world.rounds(1)
    Node.objects.update(has_own_cache=True)
    first, _ = (node.name for node in world.backend.nodes)
    cached(one, first, fetch_s=2.0)
    present = snapshot(world)
    asked = Job.objects.select_related("project", "model_version").get(pk=one.pk)
    asked.pk, asked.state, asked._state.adding = new_id(), JobState.QUEUED, True
    found = with_hypothetical(present, asked, now=world.now)
    assert found.jobs[-1].inputs == by_name(present, "one").inputs
    assert found.input_sets == present.input_sets
    Job.objects.all().delete()
    alone = with_hypothetical(replace(present, jobs=(), input_sets=()), asked, now=world.now)
    assert (alone.input_sets, alone.fetch_bps) == (present.input_sets, present.fetch_bps)


def test_jobs_of_one_project_with_the_same_data_and_code_read_one_set_of_inputs(world: World) -> None:
    one, other = world.job(name="one"), world.job(name="other")
    world.rounds(1)
    before = snapshot(world)
    assert (before.input_sets, by_name(before, "one").inputs, before.fetch_bps) == ((), "", FETCH_BPS)
    Node.objects.update(has_own_cache=True)
    first, second = (node.name for node in world.backend.nodes)
    cached(one, first, fetch_s=2.0)
    cached(one, second, sha256="9" * 64)  # the dataset is another file now
    found = snapshot(world)
    key = by_name(found, "one").inputs
    assert key == by_name(found, "other").inputs != ""
    assert found.input_sets == (InputSet(key, 10 * 2**20, ((second, 10 * 2**20),)),)
    assert found.fetch_bps == 8 * 10 * 2**20 / 2.0
    Job.objects.filter(pk=other.pk).update(project=world.cast.project_b)
    found = snapshot(world)  # whose cache is another one, and holds nothing
    other_key = by_name(found, "other").inputs
    assert other_key not in ("", key)
    held = {one.key: one.held for one in found.input_sets}
    assert held == {key: ((second, 10 * 2**20),), other_key: ()}
