# SPDX-License-Identifier: Apache-2.0
"""A job's log: every line can be reached, in both directions, from any time, by search, and as one file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from mlhub.jobs.models import Attempt
from mlhub.metrics import log_reads
from mlhub.metrics.models import LogLine, StreamCursor
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import metric, opened, post

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 1, tzinfo=UTC)
NEWEST = 2**53 - 1
MAX_ANSWER_BYTES = 200_000


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    return opened(job(cast.project_a, cast.bob))


def write(attempt: Attempt, n: int, *, text: str = "line {}", index: int = 0, first_seq: int = 1) -> None:
    """Lines 0 to n - 1 of a pod, one a second, as ingest stores them."""
    rows = (
        LogLine(
            attempt=attempt,
            role="worker",
            index=index,
            number=i,
            text=text.format(i),
            at=AT + timedelta(seconds=i),
            seq=first_seq + i,
        )
        for i in range(n)
    )
    LogLine.objects.bulk_create(rows, batch_size=5000)
    StreamCursor.objects.update_or_create(job_id=attempt.job_id, defaults={"last_seq": first_seq + n})


def ask(cast: Cast, of: Attempt, part: str = "", **query: Any) -> Any:
    return cast.client(cast.bob).get(f"/api/v1/jobs/{of.job_id}/logs{part}", query)


def texts(answer: Any) -> list[str]:
    return [line["text"] for line in answer.json()["lines"]]


def test_the_newest_lines_are_found_behind_any_number_of_points(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, *(f"line {i}" for i in range(50)), stream="log")
    StreamCursor.objects.filter(job_id=attempt.job_id).update(last_seq=20_050)  # as after 20,000 points
    post(attempt, 0, metric(1, loss=1))
    assert texts(ask(cast, attempt, before=NEWEST)) == [f"line {i}" for i in range(50)]


def test_pages_backwards_reach_the_first_line_and_repeat_none(cast: Cast, attempt: Attempt) -> None:
    write(attempt, 2500)
    found: list[str] = []
    before, is_end = NEWEST, False
    while not is_end:
        answer = ask(cast, attempt, before=before, limit=700)
        found = texts(answer) + found
        before, is_end = answer.json()["lines"][0]["seq"], answer.json()["is_end"]
    assert found == [f"line {i}" for i in range(2500)]


def test_pages_forwards_go_on_after_any_line(cast: Cast, attempt: Attempt) -> None:
    write(attempt, 100)
    page = ask(cast, attempt, after=40, limit=3)
    assert texts(page) == ["line 40", "line 41", "line 42"]
    assert not page.json()["is_end"]
    assert ask(cast, attempt, after=98).json()["is_end"]


def test_a_page_begins_at_any_time(cast: Cast, attempt: Attempt) -> None:
    write(attempt, 100)
    asked = (AT + timedelta(seconds=41.5)).isoformat()
    assert texts(ask(cast, attempt, at=asked, limit=2)) == ["line 42", "line 43"]
    assert texts(ask(cast, attempt, at=(AT + timedelta(hours=1)).isoformat())) == []


def test_lines_know_when_they_were_received(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, "a line", stream="log")
    (line,) = ask(cast, attempt).json()["lines"]
    received = datetime.fromisoformat(line["at"])
    assert abs(datetime.now(UTC) - received) < timedelta(hours=1)


def test_a_page_of_long_lines_is_cut_where_the_next_one_begins(cast: Cast, attempt: Attempt) -> None:
    write(attempt, 100, text="é" * 5000 + " {}")
    page = ask(cast, attempt, limit=100)
    assert len(page.content) <= MAX_ANSWER_BYTES
    assert 0 < len(texts(page)) < 100
    assert not page.json()["is_end"]
    last = page.json()["lines"][-1]
    assert ask(cast, attempt, after=last["seq"]).json()["lines"][0]["number"] == last["number"] + 1


def test_search_finds_lines_of_the_whole_log_and_counts_them(cast: Cast, attempt: Attempt) -> None:
    write(attempt, 3000)
    page = ask(cast, attempt, search="LINE 29", before=NEWEST, limit=2)
    assert texts(page) == ["line 2998", "line 2999"]
    assert page.json()["n_found"] == 111  # 29, 290 to 299, 2900 to 2999
    assert texts(ask(cast, attempt, search="100%")) == []
    assert ask(cast, attempt).json()["n_found"] is None


def test_search_understands_regular_expressions(cast: Cast, attempt: Attempt) -> None:
    write(attempt, 200)
    assert texts(ask(cast, attempt, search=r"^line 1?7$", is_regex="true")) == ["line 7", "line 17"]
    refused = ask(cast, attempt, search="(", is_regex="true")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_regex")
    assert refused.json()["errors"][0]["field"] == "search"


def test_a_search_that_takes_too_long_is_ended(cast: Cast, attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reads, "SEARCH_MS", 50)
    write(attempt, 3, text="a" * 3000 + "b" + "a" * 3001)  # millions of ways to split it, none of which matches
    refused = ask(cast, attempt, search=r"^(a*)(a*)(a*)b\1\2\3$", is_regex="true")
    assert (refused.status_code, refused.json()["code"]) == (422, "search_too_slow")
    assert len(texts(ask(cast, attempt))) == 3  # the connection goes on with its usual limit


def test_lines_of_one_pod_or_attempt_can_be_asked_for(cast: Cast, attempt: Attempt) -> None:
    write(attempt, 3)
    write(attempt, 3, text="second {}", index=1, first_seq=10)
    assert texts(ask(cast, attempt, index=1, before=NEWEST)) == ["second 0", "second 1", "second 2"]
    assert len(texts(ask(cast, attempt, attempt=1))) == 6
    assert texts(ask(cast, attempt, attempt=2)) == []


def test_two_starting_points_at_once_are_refused(cast: Cast, attempt: Attempt) -> None:
    assert ask(cast, attempt, after=1, before=5).status_code == 422


def test_the_whole_log_is_downloaded_as_text(cast: Cast, attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.metrics.api.logs.DOWNLOAD_LINES", 100)
    write(attempt, 950)
    answer = ask(cast, attempt, "/download")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"].endswith('.log"')
    assert answer.getvalue().decode() == "".join(f"worker-0  line {i}\n" for i in range(950))
    assert ask(cast, attempt, "/download", search="949").getvalue() == b"worker-0  line 949\n"


@pytest.mark.django_db(transaction=True)
def test_the_download_is_streamed_under_asgi() -> None:
    cast = make_cast()
    attempt = opened(job(cast.project_a, cast.bob))
    write(attempt, 12_000)

    client = AsyncClient()
    client.force_login(cast.bob, backend="django.contrib.auth.backends.ModelBackend")

    @async_to_sync
    async def read() -> list[bytes]:
        answer = await client.get(f"/api/v1/jobs/{attempt.job_id}/logs/download")
        return [piece async for piece in answer.streaming_content]

    pieces = read()
    assert len(pieces) > 2
    assert b"".join(pieces).decode().splitlines() == [f"worker-0  line {i}" for i in range(12_000)]


@pytest.mark.parametrize("part", ["", "/download"])
def test_the_log_of_another_organisation_does_not_exist(cast: Cast, attempt: Attempt, part: str) -> None:
    assert cast.client(cast.charlie).get(f"/api/v1/jobs/{attempt.job_id}/logs{part}").status_code == 404
