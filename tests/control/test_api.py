# SPDX-License-Identifier: Apache-2.0
"""Cluster, quotas, reasons and settings through the public door."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.backends.fake import FakeBackend
from mlhub.clusters.models import Node, Rack
from mlhub.control.models import Round, SchedulerSettings, SchedulerState
from mlhub.control.rounds.loop import Loop
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from tests.cast import Cast, make_cast
from tests.control.worlds import node
from tests.jobs.builders import LONG, job

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=3)


def play(cast: Cast) -> Any:
    """Bob's job runs on the cluster."""
    running = job(cast.project_a, cast.bob, **LONG)
    loop = Loop(FakeBackend([node("n0"), node("n1", "r1")]), now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    loop.round()
    return running


def set_policy(name: str, **others: Any) -> None:
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": name, **others})


def running_loop() -> Loop:
    """On four GPUs, of which organisation A may have three."""
    return Loop(FakeBackend([node("n0"), node("n1", "r1")]), now=lambda: datetime(2026, 1, 1, tzinfo=UTC))


def slots(cast: Cast, user: Any) -> list[Any]:
    answer = cast.client(user).get("/api/v1/cluster").json()
    return [s["job"] for rack in answer["racks"] for n in rack["nodes"] for s in n["slots"] if s["job"]]


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_reasons_of_a_waiting_job_are_reported(cast: Cast) -> None:
    play(cast)
    waiting = job(cast.project_a, cast.bob, min_workers=3)
    body = cast.client(cast.bob).get(f"/api/v1/jobs/{waiting.id}/why").json()
    assert body["state"] == "queued"
    assert body["headline"]
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


def test_an_administrator_sets_parameters_budget_and_shadow_and_the_wrong_one_is_named(cast: Cast) -> None:
    root, path = cast.client(cast.root), "/api/v1/scheduler/settings"
    shown = root.get(path).json()
    known = {policy["name"]: policy["parameters"] for policy in shown["known"]}
    name, default = next((k, v) for k, v in known["mlhub"].items() if isinstance(v, int | float))
    changed = root.patch(path, {"parameters": {name: default}, "budget_s": 3, "shadow_policy": "srtf"}).json()
    assert (changed["parameters"], changed["budget_s"], changed["shadow_policy"]) == ({name: default}, 3, "srtf")
    for wrong, field in (
        ({"parameters": {name: default, "luck": 7}}, "parameters.luck"),
        ({"parameters": {name: "much"}}, f"parameters.{name}"),
        ({"shadow_policy": "chance"}, "shadow_policy"),
        ({"shadow_parameters": {"luck": 7}}, "shadow_parameters.luck"),
        ({"budget_s": 0}, "budget_s"),
    ):
        refused = root.patch(path, wrong)
        assert refused.status_code == 422
        assert [e["field"] for e in refused.json()["errors"]] == [field]
    assert root.patch(path, {"policy": "fifo", "version": shown["version"]}).status_code == 409
    assert root.get(path).json()["policy"] == "mlhub"
    assert root.patch(path, {"shadow_policy": ""}).json()["shadow_policy"] == ""
    audit = Event.objects.filter(kind="scheduler.changed").order_by("id")
    assert (audit.count(), audit[0].actor, audit[0].facts["after"]["budget_s"]) == (2, cast.root, 3)


def queue(cast: Cast, user: Any, **query: Any) -> Any:
    return cast.client(user).get("/api/v1/queue", query).json()


def test_the_queue_of_a_gpu_type_has_the_jobs_that_may_use_it_with_their_places_among_all(cast: Cast) -> None:
    types = {"any": None, "both": ["V100", "A100"], "old": ["V100"], "new": ["A100"], "gone": ["K80"]}
    made = {
        name: job(cast.project_a, cast.bob, name=name, resources={"gpu_types": named} if named else {})
        for name, named in types.items()
    }
    job(cast.project_b, cast.charlie, name="hers", resources={"gpu_types": ["P100"]})
    SchedulerState.objects.update_or_create(pk=1, defaults={"order": [str(one.pk) for one in made.values()]})
    for name, gpu_type in (("n0", "V100"), ("n1", "A100")):
        Node.objects.create(
            name=name, rack=Rack.objects.get_or_create(name="r0", defaults={"uplink_bps": 1e9})[0], gpu_type=gpu_type,
            n_slots=4, cpus=8, memory_bytes=2**36, nic_bps=1e9, is_ready=True, is_schedulable=True,
            observed_at=timezone.now(),
        )  # fmt: skip
    places = {
        gpu_type: {row["name"]: row["place"] for row in queue(cast, cast.bob, gpu_type=gpu_type)["results"]}
        for gpu_type in ("V100", "A100", "K80")
    }
    assert places == {
        "V100": {"any": 1, "both": 2, "old": 3}, "A100": {"any": 1, "both": 2, "new": 4}, "K80": {"gone": 5},
    }  # fmt: skip
    client = cast.client(cast.bob)
    first = queue(cast, cast.bob, gpu_type="A100", limit=2)
    assert [row["name"] for row in client.get(first["next"]).json()["results"]] == ["new"]  # the filter goes along
    for wrong in ("v100", "P100"):  # a typo, and what only another tenant's job names
        refused = client.get("/api/v1/queue", {"gpu_type": wrong})
        (error,) = refused.json()["errors"]
        assert (refused.status_code, error["field"]) == (400, "gpu_type")
        assert "A100, V100" in error["remedy"]


@pytest.mark.slow
def test_the_queue_is_in_the_order_in_which_the_scheduler_serves(cast: Cast) -> None:
    set_policy("fifo")
    loop = running_loop()
    job(cast.project_a, cast.bob, name="running", min_workers=3)
    loop.round()
    for name, priority in (("low", -1), ("high", 9), ("usual", 0)):
        job(cast.project_a, cast.bob, name=name, min_workers=3, priority=priority)
    job(cast.project_b, cast.charlie, name="hers", min_workers=3, priority=5)
    loop.round()
    assert [(j["name"], j["place"]) for j in queue(cast, cast.root)["results"]] == [
        ("high", 1), ("hers", 2), ("usual", 3), ("low", 4),
    ]  # fmt: skip
    assert [(j["name"], j["place"]) for j in queue(cast, cast.charlie)["results"]] == [("hers", 2)]
    first = queue(cast, cast.bob, limit=2)
    assert [j["name"] for j in first["results"]] == ["high", "usual"]
    assert [j["name"] for j in cast.client(cast.bob).get(first["next"]).json()["results"]] == ["low"]
    assert cast.client(cast.bob).get("/api/v1/queue", {"limit": "x"}).status_code == 422
    shown = queue(cast, cast.root, owner="charlie", fields="name,place")["results"]
    assert shown == [{"name": "hers", "place": 2}]
    assert queue(cast, cast.bob, owner="charlie")["results"] == []
    assert cast.client(cast.bob).get("/api/v1/queue", {"fields": "luck"}).status_code == 400


@pytest.mark.slow
def test_a_job_shows_its_place_and_its_history(cast: Cast) -> None:
    set_policy("fifo")
    loop = running_loop()
    running = job(cast.project_a, cast.bob, name="running", min_workers=3)
    waiting = job(cast.project_a, cast.bob, name="waiting", min_workers=3)
    loop.round()
    loop.round()
    why = cast.client(cast.victor).get(f"/api/v1/jobs/{waiting.id}/why").json()
    assert why["place"] == 1
    assert [d["decision"] for d in why["history"]] == ["wait"]
    assert why["history"][0]["explanations"][0]["sentence"]
    assert (why["costs"]["restart"]["basis"], why["costs"]["restart"]["sentence"]) == ("prior", "17 s ± 15 s (a guess)")
    body = cast.client(cast.bob).get(f"/api/v1/jobs/{running.id}/why").json()
    assert body["place"] is None
    (launch,) = body["history"]
    assert (launch["decision"], launch["n_workers"], launch["policy"]) == ("launch", 3, "fifo")
    assert cast.client(cast.charlie).get(f"/api/v1/jobs/{waiting.id}/why").status_code == 404


def test_rounds_about_a_job_show_its_people_only_what_was_done_to_it(cast: Cast) -> None:
    set_policy("fifo")
    loop = running_loop()
    ours = job(cast.project_a, cast.bob, name="ours", min_workers=2, max_workers=2)
    hers = job(cast.project_b, cast.charlie, name="hers", min_workers=2, max_workers=2)
    loop.round()
    path = f"/api/v1/rounds?job={ours.id}"
    (shown,) = cast.client(cast.bob).get(path).json()["results"]
    assert shown["applied"] == [{"job": str(ours.id), "decision": "launch", "outcome": "launched"}]
    assert str(hers.id) not in cast.client(cast.bob).get(path).content.decode()
    assert cast.client(cast.charlie).get(path).status_code == 404
    assert cast.client(cast.bob).get("/api/v1/rounds?job=nonsense").status_code == 422
    (everything,) = cast.client(cast.root).get("/api/v1/rounds").json()["results"]
    assert len(everything["applied"]) == 2
    assert everything["n_jobs"] == 2


def test_failures_and_machines_that_are_away_are_shown_and_their_words_to_administrators_only(cast: Cast) -> None:
    loop = running_loop()
    loop.round()
    loop.backend.is_away = True  # type: ignore[attr-defined]
    loop.round()
    for user, words in ((cast.root, "The backend cannot be reached."), (cast.bob, "")):
        status = cast.client(user).get("/api/v1/scheduler/status").json()
        assert (status["backend_away_since"] is not None, status["backend_message"]) == (True, words)
        standing = cast.client(user).get("/api/v1/cluster").json()["backend"]
        assert (standing["away_since"] is not None, standing["message"]) == (True, words)
    loop.backend.is_away = False  # type: ignore[attr-defined]
    SchedulerSettings.objects.filter(pk=1).update(parameters={"luck": 7})
    loop.round()
    body = cast.client(cast.root).get("/api/v1/scheduler/status").json()
    assert body["backend_away_since"] is None
    assert "luck" in body["failure"]["message"]
    assert body["n_failures"] == 1
    assert cast.client(cast.bob).get("/api/v1/scheduler/status").json()["failure"] is None


def test_insight_shows_calibration_and_shadow_to_administrators_only(cast: Cast) -> None:
    path = "/api/v1/scheduler/insight"
    set_policy("fifo", shadow_policy="srtf")
    play(cast)
    shown = cast.client(cast.root).get(path).json()
    assert [m["moment"] for m in shown["calibration"]] == ["submission", "launch"]
    assert (shown["shadow"]["policy"], shown["shadow"]["n_rounds"]) == ("srtf", 1)
    assert shown["costs"] == []
    Round.objects.update(at=timezone.now())  # it was made at a time of its own
    rounds = cast.client(cast.root).get(path).json()["rounds"]
    assert (rounds["n_rounds"], rounds["n_decisions"]) == (1, len(Round.objects.get().applied))
    assert rounds["n_decisions"] > 0
    assert rounds["round_p50_ms"] == pytest.approx(Round.objects.get().round_ms)
    newest = Round.objects.get()
    for times in (2, 3):  # later rounds of twice and three times as long, and one that is too old to count
        Round.objects.create(at=newest.at, policy="fifo", snapshot={}, round_ms=times * newest.round_ms)
    Round.objects.create(at=newest.at - timedelta(hours=2), policy="fifo", snapshot={}, round_ms=10**9)
    rounds = cast.client(cast.root).get(path).json()["rounds"]
    assert rounds["n_rounds"] == 3
    assert rounds["round_p50_ms"] == pytest.approx(2 * newest.round_ms)
    assert rounds["round_p99_ms"] == pytest.approx(2.98 * newest.round_ms)
    pending = Job.objects.filter(state="queued").order_by("submitted_at").first()
    assert (rounds["oldest_pending_s"] is None) == (pending is None)
    for user, status in ((cast.alice, 403), (None, 401)):
        assert cast.client(user).get(path).status_code == status
