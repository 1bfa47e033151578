# SPDX-License-Identifier: Apache-2.0
"""Curves of runs: whichever way a batch is stored, each point is there once, and the newest one is the newest."""

from __future__ import annotations

import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from mlhub.core.api.parsers import check_values
from mlhub.core.errors import InvalidInputError, NotFoundError
from mlhub.tenants.models import User
from mlhub.tracking import actions
from mlhub.tracking.access import Caller
from mlhub.tracking.api import bodies
from mlhub.tracking.limits import MAX_INTEGER, LogBatch, LoggedPoint
from mlhub.tracking.models import Run, RunPoint, RunSeries
from mlhub.tracking.points import lock_series, store_points
from tests.cast import make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    cast = make_cast()
    return Run.objects.create(project=cast.project_a, name="run", created_by=cast.bob, started_ms=0)


def points(*steps: int, key: str = "loss", at_ms: int = 7) -> list[LoggedPoint]:
    return [LoggedPoint(key, step / 2, at_ms, step) for step in steps]


def store(run: Run, batch: list[LoggedPoint]) -> None:
    locked = lock_series(run.pk)
    assert locked is not None
    store_points(run, batch, known=locked.ends)


def test_every_point_is_stored_once_and_the_newest_is_known(run: Run) -> None:
    batches: list[list[LoggedPoint]] = [
        points(0, 1, 2),
        points(3, 4),  # behind what there is
        points(3, 4),  # the same request again
        points(4, 5, 6),  # partly there
        points(1, at_ms=8),  # another time of a step that is there
        points(8, 8, 7),  # one twice, not in order
        [LoggedPoint("loss", math.nan, 9, 9), LoggedPoint("loss", math.nan, 9, 9)],
        points(-5, key="other") + points(10),
    ]
    for batch in batches:
        store(run, batch)
    stored = RunPoint.objects.filter(series__key="loss").order_by("step", "at_ms").values_list("step", "at_ms")
    assert list(stored) == [(0, 7), (1, 7), (1, 8), *((step, 7) for step in range(2, 9)), (9, 9), (10, 7)]
    for series in RunSeries.objects.filter(run=run):
        assert series.n_points == series.points.count()
    loss, other = RunSeries.objects.filter(run=run).order_by("key")
    assert (loss.last_step, loss.last_ms, loss.last_value) == (10, 7, 5.0)
    assert (other.last_step, other.last_value) == (-5, -2.5)


def test_numbers_are_stored_as_they_were_logged(run: Run) -> None:
    values = [0.1, -0.0, 5e-324, -1.7976931348623157e308, 1 / 3, 12345678901234567.0]
    ends = [-MAX_INTEGER, -1, 0, 1, 2**31, MAX_INTEGER]
    store(run, [LoggedPoint("loss", *row) for row in zip(values, reversed(ends), ends, strict=True)])
    stored = RunPoint.objects.filter(series__run=run).order_by("step").values_list("value", "at_ms", "step")
    assert list(map(repr, stored)) == list(map(repr, zip(values, reversed(ends), ends, strict=True)))


def test_the_newest_of_a_batch_is_the_highest_step_then_time_then_value(run: Run) -> None:
    store(run, [LoggedPoint("loss", value, at_ms, 1) for at_ms, value in ((5, 1.0), (6, 0.25), (6, 0.5))])
    series = RunSeries.objects.get(run=run)
    assert (series.n_points, series.last_step, series.last_ms, series.last_value) == (3, 1, 6, 0.5)


@pytest.mark.parametrize(
    "body",
    [
        {"a": [{"b": "x\x00"}]}, {"a\x00": 1}, {"a": 2**63}, {"a": -(2**64)}, {"a": math.inf}, {"a": "\ud800"},
        {"a\ud800": 1}, "x\x00",
    ],
)  # fmt: skip
def test_what_the_quick_look_lets_pass_is_not_what_is_refused(body: Any) -> None:
    check_values({"fine": [1, 2.5, "text", None, True, {"deeper": ["ü"]}]})
    with pytest.raises(InvalidInputError):
        check_values(body)


@pytest.mark.parametrize(
    "odd",
    [
        {"value": "NaN"}, {"value": 3}, {"timestamp": "12"}, {"step": 2.0}, {"step": None}, {"key": ""},
        {"key": "a\x00"}, {"key": 7}, {"step": 2**63}, {"timestamp": -(2**63)}, {"value": True}, {"value": None},
        {"key": "k" * 10_001},
    ],
)  # fmt: skip
def test_points_read_by_column_are_those_read_one_by_one(odd: dict[str, Any]) -> None:
    usual = [{"key": "loss", "value": step / 2, "timestamp": 7, "step": step} for step in range(3)]
    assert bodies.points(usual) == points(0, 1, 2)
    mixed = [*usual, {**usual[0], **odd}]
    try:
        expected = [bodies.point(one) for one in mixed]
    except InvalidInputError as error:
        with pytest.raises(InvalidInputError, match=re.escape(str(error))):
            bodies.points(mixed)
    else:
        assert list(map(repr, bodies.points(mixed))) == list(map(repr, expected))


def test_a_point_for_a_run_that_is_being_removed_is_refused_and_leaves_nothing(run: Run) -> None:
    store(run, points(1, 2))
    actions.remove_run(run, actor=None)
    with pytest.raises(NotFoundError):
        actions.log_batch(Caller(run.created_by), run, LogBatch(points(3)))
    assert not RunPoint.objects.exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_writers_of_one_run_that_log_the_same_points_at_once_store_each_once(run: Run) -> None:
    n_batches, start = 8, threading.Barrier(3, timeout=60)
    batches = [points(*range(10 * i, 10 * i + 10)) for i in range(n_batches)]

    def log() -> None:
        try:
            start.wait()
            for batch in batches:
                actions.log_batch(Caller(User.objects.get(pk=run.created_by_id)), run, LogBatch(batch))
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as writers:
        for done in [writers.submit(log) for _ in range(3)]:
            done.result(timeout=120)
    series = RunSeries.objects.get(run=run)
    assert series.points.count() == series.n_points == 10 * n_batches
    assert (series.last_step, series.last_value) == (10 * n_batches - 1, (10 * n_batches - 1) / 2)
