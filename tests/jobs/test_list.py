# SPDX-License-Identifier: Apache-2.0
"""The list of jobs: searched, filtered, sorted and turned page by page; tags and notes; one verb on many jobs."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from mlhub.jobs.attempts import close_stopped
from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.jobs.querysets import JobQuerySet
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 1, tzinfo=UTC)
DEEP = urlsafe_b64encode(b"[" * 4500).decode()  # a list in a list in a list, deeper than Python calls


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def listed(cast: Cast, user: Any = None, **query: Any) -> Any:
    answer = cast.client(user or cast.bob).get("/api/v1/jobs", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def names(cast: Cast, **query: Any) -> list[str]:
    return [row["name"] for row in listed(cast, **query)["results"]]


def test_a_search_finds_jobs_by_name_id_owner_model_and_dataset(cast: Cast) -> None:
    first = job(cast.project_a, cast.bob, name="resnet wide")
    second = job(cast.project_a, cast.alice, name="resnet deep")
    job(cast.project_b, cast.charlie, name="resnet of others")
    assert names(cast, search="WIDE res") == ["resnet wide"]
    assert names(cast, search="alice") == ["resnet deep"]
    assert names(cast, search=str(second.pk).upper()) == ["resnet deep"]
    assert names(cast, search="mlp blobs", sort="name") == ["resnet deep", "resnet wide"]
    assert names(cast, search="wide deep") == []
    assert names(cast, id=f"{first.pk},{second.pk}", sort="name") == ["resnet deep", "resnet wide"]
    assert names(cast, owner="bob") == ["resnet wide"]


@pytest.mark.parametrize("sort", ["name", "-name", "state", "-finish", "gpu_hours", "-gpu_hours", "created", "finish"])
def test_every_order_shows_each_job_once_forwards_and_backwards(cast: Cast, sort: str) -> None:
    for number in range(7):  # values repeat, so that pages begin and end inside of equal ones
        made = job(cast.project_a, cast.bob, name=f"job {number % 3}")
        finish = AT + timedelta(hours=number % 2) if number % 3 else None
        Job.objects.filter(pk=made.pk).update(gpu_s=float(number % 2), predicted_finish_at=finish)
    whole = [row["id"] for row in listed(cast, sort=sort)["results"]]
    assert len(set(whole)) == 7
    forwards, page = [], listed(cast, sort=sort, limit=3)
    while True:
        forwards += [row["id"] for row in page["results"]]
        if page["next"] is None:
            break
        page = cast.client(cast.bob).get(page["next"]).json()
    assert forwards == whole
    backwards = [row["id"] for row in page["results"]]
    while page["previous"] is not None:
        page = cast.client(cast.bob).get(page["previous"]).json()
        backwards = [row["id"] for row in page["results"]] + backwards
    assert backwards == whole


@pytest.mark.parametrize("sort", ["created", "-created"])
def test_a_page_of_long_rows_has_fewer_so_that_no_answer_is_above_200_kb(cast: Cast, sort: str) -> None:
    made = [job(cast.project_a, cast.bob, hyperparameters={"prompt": "\N{GRINNING FACE}" * 15_000}) for _ in range(8)]
    ids = [str(one.pk) for one in made] if sort == "created" else [str(one.pk) for one in reversed(made)]
    client = cast.client(cast.bob)

    def asked(address: str) -> Any:
        answer = client.get(address)
        assert len(answer.content) < 200_000
        return answer.json()

    forwards, page = [], asked(f"/api/v1/jobs?sort={sort}&limit=100")
    assert len(page["results"]) == 3
    assert page["previous"] is None
    while True:
        forwards += [row["id"] for row in page["results"]]
        if page["next"] is None:
            break
        page = asked(page["next"])
    assert forwards == ids
    backwards = [row["id"] for row in page["results"]]
    while page["previous"] is not None:
        page = asked(page["previous"])
        backwards = [row["id"] for row in page["results"]] + backwards
    assert backwards == ids


def test_an_order_sorts_by_its_value(cast: Cast) -> None:
    for name, gpu_s, finish in (("b", 7200.0, None), ("a", 0.0, AT), ("c", 3600.0, AT + timedelta(days=1))):
        made = job(cast.project_a, cast.bob, name=name)
        Job.objects.filter(pk=made.pk).update(gpu_s=gpu_s, finished_at=finish)
    assert names(cast) == ["c", "a", "b"]
    assert names(cast, sort="name") == ["a", "b", "c"]
    assert names(cast, sort="-gpu_hours") == ["b", "c", "a"]
    assert names(cast, sort="finish") == ["a", "c", "b"]
    assert [row["gpu_hours"] for row in listed(cast, sort="gpu_hours")["results"]] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"sort": "luck"}, "sort"),
        ({"sort": "name", "cursor": "bm8="}, "cursor"),
        ({"sort": "name", "cursor": "WyJhIiwgbnVsbCwgZmFsc2Vd"}, "cursor"),  # an id that is null
        ({"sort": "name", "cursor": DEEP}, "cursor"),
        ({"sort": "finish", "cursor": "WyJub3doZXJlIiwgIngiLCBmYWxzZV0="}, "cursor"),
        ({"search": "a b c d e f g h i"}, "search"),
    ],
)
def test_a_query_that_the_list_does_not_know_is_refused(cast: Cast, query: dict[str, str], field: str) -> None:
    answer = cast.client(cast.bob).get("/api/v1/jobs", query)
    assert answer.status_code in (400, 422)
    assert answer.json()["errors"][0]["field"] == field


def test_the_gpu_hours_of_an_attempt_count_once_it_has_ended(cast: Cast) -> None:
    made = job(cast.project_a, cast.bob, state="stopping")
    attempt = Attempt.objects.create(job=made, number=1, mode="all_reduce", n_workers=3)
    Allocation.objects.create(attempt=attempt, node="n1", slots=[0, 1])
    Allocation.objects.create(attempt=attempt, node="n2", slots=[0])
    assert made.gpu_s == 0
    close_stopped(attempt, cause=None, message="", now=attempt.created_at + timedelta(hours=2))
    assert listed(cast)["results"][0]["gpu_hours"] == pytest.approx(6)


def test_members_write_tags_and_notes_at_any_time_and_viewers_do_not(cast: Cast) -> None:
    made = job(cast.project_a, cast.alice, state="succeeded", finished_at=timezone.now())
    address = f"/api/v1/jobs/{made.pk}"
    answer = cast.client(cast.bob).patch(address, {"tags": ["paper", "baseline", "paper"], "notes": "Best so far."})
    assert answer.status_code == 200, answer.content
    assert answer.json()["tags"] == ["baseline", "paper"]
    assert cast.client(cast.victor).get(address).json()["notes"] == "Best so far."
    assert cast.client(cast.victor).patch(address, {"tags": []}).status_code == 403
    assert cast.client(cast.charlie).patch(address, {"tags": []}).status_code == 404
    refused = cast.client(cast.bob).patch(address, {"tags": ["a,b"]})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "tags.0")


def test_jobs_are_filtered_by_all_of_the_tags_given_and_tags_are_counted(cast: Cast) -> None:
    job(cast.project_a, cast.bob, name="both", tags=["baseline", "paper"])
    job(cast.project_a, cast.bob, name="one", tags=["paper"])
    job(cast.project_b, cast.charlie, name="others", tags=["secret"])
    assert names(cast, tag="paper", sort="name") == ["both", "one"]
    assert names(cast, tag="paper, baseline") == ["both"]
    found = cast.client(cast.bob).get("/api/v1/job-tags").json()
    assert found == [{"tag": "paper", "n_jobs": 2}, {"tag": "baseline", "n_jobs": 1}]


def test_one_verb_is_done_to_many_jobs_and_what_one_refuses_keeps_no_other_from_it(cast: Cast) -> None:
    waiting = job(cast.project_a, cast.bob, name="waiting")
    over = job(cast.project_a, cast.bob, name="over", state="succeeded")
    foreign = job(cast.project_b, cast.charlie, name="foreign")

    def act(action: str, **fields: Any) -> Any:
        ids = [str(one.pk) for one in (over, foreign, waiting)]
        return cast.client(cast.bob).post("/api/v1/jobs/bulk", {"action": action, "jobs": ids, **fields})

    outcomes = act("cancel").json()["outcomes"]
    assert [(o["name"], bool(o["refusal"])) for o in outcomes] == [("over", True), ("", True), ("waiting", False)]
    assert Job.objects.get(pk=waiting.pk).state == "cancelled"
    assert Job.objects.get(pk=foreign.pk).state == "queued"
    act("tag", tag="old")
    assert list(Job.objects.order_by("name").values_list("name", "tags")) == [
        ("foreign", []),
        ("over", ["old"]),
        ("waiting", ["old"]),
    ]
    assert act("tag").json()["errors"][0]["field"] == "tag"
    act("delete")
    assert list(Job.objects.values_list("name", flat=True)) == ["foreign"]


def test_many_jobs_get_a_priority_at_once(cast: Cast) -> None:
    waiting = job(cast.project_a, cast.bob, name="waiting")
    over = job(cast.project_a, cast.bob, name="over", state="succeeded")
    foreign = job(cast.project_b, cast.charlie, name="foreign")

    def act(**fields: Any) -> Any:
        ids = [str(one.pk) for one in (over, foreign, waiting)]
        return cast.client(cast.bob).post("/api/v1/jobs/bulk", {"jobs": ids, **fields})

    outcomes = act(action="priority", priority=-7).json()["outcomes"]
    assert [(o["name"], bool(o["refusal"])) for o in outcomes] == [("over", True), ("", True), ("waiting", False)]
    assert list(Job.objects.order_by("name").values_list("name", "priority")) == [
        ("foreign", 0),
        ("over", 0),
        ("waiting", -7),
    ]
    assert act(action="priority").json()["errors"][0]["field"] == "priority"
    assert act(action="pause", priority=1).json()["errors"][0]["field"] == "priority"
    assert act(action="priority", priority=101).status_code == 422


def rows_read() -> int:
    """Of the table of jobs, in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)"
            " FROM pg_stat_xact_user_tables WHERE relname = 'jobs_job'"
        )
        return int(cursor.fetchone()[0])


def test_a_page_does_not_read_the_newer_jobs_of_others(cast: Cast) -> None:
    for number in range(3):
        job(cast.project_a, cast.bob, name=f"job {number}")
    of_others = job(cast.project_b, cast.charlie)
    values = {f.attname: getattr(of_others, f.attname) for f in Job._meta.concrete_fields if not f.primary_key}
    Job.objects.bulk_create(Job(**values) for _ in range(1000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # all tables: the statistics that earlier tests left decide what is joined first
    before = rows_read()
    assert names(cast) == ["job 2", "job 1", "job 0"]
    assert rows_read() - before < 100


def test_a_job_that_is_deleted_while_a_page_is_read_is_left_out(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (job(cast.project_a, cast.bob, name=name) for name in ("first", "second"))
    in_bulk = JobQuerySet.in_bulk

    def delete_then_read(rows: Any, keys: Any) -> Any:
        first.delete()
        return in_bulk(rows, keys)

    monkeypatch.setattr(JobQuerySet, "in_bulk", delete_then_read)
    assert [row["id"] for row in listed(cast)["results"]] == [str(second.pk)]
