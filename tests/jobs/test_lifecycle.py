# SPDX-License-Identifier: Apache-2.0
"""The life of a job: the table is sound, and its only writer moves a row once, with its event."""

from __future__ import annotations

from collections import deque

import pytest

from mlhub.events.models import Event
from mlhub.jobs.lifecycle import IllegalTransitionError, advance
from mlhub.jobs.states import ENDED, TRANSITIONS, JobState, Trigger
from tests.cast import make_cast
from tests.jobs.builders import job


def test_every_state_can_be_reached_and_left_but_ended_ones_by_resuming_alone() -> None:
    reached, todo = {JobState.QUEUED}, deque([JobState.QUEUED])
    while todo:
        state = todo.popleft()
        for (before, _), after in TRANSITIONS.items():
            if before == state and after not in reached:
                reached.add(after)
                todo.append(after)
    assert reached == set(JobState)
    leaving = {before for before, _ in TRANSITIONS}
    assert leaving == set(JobState) - set(ENDED) | {JobState.FAILED, JobState.CANCELLED}
    for ended in (JobState.FAILED, JobState.CANCELLED):
        assert [trigger for before, trigger in TRANSITIONS if before == ended] == [Trigger.RESUME]


def test_a_job_that_is_stopping_ends_somewhere_whatever_its_gang_does() -> None:
    ends = {trigger for (state, trigger) in TRANSITIONS if state is JobState.STOPPING}
    assert {t for t in Trigger if t.startswith("gang_")} == ends


@pytest.mark.django_db
def test_a_transition_changes_the_row_and_appends_one_event() -> None:
    cast = make_cast()
    queued = job(cast.project_a, cast.bob)
    moved = advance(queued.id, trigger=Trigger.CANCEL, reason="because", actor=cast.bob)
    queued.refresh_from_db()
    assert moved is not None
    assert (moved.before, moved.after) == (JobState.QUEUED, JobState.CANCELLED)
    assert (queued.state, queued.version, queued.reason) == ("cancelled", 2, "because")
    assert queued.finished_at is not None
    event = Event.objects.get(kind="job.state", subject_id=queued.id)
    assert event.actor == cast.bob
    assert (event.facts["before"], event.facts["after"]) == ("queued", "cancelled")


@pytest.mark.django_db
def test_a_decision_upon_an_older_version_is_refused_as_late() -> None:
    cast = make_cast()
    queued = job(cast.project_a, cast.bob)
    assert advance(queued.id, trigger=Trigger.PAUSE, seen_version=queued.version) is not None
    assert advance(queued.id, trigger=Trigger.LAUNCH, seen_version=queued.version) is None
    queued.refresh_from_db()
    assert queued.state == "paused"
    assert Event.objects.filter(subject_id=queued.id, kind="job.state").count() == 1


@pytest.mark.django_db
def test_a_trigger_that_makes_no_sense_reports_the_job_s_story() -> None:
    cast = make_cast()
    queued = job(cast.project_a, cast.bob)
    advance(queued.id, trigger=Trigger.PAUSE)
    with pytest.raises(IllegalTransitionError, match=r"pods_run came to job .* in state paused.*queued -> paused"):
        advance(queued.id, trigger=Trigger.PODS_RUN)
