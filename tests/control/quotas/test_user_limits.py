# SPDX-License-Identifier: Apache-2.0
"""Limits of users on the live platform: who sets them, what waits and says why, what is shown, what others see."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.events.models import Event
from mlhub.jobs.models import Attempt
from mlhub.tenants.actions.limits.user_quotas import limit_user
from mlhub.tenants.models import UserQuota
from tests.cast import Cast, make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import builtin, job, live_attempt, ready_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def address(cast: Cast, of: str = "") -> str:
    return f"/api/v1/{of or f'organisations/{cast.a.id}'}/quota/users"


def limit(cast: Cast, by: Any, *, of: str = "", status: int = 200, **body: Any) -> dict[str, Any]:
    answer = cast.client(by).patch(address(cast, of), body, format="json")
    assert answer.status_code == status, answer.json()
    found: dict[str, Any] = answer.json()
    return found


def submit(cast: Cast, user: Any, **body: Any) -> Any:
    dataset = ready_dataset(cast.project_a, user)
    asked = {"dataset_version": str(dataset.id), "model": str(builtin().model_id), "epochs": 1, "batch_size": 4}
    return cast.client(user).post("/api/v1/jobs", {**asked, **body}, format="json")


def reason_of(world: World, of: Any) -> dict[str, Any]:
    found = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{of.id}/why").json()
    first: dict[str, Any] = found["explanations"][0]
    return first


@pytest.mark.slow
def test_a_second_job_of_a_user_waits_while_another_user_s_starts(world: World) -> None:
    limit(world.cast, world.cast.alice, max_gpus=2)
    first = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    second = world.job(min_workers=1, max_workers=1)
    hers = job(world.cast.project_a, world.cast.alice, min_workers=2, max_workers=2)
    world.rounds(2)
    assert (state(first), state(second), state(hers)) == ("running", "queued", "running")
    why = reason_of(world, second)
    assert why["reason"] == "user_quota_gpus"
    assert why["sentence"] == (
        "Limit of a user: bob uses 2 of the 2 GPUs that one person may use in A; 1 more would exceed that. An admin of "
        "A can raise it."
    )
    limit(world.cast, world.cast.alice, username="bob", max_gpus=3)
    world.backend.finish(str(live_attempt(hers).id))
    world.rounds(3)
    assert state(second) == "running"


@pytest.mark.slow
def test_a_limit_of_the_project_and_of_a_type_count_without_any_other_quota(world: World) -> None:
    project = f"projects/{world.cast.project_a.id}"
    limit(world.cast, world.cast.alice, of=project, gpus_by_type={"cpu-slot": 1}, username="bob")
    first, second = (world.job(min_workers=1, max_workers=1) for _ in range(2))
    world.rounds(3)
    assert sorted((state(first), state(second))) == ["queued", "running"]
    waiting = second if state(second) == "queued" else first
    assert "1 of the 1 GPU of type cpu-slot that one person may use in" in reason_of(world, waiting)["sentence"]


@pytest.mark.slow
def test_hours_of_a_user_are_counted_from_what_runs(world: World) -> None:
    budget = [{"gpu_hours": 1, "period": "day", "on_exhausted": "stop_new", "gpu_type": ""}]
    limit(world.cast, world.cast.alice, budgets=budget)
    running = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    Attempt.objects.filter(pk=live_attempt(running).pk).update(created_at=world.now, training_at=world.now)
    waiting = world.job(min_workers=1, max_workers=1)
    world.now += timedelta(minutes=40)
    world.round()
    assert state(waiting) == "queued"
    assert reason_of(world, waiting)["reason"] == "user_budget_exhausted"


@pytest.mark.slow
def test_a_lowered_limit_stops_jobs_with_a_checkpoint(world: World) -> None:
    running = world.job(min_workers=2, max_workers=2)
    world.rounds(3)
    limit(world.cast, world.cast.alice, max_running_jobs=0)
    world.round()
    assert state(running) == "stopping"


def test_a_job_that_could_never_start_is_refused_at_submission_and_found_again_later(world: World) -> None:
    cast = world.cast
    waiting = world.job(min_workers=2, max_workers=2)
    limit(cast, cast.alice, max_gpus=1)
    refused = submit(cast, cast.bob, min_workers=2, max_workers=2)
    assert refused.status_code == 422
    found = refused.json()
    assert (found["code"], found["limit"], found["limit_gpus"]) == ("quota_exceeded", "user_max_gpus", 1)
    assert found["detail"] == "min_workers is 2, and you may use 1 GPU in A."
    assert "ask an admin of A to raise" in found["remedy"]
    world.round()
    assert reason_of(world, waiting)["reason"] == "larger_than_user_quota"


@pytest.mark.slow
def test_waiting_jobs_of_a_user_are_limited_and_others_go_on(world: World) -> None:
    cast = world.cast
    limit(cast, cast.alice, of=f"projects/{cast.project_a.id}", max_waiting_jobs=1)
    assert [submit(cast, cast.bob).status_code for _ in range(2)] == [201, 422]
    found = submit(cast, cast.bob).json()
    assert (found["limit"], found["waiting_jobs"], found["max_waiting_jobs"]) == ("user_max_waiting_jobs", 1, 1)
    assert submit(cast, cast.alice).status_code == 201


@pytest.mark.slow
def test_storage_of_a_user_is_limited_and_another_user_s_is_not(world: World) -> None:
    cast = world.cast
    limit(cast, cast.alice, username="bob", max_storage_bytes=10)
    lines = b"a,b\n" + b"1,2\n" * 10

    def upload(by: Any, name: str) -> Any:
        body = {"project": str(cast.project_a.id), "name": name, "file": SimpleUploadedFile(f"{name}.csv", lines)}
        return cast.client(by).post("/api/v1/datasets", body, format="multipart")

    refused = upload(cast.bob, "mine")
    assert refused.status_code == 422, refused.json()
    assert refused.json()["limit"] == "user_max_storage_bytes"
    assert upload(cast.alice, "hers").status_code == 201
    limit(cast, cast.alice, username="bob", max_storage_bytes=1000)
    assert upload(cast.bob, "mine").status_code == 201
    used = cast.client(cast.bob).get("/api/v1/user-quotas/mine").json()[0]["used"]
    assert used["storage_bytes"] == len(lines)
    limit(cast, cast.alice, username="bob", max_storage_bytes=len(lines))
    assert submit(cast, cast.bob).json()["limit"] == "user_max_storage_bytes"


@pytest.mark.slow
def test_everyone_s_limits_and_exceptions_are_shown_with_what_is_used(world: World) -> None:
    cast = world.cast
    limit(cast, cast.alice, max_gpus=3, gpus_by_type={"cpu-slot": 3})
    own = limit(cast, cast.alice, username="bob", max_running_jobs=5)
    assert (own["max_gpus"], own["gpus_by_type"], own["max_running_jobs"]) == (3, {"cpu-slot": 3}, 5)
    world.job(min_workers=2, max_workers=2)
    world.job(min_workers=2, max_workers=2)
    world.rounds(3)
    shown = cast.client(cast.victor).get(address(cast)).json()
    assert shown["may_edit"] is False
    assert [row["user"] and row["user"]["username"] for row in shown["limits"]] == [None, "bob"]
    used = shown["limits"][1]["used"]
    assert (used["gpus"], used["gpus_by_type"], used["running_jobs"], used["waiting_jobs"]) == (
        2,
        {"cpu-slot": 2},
        1,
        1,
    )
    (mine,) = cast.client(cast.bob).get("/api/v1/user-quotas/mine").json()
    assert (mine["owner_name"], mine["max_gpus"], mine["used"]["gpus"]) == ("A", 3, 2)
    (hers,) = cast.client(cast.victor).get("/api/v1/user-quotas/mine").json()
    assert (hers["user"], hers["used"]["gpus"]) == (None, 0)


def test_only_admins_of_the_organisation_limit_users_and_strangers_see_nothing(world: World) -> None:
    cast = world.cast
    row = limit(cast, cast.alice, max_gpus=1)
    for person, status in ((cast.bob, 403), (cast.victor, 403), (cast.charlie, 404)):
        limit(cast, person, max_gpus=9, status=status)
        assert cast.client(person).delete(f"/api/v1/user-quotas/{row['id']}").status_code == status
    assert cast.client(cast.charlie).get(address(cast)).status_code == 404
    assert cast.client(cast.charlie).get("/api/v1/user-quotas/mine").json() == []
    assert UserQuota.objects.get().max_gpus == 1


def test_limits_of_one_organisation_do_not_touch_another_one_s(world: World) -> None:
    limit(world.cast, world.cast.charlie, of=f"organisations/{world.cast.b.id}", max_gpus=0)
    first = world.job(min_workers=1, max_workers=1)
    world.rounds(3)
    assert state(first) == "running"


def test_two_admins_at_once_get_both_versions(world: World) -> None:
    cast = world.cast
    seen = limit(cast, cast.alice, max_gpus=1, version=0)["version"]
    limit(cast, cast.root, max_gpus=2, version=seen)
    refused = limit(cast, cast.alice, max_gpus=4, version=seen, status=409)
    assert (refused["code"], refused["version"]) == ("stale_version", 2)
    assert (refused["present"], refused["yours"]) == ({"max_gpus": 2}, {"max_gpus": 4})
    removed = cast.client(cast.alice).delete(f"/api/v1/user-quotas/{UserQuota.objects.get().id}?version={seen}")
    assert removed.status_code == 409
    assert limit(cast, cast.alice, username="bob", max_gpus=4, version=3, status=409)["version"] == 0


def test_an_exception_that_is_removed_gives_way_to_everyone_s_limits(world: World) -> None:
    cast = world.cast
    limit(cast, cast.alice, max_gpus=1)
    own = limit(cast, cast.alice, username="bob", max_gpus=None)
    assert cast.client(cast.bob).get("/api/v1/user-quotas/mine").json()[0]["max_gpus"] is None
    assert (
        cast.client(cast.alice).delete(f"/api/v1/user-quotas/{own['id']}?version={own['version']}").status_code == 204
    )
    assert cast.client(cast.bob).get("/api/v1/user-quotas/mine").json()[0]["max_gpus"] == 1
    kinds = Event.objects.filter(kind__startswith="user_quota.").order_by("id")
    assert [(one.kind, one.facts["user"]) for one in kinds] == [
        ("user_quota.changed", None),
        ("user_quota.changed", "bob"),
        ("user_quota.removed", "bob"),
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"max_gpus": -1}, "max_gpus"),
        ({"max_gpu": 1}, "max_gpu"),
        ({"gpus_by_type": {"A100": -1}}, "gpus_by_type"),
        ({"gpus_by_type": 3}, "gpus_by_type"),
        ({"gpus_by_type": {"": 3}}, "gpus_by_type"),
        ({"username": "nobody", "max_gpus": 1}, "username"),
        ({"username": "charlie", "max_gpus": 1}, "username"),
        ({"budgets": [{"gpu_hours": -1}]}, "budgets"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(world: World, body: dict[str, Any], field: str) -> None:
    refused = limit(world.cast, world.cast.alice, status=422, **body)
    assert refused["errors"][0]["field"].startswith(field)
    assert not UserQuota.objects.exists()


def test_storage_is_limited_in_organisations_only(world: World) -> None:
    project = f"projects/{world.cast.project_a.id}"
    refused = limit(world.cast, world.cast.alice, of=project, max_storage_bytes=1, status=422)
    assert refused["errors"][0]["field"] == "max_storage_bytes"


def test_the_snapshot_has_limits_of_users_with_jobs_only(world: World) -> None:
    limit_user(world.cast.a, None, max_gpus=1, gpus_by_type={"cpu-slot": 1}, actor=world.cast.alice)
    world.job()
    found = take_snapshot(world.backend.inventory(), now=world.now, round_number=1)
    (tenant,) = [one for one in found.tenants if one.user_limits]
    (one,) = tenant.user_limits
    bob = str(world.cast.bob.id)
    assert (one.user, one.name, one.max_gpus, one.gpus_by_type) == (bob, "bob", 1, (("cpu-slot", 1),))
    assert [one.user for one in found.jobs] == [bob]


@pytest.mark.slow
def test_a_preview_counts_the_limits_of_a_user_who_has_no_job_yet(world: World) -> None:
    limit(world.cast, world.cast.alice, username="bob", max_gpus=1)
    world.job(min_workers=1, max_workers=1)
    world.rounds(3)
    cast, dataset = world.cast, ready_dataset(world.cast.project_a, world.cast.alice)
    limit(cast, cast.alice, username="alice", max_gpus=0)
    body = {"dataset_version": str(dataset.id), "model": str(builtin().model_id), "epochs": 1, "batch_size": 4}
    answer = cast.client(cast.alice).post("/api/v1/jobs/preview", body, format="json").json()
    assert answer["plan"]["explanations"][0]["reason"] == "larger_than_user_quota"
