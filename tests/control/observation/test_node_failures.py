# SPDX-License-Identifier: Apache-2.0
"""A node on which attempts fail in a row takes no new jobs for a while, and is then tried again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from mlhub.backends.fake import FakeBackend
from mlhub.backends.protocol import GpuStatus
from mlhub.clusters.models import Node
from mlhub.control.models import NodeExclusion, NodeFailure
from mlhub.control.observation import maintenance, node_failures
from mlhub.events.models import Event
from mlhub.jobs.models import Attempt, Job
from mlhub.wire.exits import Cause
from tests.cast import make_cast
from tests.control.worlds import GIB, World, node, state
from tests.jobs.builders import job, live_attempt

pytestmark = pytest.mark.django_db
LONG_ENOUGH_S = 150.0  # for every back-off of a job


def world_of(*names: str) -> World:
    """From now on: the page of the cluster goes by the clock."""
    found = World(make_cast(), FakeBackend([node(name, n_slots=1) for name in names]), now=timezone.now())
    found.settle(policy="fifo")
    found.round()
    return found


def fail(world: World, failing: Job, cause: Cause = Cause.GPU_UNAVAILABLE, *, after_s: float = LONG_ENOUGH_S) -> str:
    """Waits until the job runs again, and lets it fail there; returns where."""
    while state(failing) != "running":
        world.round(after_s=after_s)
    attempt = live_attempt(failing)
    [place] = attempt.allocations.values_list("node", flat=True)
    world.backend.fail(str(attempt.id), cause)
    world.round()
    return str(place)


def excluded(world: World) -> dict[str, datetime]:
    found = NodeExclusion.objects.filter(until__gt=world.now).values_list("node", "until")
    return {name: until for name, until in found if until is not None}


def test_a_job_whose_node_fails_three_times_goes_on_elsewhere() -> None:
    world = world_of("n0", "n1")
    unlucky = world.job(max_workers=1)
    places = [fail(world, unlucky) for _ in range(3)]
    assert len(set(places)) == 1  # the policy alone would go there for ever
    assert set(excluded(world)) == set(places)
    world.round(after_s=LONG_ENOUGH_S)
    world.round()
    assert state(unlucky) == "running"
    assert live_attempt(unlucky).allocations.get().node not in places


def test_the_node_says_why_and_until_when_and_to_whom_it_is_shown() -> None:
    world = world_of("n0", "n1")
    unlucky = world.job(max_workers=1)
    [*_, place] = [fail(world, unlucky) for _ in range(3)]
    until = excluded(world)[place]
    assert until == world.now + timedelta(minutes=10)
    assert not Node.objects.get(pk=place).is_schedulable
    shown = world.cast.client(world.cast.bob).get("/api/v1/cluster").json()
    nodes = {n["name"]: n for rack in shown["racks"] for n in rack["nodes"]}
    found = nodes[place]["exclusion"]
    assert (found["cause"], found["n_failures"], found["n_jobs"], found["n_times"]) == ("gpu_unavailable", 3, 1, 1)
    other = next(n for name, n in nodes.items() if name != place)
    assert (other["exclusion"], other["is_schedulable"]) == (None, True)
    assert Event.objects.get(kind="node.excluded").facts["node"] == place


def test_it_is_tried_again_and_one_more_failure_excludes_it_for_twice_as_long() -> None:
    world = world_of("n0", "n1")
    unlucky = world.job(max_workers=1)
    [*_, place] = [fail(world, unlucky) for _ in range(3)]
    Job.objects.filter(pk=unlucky.pk).update(intent="cancel")
    world.rounds(2)
    world.round(after_s=601)
    assert excluded(world) == {}
    assert Node.objects.get(pk=place).is_schedulable
    for name in ("a", "b"):  # one on each node
        world.job(name=name, max_workers=1)
    world.rounds(2)
    on_it = Attempt.objects.live().get(allocations__node=place)
    world.backend.fail(str(on_it.id), Cause.GPU_UNAVAILABLE)
    world.round()
    assert excluded(world)[place] == world.now + timedelta(minutes=20)
    assert NodeExclusion.objects.get(node=place).n_times == 2


def test_an_attempt_that_made_progress_there_clears_the_node() -> None:
    world = world_of("n0", "n1")
    job = world.job(max_workers=1)
    places = [fail(world, job) for _ in range(2)]
    world.round(after_s=LONG_ENOUGH_S)
    world.round()
    good = live_attempt(job)
    assert good.allocations.get().node == places[0]
    Attempt.objects.filter(pk=good.pk).update(last_step=good.first_step + 5)
    world.backend.stop(str(good.id), grace_s=0)  # as by hand: what follows is no failure of the node
    world.round()
    for _ in range(2):
        fail(world, job)
    assert excluded(world) == {}


@pytest.mark.parametrize(
    ("cause", "n_organisations", "is_excluded"),
    [
        (Cause.USER_CODE, 2, False),
        (Cause.PEER_LOST, 2, False),
        (Cause.CRASHED, 1, False),  # code may crash by itself
        (Cause.CRASHED, 2, True),
        (Cause.IO_ERROR, 1, True),
    ],
)
def test_what_may_be_the_code_s_own_doing_counts_once_for_an_organisation(
    cause: Cause, n_organisations: int, is_excluded: bool, settings: Any
) -> None:
    settings.NODE_EXCLUDE_AFTER = 2
    world = world_of("n0", "n1")
    world.job(name="holds the other", max_workers=1)
    world.rounds(3)
    projects = [world.cast.project_a, world.cast.project_b][:n_organisations]
    for number in range(4):
        found = job(projects[number % len(projects)], world.cast.root, name=f"j{number}", max_workers=1)
        fail(world, found, cause)
        Job.objects.filter(pk=found.pk).update(intent="cancel")
        world.round()
        if excluded(world):
            break
    assert bool(excluded(world)) is is_excluded


def test_what_fails_together_is_one_failure() -> None:
    world = World(make_cast(), FakeBackend([node("n0", n_slots=4), node("n1", n_slots=1)]), now=timezone.now())
    world.settle(policy="fifo")
    world.round()
    jobs = [world.job(name=f"j{number}", max_workers=1) for number in range(5)]
    world.rounds(3)
    on_it = [found for found in jobs if live_attempt(found).allocations.get().node == "n0"]
    for found in on_it:
        world.backend.fail(str(live_attempt(found).id), Cause.IO_ERROR)
    world.round()
    assert len(on_it) == NodeFailure.objects.count() == 4
    assert excluded(world) == {}


def test_what_ran_there_before_it_was_excluded_may_fail_later_and_does_not_count_as_the_trial() -> None:
    world = World(make_cast(), FakeBackend([node("n0", n_slots=2), node("n1", n_slots=1)]), now=timezone.now())
    world.settle(policy="fifo")
    world.round()
    early = [world.job(name=f"early{number}", max_workers=1) for number in range(2)]
    world.rounds(3)
    there = next(found for found in early if live_attempt(found).allocations.get().node == "n0")
    unlucky = world.job(name="unlucky", max_workers=1)
    for _ in range(3):
        assert fail(world, unlucky) == "n0"
    Job.objects.filter(pk=unlucky.pk).update(intent="cancel")
    world.round(after_s=601)
    assert fail(world, there) == "n0"
    assert excluded(world) == {}


def test_one_organisation_alone_closes_one_node_at_a_time() -> None:
    world = world_of(*(f"n{i}" for i in range(7)))  # of which two may be closed
    forger = world.job(name="forger", max_workers=1)
    [*_, first] = [fail(world, forger) for _ in range(3)]
    for _ in range(3):
        Job.objects.filter(pk=forger.pk).update(n_platform_failures=0, not_before=None)
        second = fail(world, forger, after_s=2.0)
    assert first != second
    assert set(excluded(world)) == {first}
    other = job(world.cast.project_b, world.cast.charlie, name="other", max_workers=1)
    Job.objects.filter(pk=forger.pk).update(intent="cancel")
    world.round()
    assert fail(world, other, after_s=2.0) == second
    assert set(excluded(world)) == {first, second}


def test_organisations_that_act_together_close_as_many_nodes_as_they_are() -> None:
    world = world_of(*(f"n{i}" for i in range(16)))  # of which five may be closed
    forgers = [
        job(world.cast.project_a, world.cast.bob, name="of one", max_workers=1),
        job(world.cast.project_b, world.cast.charlie, name="of the other", max_workers=1),
    ]
    for number in range(12 * len(forgers)):
        forger = forgers[number % len(forgers)]
        other = forgers[(number + 1) % len(forgers)]
        Job.objects.filter(pk=other.pk).update(not_before=world.now + timedelta(days=1))  # both fail on the same nodes
        Job.objects.filter(pk=forger.pk).update(n_platform_failures=0, not_before=None)
        fail(world, forger, after_s=2.0)
    assert len(excluded(world)) == len(forgers)


def test_the_last_node_that_takes_jobs_stays_open() -> None:
    world = world_of("n0", "n1")
    maintenance.cordon("n1", actor=None, now=world.now)
    unlucky = world.job(max_workers=1)
    for _ in range(3):
        assert fail(world, unlucky) == "n0"
    assert excluded(world) == {}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("at", ["_to_blame", "_judge"])
def test_a_loop_that_is_killed_before_a_failure_is_judged_judges_it_once_it_runs_again(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of("n0", "n1")
    unlucky = world.job(max_workers=1)
    places = [fail(world, unlucky) for _ in range(2)]
    while state(unlucky) != "running":
        world.round(after_s=LONG_ENOUGH_S)
    world.backend.fail(str(live_attempt(unlucky).id), Cause.GPU_UNAVAILABLE)

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(node_failures, at, killed)
        with pytest.raises(KeyboardInterrupt):
            world.round()
    assert excluded(world) == {}
    world.round()
    assert set(excluded(world)) == set(places)
    until = excluded(world)
    world.rounds(3)
    assert (excluded(world), NodeFailure.objects.count()) == (until, 3)
    assert Event.objects.filter(kind="node.excluded").count() == 1


def test_a_clock_that_is_set_back_makes_no_exclusion_longer() -> None:
    world = world_of("n0", "n1")
    unlucky = world.job(max_workers=1)
    for _ in range(3):
        fail(world, unlucky)
    world.round(after_s=-7200)
    [until] = excluded(world).values()
    assert until <= world.now + timedelta(minutes=10)


@pytest.mark.parametrize("wrong_by", [timedelta(hours=-1), timedelta(hours=1)])
def test_the_clock_of_a_node_says_nothing_of_the_order_of_failures(wrong_by: timedelta) -> None:
    """A kubelet says when a pod started by the clock of its machine."""
    world = world_of("n0", "n1")
    unlucky = world.job(max_workers=1)
    for _ in range(3):
        while state(unlucky) != "running":
            world.round(after_s=LONG_ENOUGH_S)
        attempt = Attempt.objects.filter(pk=live_attempt(unlucky).pk)
        assert attempt.update(created_at=world.now, started_at=world.now + wrong_by) == 1
        fail(world, unlucky)
    assert len(excluded(world)) == 1


def test_a_node_that_went_away_is_not_counted_among_the_excluded() -> None:
    world = world_of("n0", "n1", "n2")
    unlucky = world.job(max_workers=1)
    [*_, place] = [fail(world, unlucky) for _ in range(3)]
    world.backend.nodes = [found for found in world.backend.nodes if found.name != place]
    world.round()
    assert b"mlhub_excluded_nodes 0.0" in Client().get("/metrics").content
    Job.objects.filter(pk=unlucky.pk).update(n_platform_failures=0, not_before=None)
    [*_, second] = [fail(world, unlucky) for _ in range(3)]
    assert second in excluded(world)


def workstation() -> World:
    """One node with three GPUs whose driver can be asked."""
    gpus = tuple(GpuStatus(index, f"GPU-{index}", "H100", 80 * GIB, 0) for index in range(3))
    found = World(make_cast(), FakeBackend([replace(node("n0", n_slots=3), gpus=gpus)]), now=timezone.now())
    found.settle(policy="fifo")
    found.round()
    return found


def test_of_a_workstation_only_the_gpu_that_fails_is_excluded_and_the_job_goes_on_with_another() -> None:
    world = workstation()
    unlucky = world.job(max_workers=1)
    for _ in range(3):
        fail(world, unlucky)
    [row] = NodeExclusion.objects.all()
    assert row.gpu is not None
    world.round(after_s=LONG_ENOUGH_S)
    world.round()
    assert state(unlucky) == "running"
    assert live_attempt(unlucky).allocations.get().slots != [row.gpu]
    shown = world.cast.client(world.cast.bob).get("/api/v1/cluster").json()["racks"][0]["nodes"][0]
    assert (shown["is_schedulable"], shown["exclusion"]["gpus"]) == (True, [row.gpu])
    problems = [slot["gpu"]["problem"] for slot in shown["slots"]]
    assert [bool(text) for text in problems] == [index == row.gpu for index in range(3)]
    in_chinese = world.cast.client(world.cast.bob).get("/api/v1/cluster", headers={"Accept-Language": "zh"}).json()
    slot = in_chinese["racks"][0]["nodes"][0]["slots"][row.gpu]
    assert slot["gpu"]["problem"].endswith("其上连续有 3 次尝试失败。")
    maintenance.uncordon("n0", actor=world.cast.root, now=world.now)
    world.round()
    assert not any(gpu["problem"] for gpu in Node.objects.get().gpus)


def test_of_the_gpus_of_a_node_most_stay_in_use() -> None:
    world = workstation()
    for number in range(3):
        found = world.job(name=f"j{number}", max_workers=1)
        for _ in range(3):
            fail(world, found)
        Job.objects.filter(pk=found.pk).update(intent="cancel")
        world.round()
    assert NodeExclusion.objects.filter(until__gt=world.now).count() == 1


def test_a_gang_on_several_nodes_blames_none_of_them_where_it_is_not_known_which() -> None:
    world = world_of("n0", "n1")
    wide = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    world.backend.fail(str(live_attempt(wide).id), Cause.GPU_UNAVAILABLE)
    world.round()
    assert not NodeFailure.objects.exists()


def test_of_a_gang_on_several_nodes_that_is_to_blame_whose_pod_failed_first() -> None:
    world = world_of("n0", "n1")
    wide = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    world.backend.fail(str(live_attempt(wide).id), Cause.GPU_UNAVAILABLE, on="n1")
    world.round()
    assert [(row.node, row.cause) for row in NodeFailure.objects.all()] == [("n1", "gpu_unavailable")]


@pytest.mark.parametrize(("n_nodes", "n_excluded"), [(1, 0), (2, 1), (6, 2)])
def test_what_fails_everywhere_is_not_the_nodes_fault(n_nodes: int, n_excluded: int) -> None:
    world = world_of(*(f"n{i}" for i in range(n_nodes)))
    for number in range(2 * n_nodes):
        found = world.job(name=f"j{number}", max_workers=1)
        for _ in range(3):
            fail(world, found, Cause.IO_ERROR)
        Job.objects.filter(pk=found.pk).update(intent="cancel")
        world.round()
        if len(excluded(world)) > n_excluded:
            break
    assert len(excluded(world)) <= n_excluded
    assert NodeExclusion.objects.exists() is bool(n_excluded)


def test_an_administrator_opens_it_again_and_what_was_before_no_longer_counts() -> None:
    world = world_of("n0", "n1")
    unlucky = world.job(max_workers=1)
    [*_, place] = [fail(world, unlucky) for _ in range(3)]
    client = world.cast.client(world.cast.root)
    shown = client.post(f"/api/v1/cluster/nodes/{place}/uncordon", {}).json()
    nodes = {n["name"]: n for rack in shown["racks"] for n in rack["nodes"]}
    assert nodes[place]["exclusion"] is None
    world.round(after_s=LONG_ENOUGH_S)
    assert Node.objects.get(pk=place).is_schedulable
    assert Event.objects.filter(kind="node.uncordoned").exists()


def test_it_can_be_switched_off(settings: Any) -> None:
    settings.NODE_EXCLUDE_AFTER = 0
    world = world_of("n0", "n1")
    unlucky = world.job(max_workers=1)
    for _ in range(4):
        fail(world, unlucky)
    assert not NodeFailure.objects.exists()
