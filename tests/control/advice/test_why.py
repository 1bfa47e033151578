# SPDX-License-Identifier: Apache-2.0
"""Why a job waits or runs as it does, and which actions help: as the live policy confirms, within what one may see."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mlhub.cli.commands.training.jobs import analysis_lines
from mlhub.control.advice import whatif
from mlhub.control.models import SchedulerSettings
from mlhub.control.observation import maintenance
from mlhub.jobs.models import Attempt, Intent, Job
from mlhub.jobs.states import JobState
from mlhub.tenants.models import Quota
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """Fifo on four GPUs, two a node."""
    found = World(make_cast(), now=datetime.now(UTC) - timedelta(seconds=60))
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": "fifo"})
    return found


def why(world: World, of: Job, *, user: Any = None, **query: Any) -> dict[str, Any]:
    answer = world.cast.client(user or world.cast.bob).get(f"/api/v1/jobs/{of.id}/why", query)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def test_a_job_that_lacks_gpus_sees_need_against_have_who_is_ahead_and_when_it_starts(world: World) -> None:
    running = world.job(name="running", min_workers=3, max_workers=3, steps_total=1_000_000)
    first = world.job(name="first", min_workers=2, max_workers=2)
    world.round()
    last = world.job(name="last", min_workers=4, max_workers=4)
    world.rounds(3)
    assert (state(running), state(first)) == (JobState.RUNNING, JobState.QUEUED)
    analysis = why(world, last)["analysis"]
    (gpus,) = [blocker for blocker in analysis["blockers"] if blocker["kind"] == "free_gpus"]
    assert (gpus["need"], gpus["have"], gpus["total"], gpus["is_blocking"]) == (4, 1, 4, True)
    assert gpus["sentence"] == "Free GPUs of type cpu-slot: 1 of 4; it needs 4."
    (ahead,) = analysis["ahead"]["jobs"]
    assert (ahead["name"], ahead["explanation"]["reason"]) == ("first", "submitted_earlier")
    assert why(world, first)["analysis"]["awaited"]["name"] == "running"


def test_a_job_that_waits_for_gpus_learns_that_others_are_on_nodes_that_take_no_new_jobs(world: World) -> None:
    world.round()
    maintenance.cordon("n1", actor=world.cast.root, reason="new fans", now=world.now)
    world.job(name="running", min_workers=1, max_workers=1, steps_total=1_000_000)
    world.rounds(3)
    waiting = world.job(name="waiting", min_workers=2, max_workers=2)
    world.rounds(2)
    assert state(waiting) == JobState.QUEUED
    (gpus,) = [one for one in why(world, waiting)["analysis"]["blockers"] if one["kind"] == "free_gpus"]
    assert gpus["sentence"] == (
        "Free GPUs of type cpu-slot: 1 of 2; it needs 2. 2 more GPUs are on nodes that take no new jobs: cordoned, "
        "drained, excluded or not ready."
    )


def test_a_job_that_waits_for_a_node_that_is_not_ready_learns_which_and_why(world: World) -> None:
    world.round()
    world.job(name="running", min_workers=1, max_workers=1, steps_total=1_000_000)
    world.rounds(2)
    message = "Its agent has not reported since 2026-03-02 09:00:00 UTC, and gets no new jobs."
    nodes = world.backend.nodes
    taken = Attempt.objects.get(job__name="running").placement().workers[0][0]
    world.backend.nodes = [one if one.name == taken else replace(one, is_ready=False, message=message) for one in nodes]
    waiting = world.job(name="waiting", min_workers=2, max_workers=2)
    world.rounds(2)
    silent = next(one.name for one in nodes if one.name != taken)
    (gpus,) = [one for one in why(world, waiting)["analysis"]["blockers"] if one["kind"] == "free_gpus"]
    assert gpus["sentence"].endswith(f"cordoned, drained, excluded or not ready. {silent} is not ready: {message}")
    answer = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{waiting.id}/why", headers={"Accept-Language": "zh"})
    (gpus,) = [one for one in answer.json()["analysis"]["blockers"] if one["kind"] == "free_gpus"]
    assert "2026-03-02 09:00:00" in gpus["sentence"]
    assert "has not reported" not in gpus["sentence"]


def test_an_action_that_the_policy_confirms_is_advised_with_its_new_start(world: World) -> None:
    world.job(name="running", min_workers=3, max_workers=3, steps_total=1_000_000)
    waiting = world.job(name="waiting", min_workers=2, max_workers=2)
    world.rounds(3)
    actions = {action["kind"]: action for action in why(world, waiting)["analysis"]["actions"]}
    fewer = actions["fewer_workers"]
    assert (fewer["changes"], fewer["starts_now"], fewer["by"]) == ({"min_workers": 1}, True, "member")
    assert fewer["sentence"] == "Start with 1 GPU instead of 2."
    assert fewer["gain_s"] > 0
    assert actions["pause_job"]["sentence"] == "Pause running."
    Job.objects.filter(pk=waiting.pk).update(min_workers=1)  # the action is taken, and what was said comes true
    world.rounds(2)
    assert state(waiting) == JobState.RUNNING


def test_a_job_over_its_quota_is_advised_the_quota_that_an_administrator_would_have_to_set(world: World) -> None:
    Quota.objects.filter(organisation=world.cast.a).update(max_gpus=2)
    world.job(min_workers=2, max_workers=2, steps_total=1_000_000)
    waiting = world.job(min_workers=2, max_workers=2)
    world.rounds(3)
    analysis = why(world, waiting)["analysis"]
    (quota,) = [blocker for blocker in analysis["blockers"] if blocker["kind"] == "quota_gpus"]
    assert (quota["tenant"], quota["need"], quota["have"], quota["total"]) == (world.cast.a.name, 2, 0, 2)
    larger = next(action for action in analysis["actions"] if action["kind"] == "larger_quota")
    assert (larger["by"], larger["changes"], larger["starts_now"]) == ("administrator", {"max_gpus": 4}, True)


def test_jobs_of_other_organisations_are_counted_and_not_named(world: World) -> None:
    cast = world.cast
    hers = job(cast.project_b, cast.charlie, name="her-secret", min_workers=4, max_workers=4, steps_total=1_000_000)
    ahead = job(cast.project_b, cast.charlie, name="her-other", min_workers=4, max_workers=4)
    Job.objects.filter(pk__in=[hers.pk, ahead.pk]).update(submitted_at=world.now - timedelta(seconds=60))
    world.round()
    waiting = world.job(name="ours", min_workers=2, max_workers=2)
    world.rounds(2)
    answer = why(world, waiting)
    assert answer["analysis"]["ahead"] == {"n_jobs": 1, "n_others": 1, "jobs": []}
    assert "her-" not in str(answer)
    assert str(hers.id) not in str(answer)
    assert str(ahead.id) not in str(answer)
    assert cast.client(cast.charlie).get(f"/api/v1/jobs/{waiting.id}/why").status_code == 404


def test_ended_and_paused_jobs_get_an_ordinary_answer_that_says_so(world: World) -> None:
    one = world.job()
    Job.objects.filter(pk=one.pk).update(state=JobState.SUCCEEDED)
    answer = why(world, one)
    assert (answer["analysis"], answer["note"].split(":")[0]) == (None, "It has ended")
    Job.objects.filter(pk=one.pk).update(state=JobState.PAUSED, intent=Intent.PAUSE)
    assert why(world, one)["note"].startswith("It is paused")


@pytest.mark.parametrize(
    ("state", "headline"),
    [
        (JobState.SUCCEEDED, "The job succeeded."),
        (JobState.FAILED, "The job failed."),
        (JobState.CANCELLED, "The job was cancelled."),
        (JobState.RUNNING, "The job is running."),
        (JobState.PAUSED, "The job is paused."),
    ],
)
def test_without_a_reason_the_headline_is_a_sentence_about_the_state(
    world: World, state: JobState, headline: str
) -> None:
    one = world.job()
    Job.objects.filter(pk=one.pk).update(state=state)
    assert why(world, one)["headline"] == headline


def test_a_policy_that_fails_leaves_the_rest_of_the_answer(world: World) -> None:
    waiting = world.job()
    world.settle(policy="no-such-policy")
    answer = why(world, waiting)
    assert answer["analysis"] is None
    assert answer["note"] == "The policy no-such-policy has no answer; platform administrators see why."
    assert answer["headline"]


def test_no_question_waits_for_another_analysis_for_long(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = world.job()
    monkeypatch.setattr(whatif, "BUSY_AFTER_S", 0.01)
    client, of_job = world.cast.client(world.cast.bob), {"cancel": [str(waiting.id)]}
    with whatif._one_at_a_time:  # as if another web thread had its analysis made
        answer = why(world, waiting)
        refused = client.post("/api/v1/what-if", of_job)
    assert (answer["analysis"], bool(answer["headline"])) == (None, True)
    assert answer["note"] == "Another analysis is under way; ask again in a few seconds."
    assert (refused.status_code, refused.json()["code"]) == (422, "no_answer"), refused.content
    assert "Another analysis is under way" in refused.json()["detail"]
    assert why(world, waiting)["analysis"] is not None


def test_the_analysis_can_be_left_out_and_unknown_queries_are_refused(world: World) -> None:
    waiting = world.job()
    assert why(world, waiting, analysis="false")["note"] == "It was not asked for."
    assert world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{waiting.id}/why", {"x": 1}).status_code == 400


def test_the_command_line_prints_what_is_lacking_and_what_would_help(world: World) -> None:
    world.job(name="running", min_workers=3, max_workers=3, steps_total=1_000_000)
    world.job(name="first", min_workers=2, max_workers=2)
    world.round()
    last = world.job(name="last", min_workers=4, max_workers=4)
    world.rounds(3)
    lines = analysis_lines(why(world, last)["analysis"])
    assert "Lacking: Free GPUs of type cpu-slot: 1 of 4; it needs 4." in lines
    assert any(line.startswith("Ahead: first. first was submitted") for line in lines)
    assert any(line.startswith("Would help: ") and "earlier;" in line for line in lines)
