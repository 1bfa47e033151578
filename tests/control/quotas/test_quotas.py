# SPDX-License-Identifier: Apache-2.0
"""Guarantees of organisations, teams and projects: who may set them, what they do, and what would become of jobs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mlhub.backends.fake import FakeBackend
from mlhub.control.rounds.loop import Loop
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.tenants.actions import create_project, create_team, set_quota
from mlhub.tenants.models import Project
from tests.cast import Cast, make_cast
from tests.control.worlds import node
from tests.jobs.builders import LONG, job

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def play(rounds: int = 1) -> None:
    """Four GPUs on two nodes."""
    loop = Loop(FakeBackend([node("n0"), node("n1", "r1")], now=NOW), now=lambda: NOW)
    for _ in range(rounds):
        loop.round()


def tree(cast: Cast, user: Any) -> dict[str, Any]:
    answer = cast.client(user).get(f"/api/v1/organisations/{cast.a.id}/quota-tree").json()
    return {row["name"]: row for row in answer["owners"]}


def test_the_tree_shows_who_borrows_from_whom(cast: Cast) -> None:
    set_quota(cast.a, guarantee=1, actor=cast.root)
    set_quota(cast.b, guarantee=3, actor=cast.root)
    for i in range(2):
        job(cast.project_a, cast.bob, name=f"j{i}", max_workers=1)
    job(cast.project_a, cast.bob, name="large", min_workers=4)
    play()
    found = tree(cast, cast.bob)
    assert list(found) == ["A", "vision"]
    top = found["A"]
    assert (top["guaranteed"], top["used"], top["borrowed"], top["queued_gpus"]) == (1, 2, 1, 4)
    assert found["vision"]["above"] == str(cast.a.id)
    theirs = cast.client(cast.charlie).get(f"/api/v1/organisations/{cast.b.id}/quota-tree").json()["owners"][0]
    assert (theirs["lent"], theirs["used"]) == (1, 0)
    assert cast.client(cast.charlie).get(f"/api/v1/organisations/{cast.a.id}/quota-tree").status_code == 404


def test_the_event_of_a_reclaim_says_to_whom_its_gpus_are_guaranteed(cast: Cast) -> None:
    set_quota(cast.b, guarantee=4, actor=cast.root)
    loop = Loop(FakeBackend([node("n0"), node("n1", "r1")], now=NOW), now=lambda: NOW)
    job(cast.project_a, cast.bob, name="borrows", min_workers=4, **LONG)
    for _ in range(2):
        loop.round()
    job(cast.project_b, cast.charlie, name="owns", min_workers=4)
    loop.round()
    stopped = Event.objects.get(kind="job.state", facts__after="stopping")
    assert (stopped.facts["name"], stopped.facts["reason"]) == ("borrows", "preempted")
    assert stopped.facts["why"].startswith("Reclaimed: ")
    assert "owns" not in stopped.facts["why"]


def test_admins_share_out_their_organisation_s_guarantee_and_no_one_else_does(cast: Cast) -> None:
    set_quota(cast.a, guarantee=4, actor=cast.root)
    path = f"/api/v1/projects/{cast.project_a.id}/quota"
    for user, status in ((cast.bob, 403), (cast.victor, 403), (cast.charlie, 404), (None, 401)):
        assert cast.client(user).patch(path, {"guarantee": 1}).status_code == status
    changed = cast.client(cast.alice).patch(path, {"guarantee": 3, "lend_limit": 1, "reclaim": "never", "version": 1})
    assert changed.status_code == 200, changed.content
    assert (changed.json()["guaranteed"], changed.json()["version"]) == (3, 2)
    assert cast.client(cast.alice).patch(path, {"guarantee": 2, "version": 1}).status_code == 409
    top = cast.client(cast.alice).patch(f"/api/v1/organisations/{cast.a.id}/quota", {"guarantee": 9})
    assert top.status_code == 403


@pytest.mark.parametrize(
    ("change", "field", "remedy"),
    [
        ({"guarantee": 3}, "guarantee", "Give at most 2, or have the guarantee of A raised."),
        ({"guarantee": 2, "max_gpus": 1}, "guarantee", "Guarantee at most 1, or raise max_gpus."),
        ({"borrow_limit": -1}, "borrow_limit", None),
        ({"reclaim": "perhaps"}, "reclaim", None),
        ({"weight": 0}, "weight", "Give more than 0, 1 for the usual."),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_field_and_remedy(
    cast: Cast, change: dict[str, Any], field: str, remedy: str | None
) -> None:
    set_quota(cast.a, guarantee=4, actor=cast.root)
    team = create_team(cast.a, name="perception", actor=cast.alice)
    set_quota(team, guarantee=2, actor=cast.alice)
    refused = cast.client(cast.alice).patch(f"/api/v1/projects/{cast.project_a.id}/quota", change)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"] == field
    assert remedy is None or error["remedy"] == remedy


def test_a_guarantee_cannot_sink_below_what_is_shared_out(cast: Cast) -> None:
    set_quota(cast.a, guarantee=4, actor=cast.root)
    set_quota(cast.project_a, guarantee=3, actor=cast.alice)
    refused = cast.client(cast.root).patch(f"/api/v1/organisations/{cast.a.id}/quota", {"guarantee": 2})
    assert refused.status_code == 422
    assert "Give at least 3, or lower theirs first." in refused.content.decode()


def test_a_change_is_an_event_with_before_and_after(cast: Cast) -> None:
    from mlhub.events.models import Event

    set_quota(cast.a, guarantee=4, actor=cast.root)
    set_quota(cast.project_a, guarantee=3, actor=cast.alice)
    event = Event.objects.filter(kind="quota.changed").latest("id")
    assert (event.facts["before"], event.facts["after"]) == ({"guarantee": None}, {"guarantee": 3})
    assert (event.facts["owner"], event.facts["owner_kind"]) == ("vision", "project")


def test_the_loop_takes_lent_gpus_back_for_their_owner(cast: Cast) -> None:
    set_quota(cast.b, guarantee=4, actor=cast.root)
    borrowed = job(cast.project_a, cast.bob, min_workers=4, max_workers=4)
    play()
    assert Job.objects.get(pk=borrowed.pk).state == "starting"
    Job.objects.filter(pk=borrowed.pk).update(state="running")
    own = job(cast.project_b, cast.charlie, min_workers=4, max_workers=4)
    assert _decided(own, borrowed) == ("wait", "preempt")


def _decided(*jobs: Job) -> tuple[str, ...]:
    from mlhub.control.rounds.snapshots import take_snapshot
    from scheduler import RoundMemory, decide, policy_named

    snapshot = take_snapshot([node("n0"), node("n1", "r1")], now=NOW, round_number=1)
    plan = decide(snapshot, policy=policy_named("fifo", {}), memory=RoundMemory())
    return tuple(type(plan.of(str(j.id))).__name__.lower() for j in jobs)


def test_a_project_s_part_counts_where_it_has_one_and_its_organisation_s_elsewhere(cast: Cast) -> None:
    from mlhub.control.quotas.quota_tree import tree_of

    other: Project = create_project(cast.a, name="speech", actor=cast.alice)
    set_quota(cast.project_a, max_gpus=1, actor=cast.alice)
    found = tree_of({cast.a.id}, now=NOW)
    assert [t.name for t in found.tenants] == ["A", "vision"]
    assert found.tenant_of == {cast.project_a.id: str(cast.project_a.id), other.id: str(cast.a.id)}


def test_a_preview_shows_which_jobs_would_give_back_and_which_would_start(cast: Cast) -> None:
    speech: Project = create_project(cast.a, name="speech", actor=cast.alice)
    running = job(cast.project_a, cast.bob, min_workers=4, max_workers=4, name="running")
    play()
    Job.objects.filter(pk=running.pk).update(state="running")
    waiting = job(speech, cast.bob, min_workers=2, max_workers=2, name="waiting")
    set_quota(cast.a, guarantee=4, actor=cast.root)
    asked = {"quotas": [{"project": str(speech.id), "guarantee": 4}]}
    answer = cast.client(cast.alice).post("/api/v1/what-if", asked, format="json")
    assert answer.status_code == 200, answer.content
    effects = {e["name"]: e for e in answer.json()["effects"]}
    assert effects["running"]["before"]["decision"] == "keep"
    assert effects["running"]["after"]["decision"] == "preempt"
    assert "is guaranteed 0" in effects["running"]["after"]["explanations"][0]["sentence"]
    assert Job.objects.get(pk=waiting.pk).state == "queued"
    outsider = cast.client(cast.charlie).post("/api/v1/what-if", asked, format="json")
    assert outsider.status_code in (404, 422)


def test_projects_of_an_organisation_that_shares_fairly_get_their_parts_by_weight(cast: Cast) -> None:
    speech: Project = create_project(cast.a, name="speech", actor=cast.alice)
    set_quota(cast.a, shares_fairly=True, actor=cast.root)
    set_quota(cast.project_a, weight=3.0, actor=cast.alice)
    for i in range(4):
        job(speech, cast.bob, name=f"s{i}", max_workers=1)
    for i in range(4):
        job(cast.project_a, cast.bob, name=f"v{i}", max_workers=1)
    play()
    started = Job.objects.filter(state="starting").values_list("name", flat=True)
    assert sorted(name[0] for name in started) == ["s", "v", "v", "v"]


def test_organisations_share_fairly_where_the_platform_says_so(cast: Cast) -> None:
    from mlhub.control.quotas.quota_tree import PLATFORM, tree_of

    for i in range(4):
        job(cast.project_a, cast.bob, name=f"a{i}", max_workers=1)
    for i in range(4):
        job(cast.project_b, cast.charlie, name=f"b{i}", max_workers=1)
    settings = {"shares_fairly": True, "half_life_s": 7200, "policy": "fifo"}
    assert cast.client(cast.alice).patch("/api/v1/scheduler/settings", settings).status_code == 403
    saved = cast.client(cast.root).patch("/api/v1/scheduler/settings", settings)
    assert (saved.json()["shares_fairly"], saved.json()["half_life_s"]) == (True, 7200.0)
    top = tree_of({cast.a.id, cast.b.id}, now=NOW).tenants[0]
    assert (top.id, top.shares_fairly, top.half_life_s) == (PLATFORM, True, 7200.0)
    play()
    started = Job.objects.filter(state="starting").values_list("name", flat=True)
    assert sorted(name[0] for name in started) == ["a", "a", "b", "b"]


def test_how_parts_share_is_set_by_admins_and_refused_where_it_makes_no_sense(cast: Cast) -> None:
    team = create_team(cast.a, name="perception", actor=cast.alice)
    path = f"/api/v1/teams/{team.id}/quota"
    changed = cast.client(cast.alice).patch(path, {"shares_fairly": True, "half_life_s": 3600})
    assert changed.status_code == 200, changed.content
    assert (changed.json()["shares_fairly"], changed.json()["half_life_s"]) == (True, 3600.0)
    assert cast.client(cast.bob).patch(path, {"shares_fairly": False}).status_code == 403
    refused = cast.client(cast.alice).patch(path, {"half_life_s": -1})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "half_life_s"
    assert cast.client(cast.charlie).patch(path, {"half_life_s": 1}).status_code == 404
