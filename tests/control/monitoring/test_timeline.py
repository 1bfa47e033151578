# SPDX-License-Identifier: Apache-2.0
"""The cluster's timeline: who held which GPUs when, what is predicted, and how large an answer becomes."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from mlhub.control.models import JobDecision
from mlhub.control.monitoring.timeline import MOST_WAITING, TimelineBar, merged, timeline_as_seen_by, window_of
from mlhub.core.ids import new_id
from mlhub.jobs.models import Allocation, Attempt, Checkpoint, Job
from mlhub.jobs.states import JobState
from tests.cast import Cast, make_cast
from tests.control.histories import BEGIN, at, attempt_row, ended_job, node_row
from tests.jobs.builders import job

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PATH = "/api/v1/cluster/timeline"
MOST_BYTES = 200_000  # of any answer


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def timeline(cast: Cast, user: Any, *, until_s: float, window: str = "1h", **query: Any) -> Any:
    return cast.client(user).get(PATH, {"window": window, "until": at(until_s).isoformat(), **query}).json()


def test_a_bar_shows_its_job_to_those_who_may_know(cast: Cast) -> None:
    node_row()
    ran = ended_job(cast, "ran", submitted_s=0, began_s=600, ended_s=1800)
    for user in (cast.bob, cast.victor, cast.root):
        found = timeline(cast, user, until_s=3600)
        ((bar,),) = (node["bars"] for node in found["nodes"])
        assert (bar["first_gpu"], bar["n_gpus"], bar["since_s"], bar["until_s"]) == (0, 2, 600, 1800)
        (named,) = found["jobs"]
        assert (named["id"], named["name"], named["organisation"]) == (str(ran.id), "ran", "A")
    hidden = timeline(cast, cast.charlie, until_s=3600)
    assert [bar["job"] for bar in hidden["nodes"][0]["bars"]] == [None]
    assert hidden["jobs"] == []
    assert cast.client(None).get(PATH).status_code == 401


def test_bars_are_clipped_to_the_window_and_others_are_not_there(cast: Cast) -> None:
    node_row()
    ended_job(cast, "before", submitted_s=0, began_s=0, ended_s=1000)
    ended_job(cast, "across", submitted_s=0, began_s=1000, ended_s=9000)
    ended_job(cast, "after", submitted_s=0, began_s=9000, ended_s=9100)
    found = timeline(cast, cast.bob, until_s=2000 + 3600)
    assert [(b["since_s"], b["until_s"]) for b in found["nodes"][0]["bars"]] == [(0, 3600)]


def test_a_running_job_has_predicted_ends_and_a_waiting_one_a_predicted_start(cast: Cast) -> None:
    node_row()
    running, waiting = job(cast.project_a, cast.bob, name="runs"), job(cast.project_a, cast.bob, name="waits")
    attempt_row(running, began_s=0, ended_s=None, n_workers=2)
    ends = {"predicted_finish_at": at(1900), "predicted_finish_p90_at": at(99_000)}
    Job.objects.filter(pk=running.pk).update(state=JobState.RUNNING, **ends)
    Job.objects.filter(pk=waiting.pk).update(predicted_start_at=at(1900), predicted_start_p90_at=at(2000), **ends)
    window = window_of("1h", until=None, now=at(1800))
    assert (window.since, window.until) == (at(-900), at(2700))
    found = timeline_as_seen_by(cast.bob, window)
    (bar,) = found["nodes"][0]["bars"]
    assert [bar[name] for name in ("since_s", "until_s", "p50_s", "p90_s")] == [900, 2700, 2800, 3600]
    (one,) = found["waiting"]
    assert found["jobs"][one["job"]]["id"] == waiting.id
    assert (one["start_p50_s"], one["finish_p90_s"]) == (2800, 3600)
    assert timeline_as_seen_by(cast.charlie, window)["waiting"] == []


def test_a_job_waited_from_its_submission_until_its_first_attempt_got_gpus(cast: Cast) -> None:
    node_row()
    ran = ended_job(cast, "ran", submitted_s=0, began_s=600, ended_s=900)
    attempt_row(ran, began_s=1200, ended_s=None, n_workers=2, number=2)
    waiting = job(cast.project_a, cast.bob, name="waits")
    Job.objects.filter(pk=waiting.pk).update(submitted_at=at(100), predicted_start_at=at(1900))
    found = timeline_as_seen_by(cast.bob, window_of("1h", until=None, now=at(1800)))
    times = {one["name"]: (one["submitted_at"], one["allocated_at"]) for one in found["jobs"]}
    assert times == {"ran": (at(0), at(600)), "waits": (at(100), None)}


def test_the_first_of_many_jobs_that_wait_are_listed_and_all_are_counted(cast: Cast) -> None:
    node_row()
    for n in range(MOST_WAITING + 3):
        waiting = job(cast.project_a, cast.bob, name=f"waits {n}")
        Job.objects.filter(pk=waiting.pk).update(predicted_start_at=at(1900 + n))
    found = timeline_as_seen_by(cast.bob, window_of("1h", until=None, now=at(1800)))
    listed = [found["jobs"][one["job"]]["name"] for one in found["waiting"]]
    assert listed == [f"waits {n}" for n in range(MOST_WAITING)]
    assert found["n_waiting"] == MOST_WAITING + 3


def test_preemptions_resizes_failures_and_checkpoints_are_marks(cast: Cast) -> None:
    node_row()
    moved = ended_job(cast, "moved", submitted_s=0, began_s=100, ended_s=500)
    first = Attempt.objects.get(job=moved)
    attempt_row(moved, began_s=600, ended_s=900, n_workers=1, number=2)
    attempt_row(moved, began_s=1000, ended_s=1100, n_workers=1, number=3)
    Attempt.objects.filter(job=moved, number=3).update(outcome="failed")
    JobDecision.objects.create(job=moved, at=at(490), policy="las", decision="preempt")
    JobDecision.objects.create(job=moved, at=at(890), policy="las", decision="resize")
    Checkpoint.objects.create(attempt=first, step=1, name="c1", size_bytes=1, write_s=1, stall_s=0, at=at(300))
    marks = timeline(cast, cast.bob, until_s=3600)["nodes"][0]["marks"]
    assert sorted((mark["at_s"], mark["kind"]) for mark in marks) == [
        (300, "checkpoint"),
        (500, "preempted"),
        (900, "resized"),
        (1100, "failed"),
    ]


def test_gpus_that_do_not_follow_each_other_are_bars_of_their_own(cast: Cast) -> None:
    node_row(n_slots=8)
    ran = ended_job(cast, "ran", submitted_s=0, began_s=100, ended_s=900)
    Allocation.objects.filter(attempt__job=ran).update(slots=[5, 0, 1, 4])
    bars = timeline(cast, cast.bob, until_s=3600)["nodes"][0]["bars"]
    assert [(bar["first_gpu"], bar["n_gpus"]) for bar in bars] == [(0, 2), (4, 2)]


def test_a_node_that_is_gone_is_shown_with_what_it_held(cast: Cast) -> None:
    ended_job(cast, "ran", submitted_s=0, began_s=100, ended_s=900)
    (node,) = timeline(cast, cast.bob, until_s=3600)["nodes"]
    assert (node["name"], node["gpu_type"], node["n_gpus"]) == ("n0", "", 2)


def test_bars_shorter_than_a_pixel_are_merged_by_owner_and_long_ones_stay() -> None:
    short = [TimelineBar(0, 1, float(i), i + 0.5, "a", None) for i in range(100)]
    others = TimelineBar(0, 1, 100.0, 100.5, "b", None)
    long = TimelineBar(0, 1, 101.0, 200.0, "a", None)
    found = merged([*short, others, long], pixel_s=10)
    assert [(bar.owner, bar.n, bar.since_s, bar.until_s) for bar in found] == [
        ("a", 100, 0.0, 99.5),
        ("b", 1, 100.0, 100.5),
        ("a", 1, 101.0, 200.0),
    ]


def ten_thousand_attempts(cast: Cast, nodes: list[str]) -> None:
    """Of 500 jobs with long names, on all nodes in turn, without a gap."""
    first = job(cast.project_a, cast.bob)
    jobs = []
    for i in range(500):
        one = copy.copy(first)
        one.pk, one._state.adding, one.name = new_id(), True, f"{i} 数据集训练任务 {'x' * 80}"
        jobs.append(one)
    Job.objects.bulk_create(jobs)
    length_s = timedelta(days=7).total_seconds() * len(nodes) / 10_000
    begins = [at((i // len(nodes)) * length_s) for i in range(10_000)]
    held = timedelta(seconds=length_s * 0.9)
    attempts = Attempt.objects.bulk_create(
        Attempt(job=jobs[i % 500], number=1 + i // 500, mode="all_reduce", n_workers=1 + i % 8, ended_at=begin + held)
        for i, begin in enumerate(begins)
    )
    Attempt.objects.update(created_at=F("ended_at") - held)  # a creation sets it to now
    Allocation.objects.bulk_create(
        Allocation(attempt=a, node=nodes[i % len(nodes)], slots=list(range(a.n_workers)), released_at=a.ended_at)
        for i, a in enumerate(attempts)
    )
    with (
        connection.cursor() as cursor
    ):  # as autovacuum does before long: planned for empty tables, a query takes minutes
        cursor.execute("ANALYZE")


@pytest.mark.parametrize("n_nodes", [1, 20])
def test_ten_thousand_attempts_come_in_pages_below_the_limit_of_an_answer(cast: Cast, n_nodes: int) -> None:
    nodes = [node_row(f"n{i:02}", n_slots=8).name for i in range(n_nodes)]
    ten_thousand_attempts(cast, nodes)
    query = {"window": "7d", "until": (BEGIN + timedelta(days=7)).isoformat()}
    after, n_attempts, seen, client = "", 0, list[str](), cast.client(cast.bob)
    while after is not None:
        answer = client.get(PATH, query | ({"after": after} if after else {}))
        assert len(answer.content) < MOST_BYTES
        page = answer.json()
        seen += [node["name"] for node in page["nodes"]]
        n_attempts += sum(bar["n"] for node in page["nodes"] for bar in node["bars"])
        after = page["next_after"]
    assert seen == nodes
    assert n_attempts == 10_000
