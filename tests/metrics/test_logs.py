# SPDX-License-Identifier: Apache-2.0
"""A job's log: every line can be reached, in both directions, from any time, by search, and as one file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext

from mlhub.jobs.models import Attempt
from mlhub.metrics import reads
from mlhub.metrics.logs import log_reads
from mlhub.metrics.logs.log_overview import log_overview
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


@pytest.mark.slow
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


@pytest.mark.parametrize("part", ["", "/download", "/overview"])
def test_the_log_of_another_organisation_does_not_exist(cast: Cast, attempt: Attempt, part: str) -> None:
    assert cast.client(cast.charlie).get(f"/api/v1/jobs/{attempt.job_id}/logs{part}").status_code == 404


ERRORS = [
    "Traceback (most recent call last):",
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
    "KeyError: 'x'",
    "AssertionError",
    "2026-01-01 09:00:00 ERROR loader: no such file",
    "node:12:34 [0] NCCL WARN Call to connect failed",
    "Fatal Python error: Segmentation fault",
]
NO_ERRORS = ["step 3 Mean Squared Error: 0.33", "MeanSquaredError: 1.2, r2: 0.4", "0 errors", "ERROR_RATE=0.3"]


def test_lines_that_hold_an_error_are_known_and_the_next_one_is_found(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, *(text for pair in zip(ERRORS, NO_ERRORS * 2, strict=False) for text in pair), stream="log")
    lines = ask(cast, attempt).json()["lines"]
    assert [line["text"] for line in lines if line["is_error"]] == ERRORS
    first = ask(cast, attempt, errors="true", after=0, limit=1)
    assert texts(first) == ERRORS[:1]
    following = ask(cast, attempt, errors="true", after=first.json()["lines"][0]["seq"], limit=1)
    assert texts(following) == ERRORS[1:2]
    assert texts(ask(cast, attempt, errors="true", before=NEWEST)) == ERRORS
    assert [line["is_error"] for line in reads.lines_after(attempt.job_id, 0, until=2)] == [True, False]


def test_an_overview_counts_errors_and_found_lines_by_sections_of_the_log(cast: Cast, attempt: Attempt) -> None:
    write(attempt, 1000)
    write(attempt, 1, text="ValueError: bad {}", index=1, first_seq=1001)
    LogLine.objects.filter(seq__in=[5, 250]).update(text="ERROR here")
    found = ask(cast, attempt, "/overview", sections=4, search="LINE 99").json()
    assert found == {
        "first_seq": 1, "last_seq": 1001, "errors": [2, 0, 0, 1], "found": [1, 0, 0, 10], "n_errors": 3, "n_found": 11,
    }  # fmt: skip
    of_one = ask(cast, attempt, "/overview", sections=2, index=1).json()
    assert (of_one["errors"], of_one["found"]) == ([0, 1], None)
    assert ask(cast, attempt, "/overview", search="(", is_regex="true").json()["code"] == "invalid_regex"


def test_an_overview_of_an_empty_log_has_no_ends(cast: Cast, attempt: Attempt) -> None:
    found = ask(cast, attempt, "/overview", sections=2).json()
    assert (found["first_seq"], found["last_seq"], found["errors"]) == (None, None, [0, 0])


def test_errors_are_found_without_a_look_at_the_other_lines(attempt: Attempt) -> None:
    write(attempt, 2000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE metrics_logline")
    LogLine.objects.filter(seq=1500).update(text="RuntimeError: NCCL error")
    with CaptureQueriesContext(connection) as asked:
        log_reads.lines_from(attempt.job_id, log_reads.LogFilter(errors=True), after=0, limit=1)
        log_overview(attempt.job_id, log_reads.LogFilter(), n_sections=10)
    statements = [query["sql"] for query in asked if "CUDNN" in query["sql"]]
    assert len(statements) == 2
    for statement in statements:
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN " + statement)
            assert "log_line_error" in "\n".join(row[0] for row in cursor.fetchall())
