"""Cluster, quotas, reasons and settings through the public door."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mlhub.backends.fake import FakeBackend
from mlhub.control.loop import Loop
from tests.cast import Cast, make_cast
from tests.control.worlds import node
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=3)


def play(cast: Cast) -> Any:
    """Bob's job runs on the cluster."""
    running = job(cast.project_a, cast.bob)
    loop = Loop(FakeBackend([node("n0"), node("n1", "r1")]), now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    loop.round()
    return running


def slots(cast: Cast, user: Any) -> list[Any]:
    answer = cast.client(user).get("/api/v1/cluster").json()
    return [s["job"] for rack in answer["racks"] for n in rack["nodes"] for s in n["slots"] if s["job"]]


def test_a_slot_shows_whose_job_is_on_it_to_those_who_may_know(cast: Cast) -> None:
    running = play(cast)
    for user in (cast.bob, cast.victor, cast.root):
        assert {s["id"] for s in slots(cast, user)} == {str(running.id)}
    assert {(s["id"], s["name"], s["organisation"]) for s in slots(cast, cast.charlie)} == {(None, None, None)}
    totals = cast.client(cast.charlie).get("/api/v1/cluster").json()["totals"]
    assert totals["gpus"] == 4
    assert totals["free_gpus"] == 4 - len(slots(cast, cast.charlie))


def test_a_quota_shows_its_use_and_only_administrators_change_it(cast: Cast) -> None:
    play(cast)
    path = f"/api/v1/organisations/{cast.a.id}/quota"
    shown = cast.client(cast.bob).get(path).json()
    assert shown["max_gpus"] == 3
    assert 2 <= shown["used"]["gpus"] <= 3
    assert shown["used"]["running_jobs"] == 1
    for user, status in ((cast.alice, 403), (cast.charlie, 404), (None, 401)):
        assert cast.client(user).patch(path, {"max_gpus": 9}).status_code == status
    root = cast.client(cast.root)
    changed = root.patch(path, {"max_gpus": 2, "max_storage_bytes": None, "version": shown["version"]})
    assert (changed.status_code, changed.json()["max_gpus"]) == (200, 2)
    assert root.patch(path, {"max_gpus": 1, "version": shown["version"]}).status_code == 409
    assert root.patch(path, {"max_gpus": -1}).status_code == 422


def test_the_reasons_of_a_waiting_job_are_told(cast: Cast) -> None:
    play(cast)
    waiting = job(cast.project_a, cast.bob, min_workers=3)
    told = cast.client(cast.bob).get(f"/api/v1/jobs/{waiting.id}/why").json()
    assert told["state"] == "queued"
    assert told["headline"]
    assert [j["id"] for j in cast.client(cast.bob).get("/api/v1/queue").json()["results"]] == [str(waiting.id)]


def test_the_policy_is_an_administrator_s_choice_and_unknown_ones_are_named(cast: Cast) -> None:
    root = cast.client(cast.root)
    assert root.get("/api/v1/scheduler/settings").json()["policy"] == "mlhub"
    assert root.patch("/api/v1/scheduler/settings", {"policy": "fifo"}).json()["policy"] == "fifo"
    refused = root.patch("/api/v1/scheduler/settings", {"policy": "luck"})
    assert refused.status_code == 422
    assert "fifo" in refused.json()["detail"]
    assert root.patch("/api/v1/scheduler/settings", {"parameters": {"speed": 11}}).status_code == 422
    assert cast.client(cast.alice).patch("/api/v1/scheduler/settings", {"policy": "srtf"}).status_code == 403


def test_rounds_name_everybody_s_jobs_and_are_for_administrators(cast: Cast) -> None:
    play(cast)
    (shown,) = cast.client(cast.root).get("/api/v1/rounds").json()["results"]
    detail = cast.client(cast.root).get(f"/api/v1/rounds/{shown['id']}").json()
    assert detail["snapshot"]
    assert detail["plan"]
    for path in ("/api/v1/rounds", f"/api/v1/rounds/{shown['id']}"):
        assert cast.client(cast.charlie).get(path).status_code == 403
