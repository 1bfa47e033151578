# SPDX-License-Identifier: Apache-2.0
"""Nodes that administrators close: nothing new starts there, and a drain moves jobs away with the reason."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from mlhub.clusters.models import Maintenance, Node
from mlhub.control.observation import maintenance
from mlhub.core.errors import NotFoundError
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import live_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    found = World(make_cast())
    found.settle(policy="fifo")
    found.round()
    return found


def place(job: Job) -> list[str]:
    return sorted(live_attempt(job).allocations.values_list("node", flat=True))


def cordon(world: World, *names: str) -> None:
    for name in names:
        maintenance.cordon(name, actor=world.cast.root, reason="new fans", now=world.now)


def drain(world: World, name: str, *, minutes: float) -> None:
    by = world.now + timedelta(minutes=minutes)
    maintenance.drain(name, actor=world.cast.root, by=by, now=world.now)


@pytest.mark.slow
def test_nothing_starts_on_a_cordoned_node_until_it_is_opened(world: World) -> None:
    cordon(world, "n0", "n1")
    job = world.job(max_workers=1)
    world.rounds(2)
    assert state(job) == "queued"
    maintenance.uncordon("n1", actor=world.cast.root, now=world.now)
    world.rounds(2)
    assert place(job) == ["n1"]


@pytest.mark.slow
def test_what_runs_on_a_cordoned_node_goes_on(world: World) -> None:
    job = world.job(max_workers=1)
    world.rounds(2)
    cordon(world, *place(job))
    world.rounds(3)
    assert state(job) == "running"


@pytest.mark.slow
def test_a_drain_moves_a_job_to_another_node_with_the_reason(world: World) -> None:
    job = world.job(max_workers=1)
    world.rounds(2)
    [before] = place(job)
    drain(world, before, minutes=0)
    world.round()
    assert state(job) == "stopping"
    assert job.reason == "drained"
    world.rounds(3)
    assert state(job) == "running"
    assert place(job) != [before]
    assert job.n_platform_failures == 0
    assert Event.objects.filter(subject_id=job.id, facts__reason="drained").exists()


@pytest.mark.slow
def test_a_job_that_will_be_done_in_time_may_finish_and_no_other(world: World) -> None:
    soon, late, unknown = (world.job(name=name, max_workers=1) for name in ("soon", "late", "unknown"))
    world.rounds(2)
    for name in {*place(soon), *place(late), *place(unknown)}:
        drain(world, name, minutes=10)
    ends = {soon.id: world.now + timedelta(minutes=5), late.id: world.now + timedelta(minutes=15), unknown.id: None}
    for job_id, at in ends.items():
        Job.objects.filter(pk=job_id).update(predicted_finish_at=at, predicted_finish_p90_at=at)
    assert maintenance.evict(world.backend, now=world.now) == 2
    assert [state(job) for job in (soon, late, unknown)] == ["running", "stopping", "stopping"]
    assert maintenance.evict(world.backend, now=world.now + timedelta(minutes=11)) == 1
    assert state(soon) == "stopping"


def test_a_closed_node_says_so_and_by_whom(world: World) -> None:
    cordon(world, "n0")
    drain(world, "n1", minutes=10)
    world.round()
    assert not Node.objects.get(pk="n0").is_schedulable
    assert Node.objects.get(pk="n0").message == "Cordoned by an administrator: new fans"
    assert Node.objects.get(pk="n1").message.startswith("Draining until 2026-01-01 00:")
    shown = world.cast.client(world.cast.bob).get("/api/v1/cluster").json()
    nodes = {n["name"]: n for rack in shown["racks"] for n in rack["nodes"]}
    assert nodes["n0"]["maintenance"]["reason"] == "new fans"
    assert nodes["n0"]["maintenance"]["asked_by"] == world.cast.root.username
    assert nodes["n0"]["maintenance"]["drain_by"] is None
    assert nodes["n1"]["maintenance"]["drain_by"] is not None


def test_a_node_that_comes_back_is_still_closed(world: World) -> None:
    cordon(world, "n0")
    nodes = list(world.backend.nodes)
    world.backend.nodes = nodes[1:]
    world.round()
    world.backend.nodes = nodes
    world.round()
    assert not Node.objects.get(pk="n0").is_schedulable
    assert Maintenance.objects.filter(pk="n0").exists()


@pytest.mark.parametrize("verb", ["cordon", "drain", "uncordon"])
def test_only_platform_administrators_close_and_open_nodes(world: World, verb: str) -> None:
    address = f"/api/v1/cluster/nodes/n0/{verb}"
    cast = world.cast
    for user, status in ((cast.alice, 403), (cast.bob, 403), (cast.charlie, 403), (None, 401)):
        assert cast.client(user).post(address, {}).status_code == status
    assert cast.client(cast.root).post(address, {"reason": "x"}).status_code == 200
    assert cast.client(cast.root).post("/api/v1/cluster/nodes/nowhere/" + verb, {}).status_code == 404
    assert Maintenance.objects.filter(pk="n0").exists() is (verb != "uncordon")


def test_a_deadline_that_is_no_time_is_refused(world: World) -> None:
    answer = world.cast.client(world.cast.root).post("/api/v1/cluster/nodes/n0/drain", {"deadline_s": -1})
    assert (answer.status_code, Maintenance.objects.count()) == (422, 0)


def test_nodes_are_closed_and_opened_from_the_command_line(world: World) -> None:
    out = StringIO()
    call_command("node", "drain", "n0", "--deadline", "2h", "--reason", "moving", stdout=out)
    closed = Maintenance.objects.get(pk="n0")
    assert closed.drain_by is not None
    assert closed.drain_by - closed.asked_at == timedelta(hours=2)
    call_command("node", "cordon", "n0", stdout=out)
    assert Maintenance.objects.get(pk="n0").drain_by is None
    call_command("node", "uncordon", "n0", stdout=out)
    call_command("node", "uncordon", "n0", stdout=out)
    assert "n0 is open (it was not closed)." in out.getvalue()
    with pytest.raises(CommandError, match=r"no node nowhere.*Known: n0, n1"):
        call_command("node", "cordon", "nowhere")
    with pytest.raises(CommandError, match="--deadline is 'soon'"):
        call_command("node", "drain", "n0", "--deadline", "soon")
    with pytest.raises(NotFoundError):
        maintenance.uncordon("nowhere", actor=None, now=world.now)


def test_two_jobs_on_one_gpu_are_both_shown(world: World) -> None:
    first, second = world.job(name="first", max_workers=1), world.job(name="second", max_workers=1)
    world.rounds(2)
    shared = live_attempt(first).allocations.get()
    live_attempt(second).allocations.update(node=shared.node, slots=shared.slots)
    shown = world.cast.client(world.cast.bob).get("/api/v1/cluster").json()
    taken = [s for rack in shown["racks"] for n in rack["nodes"] for s in n["slots"] if s["job"]]
    assert [(s["job"]["name"], [j["name"] for j in s["colocated"]]) for s in taken] == [("first", ["second"])]
    assert shown["totals"]["free_gpus"] == 3
