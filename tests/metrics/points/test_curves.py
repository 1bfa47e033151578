# SPDX-License-Identifier: Apache-2.0
"""A job's curves: what counts, down-sampled without loss of extremes, exact in a range, bounded in every answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mlhub.jobs.models import Attempt
from mlhub.metrics.models import MetricPoint, Series
from mlhub.metrics.points.curves import last_steps
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import metric, opened, post

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 1, tzinfo=UTC)
MAX_ANSWER_BYTES = 200_000
Values = Callable[[int], float]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    return opened(job(cast.project_a, cast.bob))


def fill(attempt: Attempt, key: str, steps: range, value: Values = float) -> Series:
    """Stores points as ingest does; seq rises with the step."""
    series, _ = Series.objects.get_or_create(job_id=attempt.job_id, attempt=attempt, key=key)
    rows = (
        MetricPoint(series=series, step=step, epoch=step / 1000, value=value(step), at=AT, seq=step) for step in steps
    )
    MetricPoint.objects.bulk_create(rows, batch_size=5000)
    Series.objects.filter(pk=series.pk).update(n_points=series.n_points + len(steps))
    return series


def resumed(attempt: Attempt, *, first_step: int) -> Attempt:
    """The attempt that takes the place of this one."""
    Attempt.objects.filter(pk=attempt.pk).update(is_fenced=True, ended_at=AT)
    same = {name: getattr(attempt, name) for name in ("job_id", "mode", "n_workers", "n_servers")}
    later: Attempt = Attempt.objects.create(**same, number=attempt.number + 1, first_step=first_step)
    return later


def ask(cast: Cast, attempt: Attempt, part: str = "", **query: Any) -> Any:
    return cast.client(cast.bob).get(f"/api/v1/jobs/{attempt.job_id}/metrics{part}", query)


def steps_of(answer: Any) -> list[int]:
    (series,) = answer.json()["series"]
    return [point["step"] for point in series["points"]]


def test_a_short_curve_is_shown_with_every_point(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, *(metric(step, loss=1 / step) for step in (1, 2, 3)))
    (series,) = ask(cast, attempt).json()["series"]
    assert [(p["step"], p["value"], p["attempt_number"]) for p in series["points"]] == [
        (1, 1.0, 1), (2, 0.5, 1), (3, 1 / 3, 1)
    ]  # fmt: skip
    assert (series["key"], series["is_thinned"]) == ("train/loss", False)


@pytest.mark.slow
def test_a_thinned_curve_keeps_its_ends_and_the_extremes_of_every_stretch(cast: Cast, attempt: Attempt) -> None:
    special = {777: 100.0, 5000: -50.0, 9999: 3.5}
    fill(attempt, "loss", range(10_000), lambda step: special.get(step, step % 7))
    (series,) = ask(cast, attempt, max_points=200).json()["series"]
    shown = {point["step"]: point["value"] for point in series["points"]}
    assert series["is_thinned"]
    assert 100 <= len(shown) <= 200
    assert list(shown) == sorted(shown)
    assert {0, 777, 5000, 9999} <= set(shown)
    assert all(value == special.get(step, step % 7) for step, value in shown.items())
    for first in range(0, 10_000, 1000):  # every stretch has both of its sides
        assert {0.0, 6.0} <= {shown[step] for step in shown if first <= step < first + 1000}


@pytest.mark.slow
def test_zooming_in_shows_every_point_of_the_range(cast: Cast, attempt: Attempt) -> None:
    fill(attempt, "loss", range(10_000), math.sin)
    found = ask(cast, attempt, key="loss", first_step=4000, last_step=4400, max_points=500)
    assert steps_of(found) == list(range(4000, 4401))
    assert not found.json()["series"][0]["is_thinned"]


def test_what_a_later_attempt_trained_again_replaces_what_was_there(cast: Cast, attempt: Attempt) -> None:
    fill(attempt, "loss", range(10, 50, 10))
    later = resumed(attempt, first_step=20)
    fill(later, "loss", range(30, 60, 10))
    (series,) = ask(cast, attempt).json()["series"]
    found = [(point["step"], point["attempt_number"]) for point in series["points"]]
    assert found == [(10, 1), (20, 1), (30, 2), (40, 2), (50, 2)]


def test_an_attempt_counts_up_to_where_any_later_one_resumed() -> None:
    until = last_steps({1: 0, 2: 20, 3: 10, 4: 40})
    assert (until[1], until[2], until[3]) == (10, 10, 40)
    assert until[4] > 10**15


@pytest.mark.slow
def test_the_thinned_curve_of_two_attempts_has_each_step_once(cast: Cast, attempt: Attempt) -> None:
    fill(attempt, "loss", range(6000))
    later = resumed(attempt, first_step=3000)
    fill(later, "loss", range(3001, 8000))
    (series,) = ask(cast, attempt, max_points=100).json()["series"]
    found = [(point["step"], point["attempt_number"]) for point in series["points"]]
    assert found[0] == (0, 1)
    assert found[-1] == (7999, 2)
    assert all(number == (1 if step <= 3000 else 2) for step, number in found)


@pytest.mark.slow
def test_no_answer_is_larger_than_its_limit_and_next_reaches_every_metric(cast: Cast, attempt: Attempt) -> None:
    for number in range(25):
        fill(attempt, f"layer{number:02}/gradient_norm", range(0, 400_000, 2000), lambda step: math.pi * step)
    found: list[str] = []
    after: dict[str, str] = {}
    while True:
        answer = ask(cast, attempt, max_points=1600, **after)
        assert len(answer.content) <= MAX_ANSWER_BYTES
        found += [series["key"] for series in answer.json()["series"]]
        if answer.json()["next"] is None:
            break
        after = {"after": answer.json()["next"]}
    assert found == [f"layer{number:02}/gradient_norm" for number in range(25)]


def test_exact_pages_lose_and_repeat_no_point(cast: Cast, attempt: Attempt) -> None:
    fill(attempt, "loss", range(0, 5000, 2))
    found: list[int] = []
    first_step = 0
    while first_step is not None:
        answer = ask(cast, attempt, key="loss", exact="true", max_points=999, first_step=first_step)
        found += steps_of(answer)
        first_step = answer.json()["next_step"]
    assert found == list(range(0, 5000, 2))


def test_exact_without_a_metric_is_refused(cast: Cast, attempt: Attempt) -> None:
    answer = ask(cast, attempt, exact="true")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "exact")


def test_only_what_was_stored_since_a_cursor_is_sent(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, metric(1, loss=3), metric(2, loss=2))
    cursor = ask(cast, attempt).json()["cursor"]
    post(attempt, 2, metric(3, loss=1))
    assert steps_of(ask(cast, attempt, since=cursor.split("-")[1])) == [3]


def test_a_curve_that_was_seen_is_not_read_again_until_it_grows(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, metric(1, loss=3))
    client, path = cast.client(cast.bob), f"/api/v1/jobs/{attempt.job_id}/metrics?key=train/loss"
    tag = client.get(path)["ETag"]
    with CaptureQueriesContext(
        connection,
    ) as queries:
        again = client.get(path, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert not [query for query in queries if "metrics_metricpoint" in query["sql"]]
    assert client.get(f"{path}&max_points=20", headers={"If-None-Match": tag}).status_code == 200
    post(attempt, 1, metric(2, loss=2))
    assert steps_of(client.get(path, headers={"If-None-Match": tag})) == [1, 2]


def test_names_come_in_pages_with_their_newest_values_and_can_be_searched(cast: Cast, attempt: Attempt) -> None:
    for key in ("eval/Accuracy", "train/accuracy", "train/loss"):
        fill(attempt, key, range(3), lambda step: step / 4)
    page = ask(cast, attempt, "/names", limit=2).json()
    assert page["names"][0] == {
        "key": "eval/Accuracy", "n_points": 3, "last_step": 2, "last_value": 0.5, "attempt_number": 1
    }  # fmt: skip
    rest = ask(cast, attempt, "/names", limit=2, after=page["next"]).json()
    assert [name["key"] for name in page["names"] + rest["names"]] == ["eval/Accuracy", "train/accuracy", "train/loss"]
    assert rest["next"] is None
    found = ask(cast, attempt, "/names", search="ACCURACY").json()["names"]
    assert [name["key"] for name in found] == ["eval/Accuracy", "train/accuracy"]


@pytest.mark.parametrize(("part", "rows"), [("", "series"), ("/names", "names")])
def test_long_names_in_any_script_are_counted_in_an_answer(cast: Cast, attempt: Attempt, part: str, rows: str) -> None:
    keys = [f"{n:04}" + "\N{GRINNING FACE}" * 246 for n in range(390)]
    made = Series.objects.bulk_create(
        Series(job_id=attempt.job_id, attempt=attempt, key=key, n_points=1) for key in keys
    )
    MetricPoint.objects.bulk_create(MetricPoint(series=s, step=1, epoch=0.1, value=1.5, at=AT, seq=1) for s in made)
    found: list[str] = []
    after: dict[str, str] = {}
    while True:
        answer = ask(cast, attempt, part, **after)
        assert len(answer.content) <= MAX_ANSWER_BYTES
        found += [one["key"] for one in answer.json()[rows]]
        if answer.json()["next"] is None:
            break
        after = {"after": answer.json()["next"]}
    assert found == keys


@pytest.mark.parametrize("part", ["", "/names"])
def test_the_curves_of_another_organisation_do_not_exist(cast: Cast, attempt: Attempt, part: str) -> None:
    assert cast.client(cast.charlie).get(f"/api/v1/jobs/{attempt.job_id}/metrics{part}").status_code == 404


def rows_read() -> int:
    """Of points, by this transaction so far."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'metrics_metricpoint'"
        )
        [(n,)] = cursor.fetchall()
    return int(n)


def fill_emptied_table(attempt: Attempt, *, n_points: int) -> None:
    """PostgreSQL last looked when most points had been deleted, so it takes any index for as good as the key."""
    insert = (
        "INSERT INTO metrics_metricpoint (series_id, step, epoch, value, at, seq)"
        " SELECT id, i, 0, sin(i), now(), i FROM metrics_series, generate_series(%s, %s) i WHERE key LIKE %s"
    )
    for number in range(100):
        Series.objects.create(job_id=attempt.job_id, attempt=attempt, key=f"one/{number}", n_points=1)
    Series.objects.create(job_id=attempt.job_id, attempt=attempt, key="loss", n_points=n_points)
    with connection.cursor() as cursor:
        cursor.execute(insert, [1, n_points, "loss"])
        cursor.execute("DELETE FROM metrics_metricpoint")
        cursor.execute(insert, [1, 1, "%"])
        cursor.execute("ANALYZE metrics_metricpoint")
        cursor.execute(insert, [2, n_points, "loss"])


@pytest.mark.slow
def test_statistics_of_an_emptied_table_do_not_make_a_point_cost_a_look_at_all(cast: Cast, attempt: Attempt) -> None:
    n_points = 100_000
    fill_emptied_table(attempt, n_points=n_points)
    before = rows_read()
    answer = ask(cast, attempt, key="loss", max_points=1600)
    assert len(answer.json()["series"][0]["points"]) > 800
    assert rows_read() - before < 10 * n_points


@pytest.mark.slow
def test_a_million_points_reach_the_web_process_as_a_few_hundred_rows(cast: Cast, attempt: Attempt) -> None:
    series = Series.objects.create(job_id=attempt.job_id, attempt=attempt, key="loss", n_points=1_000_000)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO metrics_metricpoint (series_id, step, epoch, value, at, seq)"
            " SELECT %s, i, i / 1000.0, sin(i / 1000.0), now(), i FROM generate_series(1, 1000000) i",
            [series.pk],
        )
    answer = ask(cast, attempt, key="loss", max_points=1600)
    assert len(answer.content) <= MAX_ANSWER_BYTES
    values = [point["value"] for point in answer.json()["series"][0]["points"]]
    assert 800 <= len(values) <= 1600
    assert min(values) == pytest.approx(-1, abs=1e-6)
    assert max(values) == pytest.approx(1, abs=1e-6)
