# SPDX-License-Identifier: Apache-2.0
"""A pause of admission: no waiting job is started, what runs goes on, and it ends when it is resumed or due."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.backends.fake import FakeBackend
from mlhub.control.models import SchedulerMemory
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from tests.cast import Cast, make_cast
from tests.control.worlds import World, node, state
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db
PATH = "/api/v1/scheduler/admission-pause"


@pytest.fixture
def world() -> World:
    return World(make_cast(), now=timezone.now())


def pause(cast: Cast, **body: Any) -> Any:
    answer = cast.client(cast.root).put(PATH, {"reason": "The file server is repaired.", **body})
    assert answer.status_code == 200, answer.json()
    return answer.json()


def reasons(job: Job) -> list[str]:
    job.refresh_from_db()
    return [one["reason"] for one in job.explanations]


def test_nothing_starts_while_admission_is_paused_and_running_jobs_go_on(world: World) -> None:
    runs = world.job(name="runs", max_workers=1)
    world.rounds(3)
    assert state(runs) == "running"
    pause(world.cast)
    waits = world.job(name="waits", max_workers=1)
    world.rounds(4)
    assert (state(runs), state(waits)) == ("running", "queued")
    assert reasons(waits) == ["admission_paused"]
    why = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{waits.id}/why").json()
    assert why["headline"] == "Pending: admission of jobs is paused by an administrator."
    assert why["predicted_start_at"] is None
    chinese = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{waits.id}/why", headers={"accept-language": "zh"})
    assert chinese.json()["headline"] == "等待中：管理员已暂停作业准入。"
    world.cast.client(world.cast.root).delete(PATH)
    world.rounds(3)
    assert state(waits) == "running"


def test_a_job_that_was_preempted_waits_for_the_end_of_the_pause(world: World) -> None:
    runs = world.job(name="runs", max_workers=1)
    world.rounds(3)
    pause(world.cast)
    root = world.cast.client(world.cast.root)
    (held,) = runs.attempts.get(ended_at=None).allocations.all()
    assert root.post(f"/api/v1/cluster/nodes/{held.node}/drain", {}).status_code == 200
    Job.objects.filter(pk=runs.pk).update(predicted_finish_at=None, predicted_finish_p90_at=None)
    world.rounds(5)
    assert (state(runs), reasons(runs)) == ("queued", ["admission_paused"])
    root.delete(PATH)
    world.rounds(3)
    assert state(runs) == "running"


def test_a_job_that_is_being_resized_resumes(world: World) -> None:
    world.backend = FakeBackend([node("n0")])
    world.__post_init__()
    grows, other = world.job(name="grows", max_workers=2, steps_total=10**7), world.job(name="other", max_workers=1)
    world.rounds(3)
    before = grows.attempts.get(ended_at=None)
    assert before.n_workers == 1
    pause(world.cast)
    waits = world.job(name="waits", max_workers=1)
    Job.objects.filter(pk=other.pk).update(intent="cancel")
    for _ in range(30):
        world.round(after_s=60.0)
        newest = grows.attempts.order_by("-number").first()
        if newest is not None and newest.pk != before.pk and state(grows) == "running":
            break
    assert newest is not None
    assert (newest.n_workers, state(grows), state(waits)) == (2, "running", "queued")


def test_a_pause_survives_a_restart_of_the_loop(world: World) -> None:
    pause(world.cast)
    waits = world.job(max_workers=1)
    world.rounds(2)
    again = World(world.cast, backend=world.backend, now=world.now)
    again.rounds(2)
    assert (state(waits), reasons(waits)) == ("queued", ["admission_paused"])


def test_a_pause_ends_by_itself_at_its_end_and_that_is_in_the_audit(world: World) -> None:
    shown = pause(world.cast, until=(world.now + timedelta(hours=1)).isoformat())
    assert shown["until"] is not None
    waits = world.job(max_workers=1)
    world.rounds(2)
    assert state(waits) == "queued"
    world.round(after_s=3600.0)
    world.rounds(2)
    assert state(waits) == "running"
    (ended,) = Event.objects.filter(kind="scheduler.admission_resumed")
    assert (ended.actor, ended.facts["reason"]) == (None, "The file server is repaired.")


def test_with_an_end_the_reason_says_that_it_starts_no_earlier(world: World) -> None:
    pause(world.cast, until="2099-12-01T06:00:00+01:00")
    waits = world.job(max_workers=1)
    world.rounds(2)
    bob = world.cast.client(world.cast.bob)
    why = bob.get(f"/api/v1/jobs/{waits.id}/why").json()
    until = "until 2099-12-01 at 05:00 UTC; it starts no earlier"
    assert why["headline"] == f"Pending: admission of jobs is paused by an administrator {until}."
    (explanation,) = bob.get(f"/api/v1/jobs/{waits.id}").json()["explanations"]
    assert explanation["facts"]["until_s"] == 4_099_784_400
    chinese = bob.get(f"/api/v1/jobs/{waits.id}/why", headers={"accept-language": "zh"}).json()
    assert chinese["headline"] == "等待中：管理员已暂停作业准入，直到 UTC 2099-12-01 05:00；在此之前不会开始。"


def test_of_two_administrators_who_pause_at_once_the_later_one_sees_both_versions(world: World) -> None:
    root = world.cast.client(world.cast.root)
    assert root.get(PATH).json()["version"] == 0
    first = root.put(PATH, {"reason": "New switch.", "version": 0}).json()
    refused = root.put(PATH, {"reason": "Power.", "until": "2099-12-01T06:00:00Z", "version": 0})
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_version")
    problem = refused.json()
    assert problem["present"] == {"reason": "New switch.", "until": None}
    assert problem["yours"] == {"reason": "Power.", "until": "2099-12-01T06:00:00Z"}
    assert problem["version"] == first["version"] > 0
    second = root.put(PATH, {"reason": "Power.", "version": first["version"]}).json()
    assert (second["reason"], second["version"] > first["version"]) == ("Power.", True)
    root.delete(PATH)
    gone = root.put(PATH, {"reason": "Power.", "version": second["version"]})
    assert (gone.status_code, gone.json()["version"]) == (409, 0)
    third = root.put(PATH, {"reason": "Power.", "version": 0}).json()
    assert third["version"] not in (first["version"], second["version"])  # not taken for an earlier pause
    assert root.put(PATH, {"reason": "x", "version": -1}).status_code == 422
    assert root.put(PATH, {"reason": "x", "version": 2**70}).status_code == 422


def test_only_administrators_pause_and_everybody_reads_that_it_is_paused(world: World) -> None:
    cast = world.cast
    for user in (cast.alice, cast.bob, cast.charlie):
        for verb in ("put", "delete"):
            refused = getattr(cast.client(user), verb)(PATH, *([{"reason": "mine"}] if verb == "put" else []))
            assert (refused.status_code, refused.json()["code"]) == (403, "administrator_needed")
    assert cast.client(cast.bob).get(PATH).json()["is_paused"] is False
    pause(cast)
    seen = cast.client(cast.charlie).get(PATH).json()
    assert (seen["is_paused"], seen["reason"], seen["paused_by"]) == (True, "The file server is repaired.", "")
    assert cast.client(cast.bob).get("/api/v1/scheduler/status").json()["admission"] == seen
    assert cast.client(cast.root).get(PATH).json()["paused_by"] == "root"
    assert cast.client(None).get(PATH).status_code == 401


def test_bad_input_names_the_field_and_the_remedy(world: World) -> None:
    root = world.cast.client(world.cast.root)
    for body, field, remedy in (
        ({}, "reason", "Say why"),
        ({"reason": "  "}, "reason", "Say why"),
        ({"reason": "x" * 201}, "reason", "200"),
        ({"reason": "x", "until": "2020-01-01T00:00:00Z"}, "until", "give a time that is to come"),
        ({"reason": "x", "until": "soon"}, "until", ""),
        ({"reason": "x", "untl": None}, "untl", "until"),
    ):
        refused = root.put(PATH, body)
        assert refused.status_code == 422
        assert [error["field"] for error in refused.json()["errors"]] == [field]
        assert remedy in refused.json()["errors"][0]["message"]
    assert root.get(PATH).json()["is_paused"] is False


def test_begin_change_and_end_are_in_the_audit_and_there_is_one_pause_at_most(world: World) -> None:
    since = pause(world.cast)["since"]
    pause(world.cast)  # the same again is no change
    assert pause(world.cast, reason="It takes longer.")["since"] == since
    root = world.cast.client(world.cast.root)
    assert [root.delete(PATH).status_code for _ in range(2)] == [204, 204]
    assert root.get(PATH).json()["is_paused"] is False
    began, changed, ended = Event.objects.filter(kind__startswith="scheduler.admission").order_by("id")
    assert (began.actor, began.facts["before"]) == (world.cast.root, None)
    assert changed.facts["before"]["reason"] == "The file server is repaired."
    assert (ended.kind, ended.facts["reason"]) == ("scheduler.admission_resumed", "It takes longer.")


def test_a_preview_and_a_what_if_say_that_admission_is_paused(world: World) -> None:
    world.round()
    pause(world.cast)
    bob = world.cast.client(world.cast.bob)
    dataset, model = ready_dataset(world.cast.project_a, world.cast.bob), builtin()
    body = {
        "project": str(world.cast.project_a.id), "dataset_version": str(dataset.id), "model_version": str(model.id),
        "name": "planned", "epochs": 2,
    }  # fmt: skip
    answer = bob.post("/api/v1/jobs/preview", body)
    assert answer.status_code == 200, answer.json()
    plan = answer.json()["plan"]
    assert (plan["start_at"], [one["reason"] for one in plan["explanations"]]) == (None, ["admission_paused"])
    (effect,) = bob.post("/api/v1/what-if", {"submit": body}).json()["effects"]
    assert [one["reason"] for one in effect["after"]["explanations"]] == ["admission_paused"]


def test_the_hold_names_its_end_and_is_not_on_jobs_that_were_promised_gpus(world: World) -> None:
    until = world.now + timedelta(hours=1)
    pause(world.cast, until=until.isoformat())
    promised, waits = world.job(name="promised"), world.job(name="waits")
    allocation = {"mode": "all_reduce", "n_workers": 1, "n_servers": 0, "shares": []}
    SchedulerMemory.objects.create(
        owner="policy", version=3, value={"version": 3, "resizing": {str(promised.id): allocation}}
    )
    found = {job.id: job for job in take_snapshot(world.backend.inventory(), now=world.now, round_number=1).jobs}
    assert found[str(promised.id)].hold is None
    assert (found[str(waits.id)].hold, found[str(waits.id)].hold_until_s) == ("admission_paused", until.timestamp())
