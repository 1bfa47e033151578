# SPDX-License-Identifier: Apache-2.0
"""Many runs next to each other through the API: what is shown of them, to whom, in answers of bounded size."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Project, User
from mlhub.tracking import actions, comparison
from mlhub.tracking.access import Caller
from mlhub.tracking.limits import Entry, LogBatch, LoggedPoint
from mlhub.tracking.models import Run, RunParam, RunPoint, RunSeries
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db

BEGAN = 1_700_000_000_000
MAX_ANSWER_BYTES = 200_000


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def logged(
    project: Project,
    who: User,
    name: str = "run",
    *,
    params: dict[str, str] | None = None,
    loss: Callable[[int], float] = float,
    n: int = 3,
) -> Run:
    """A run with parameters and n points of the metric loss, one a step and second."""
    caller = Caller(who)
    run = actions.create_run(caller, project, name=name, started_ms=BEGAN)
    points = [LoggedPoint("loss", loss(step), BEGAN + 1000 * step, step) for step in range(n)]
    actions.log_batch(caller, run, LogBatch(points, [Entry(*pair) for pair in (params or {}).items()]))
    return run


def many(
    cast: Cast, n_runs: int, *, n_names: int = 3, key: str = "m{}", value: str = "v", name: str = "run"
) -> list[Any]:
    """Runs with as many parameters and metrics, stored at once."""
    made = Run.objects.bulk_create(
        Run(project=cast.project_a, created_by=cast.bob, name=name, started_ms=BEGAN) for _ in range(n_runs)
    )
    keys = [key.format(number) for number in range(n_names)]
    RunParam.objects.bulk_create(RunParam(run=run, key=one, value=value) for run in made for one in keys)
    RunSeries.objects.bulk_create(
        RunSeries(run=run, key=one, n_points=1, last_value=1 / 3) for run in made for one in keys
    )
    return [run.pk for run in made]


def compare(cast: Cast, *runs: Any, curves: bool = False, who: User | None = None, **fields: Any) -> Any:
    body = {"runs": [str(getattr(one, "pk", one)) for one in runs], **fields}
    return cast.client(who or cast.bob).post(f"/api/v1/runs/compare{'/curves' if curves else ''}", body)


def test_runs_are_compared_by_columns_in_the_order_asked_for(cast: Cast) -> None:
    one = logged(cast.project_a, cast.bob, "one", params={"lr": "0.1", "layers": "3"})
    other = logged(cast.project_a, cast.alice, "other", params={"lr": "0.2"}, loss=lambda step: math.nan)
    found = compare(cast, other, one, other).json()
    heading = {"status": "RUNNING", "project": cast.project_a.name}
    assert found == {
        "runs": [{"id": str(other.pk), "name": "other", **heading}, {"id": str(one.pk), "name": "one", **heading}],
        "params": [
            {"key": "lr", "n_runs": 2, "values": ["0.2", "0.1"]},
            {"key": "layers", "n_runs": 1, "values": [None, "3"]},
        ],
        "metrics": [{"key": "loss", "n_runs": 2, "values": [None, 2.0]}],
        "n_params": 2,
        "n_metrics": 1,
        "missing": [],
        "left": [],
    }


def test_runs_of_others_deleted_ones_and_jobs_are_missing_like_those_that_never_were(cast: Cast) -> None:
    seen, foreign = logged(cast.project_a, cast.bob), logged(cast.project_b, cast.charlie)
    removed, trashed = logged(cast.project_a, cast.bob), logged(cast.project_a, cast.bob)
    actions.delete_run(removed, actor=cast.bob)
    actions.set_deleted(Caller(cast.bob), trashed, is_deleted=True)
    own = job(cast.project_a, cast.bob)
    actions.log_batch(Caller(cast.bob), own, LogBatch(params=[Entry("a", "b")]))
    hidden = [foreign.pk, removed.pk, trashed.pk, own.pk, uuid4()]
    for who in (cast.bob, cast.victor):
        found = compare(cast, *hidden, seen, who=who).json()
        assert ([run["id"] for run in found["runs"]], found["missing"]) == ([str(seen.pk)], [str(pk) for pk in hidden])
        assert [column["values"] for column in found["metrics"]] == [[2.0]]
        curves = compare(cast, *hidden, seen, curves=True, who=who, metric="loss").json()
        assert curves == {"curves": [{"run": str(seen.pk), "x": [0, 1, 2], "y": [0, 1, 2]}], "left": []}
    of_charlie = compare(cast, seen, foreign, who=cast.charlie).json()
    assert of_charlie["missing"] == [str(seen.pk)]
    assert compare(cast, seen, curves=True, who=cast.charlie, metric="loss").json()["curves"] == []


def test_a_token_for_one_project_compares_its_runs_alone_and_needs_only_to_read(cast: Cast) -> None:
    second = Project.objects.create(organisation=cast.a, name="second")
    runs = [logged(cast.project_a, cast.bob), logged(second, cast.bob)]
    limits: dict[str, Any] = {"scopes": ["read"], "expires_in_days": 1, "project": second}
    _, token = create_token(cast.bob, name="t", **limits)
    client = cast.client(None)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    body = {"runs": [str(run.pk) for run in runs]}
    assert client.post("/api/v1/runs/compare", body).json()["missing"] == body["runs"][:1]
    curves = client.post("/api/v1/runs/compare/curves", {**body, "metric": "loss"}).json()["curves"]
    assert [curve["run"] for curve in curves] == body["runs"][1:]


def test_nobody_compares_without_signing_in(cast: Cast) -> None:
    run = logged(cast.project_a, cast.bob)
    for address in ("", "/curves"):
        answer = cast.client(None).post(f"/api/v1/runs/compare{address}", {"runs": [str(run.pk)], "metric": "loss"})
        assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json")


@pytest.mark.parametrize(
    ("step", "n"), [(int, 1000), (lambda n: 0, 1000), (int, 12)], ids=["spread", "without steps", "short"]
)
def test_a_curve_is_as_the_route_of_the_run_alone_has_it(cast: Cast, step: Callable[[int], int], n: int) -> None:
    runs = []
    for peak in (333, 700):
        run = logged(cast.project_a, cast.bob, n=0)
        values = [50.0 if at == peak else math.inf if at == 500 else 1 / (1 + at % 7) for at in range(n)]
        batch = [LoggedPoint("acc", value, BEGAN + at, step(at)) for at, value in enumerate(values)]
        actions.log_batch(Caller(cast.bob), run, LogBatch(batch))
        runs.append(run)
    found = compare(cast, *runs, curves=True, metric="acc", max_points=20).json()["curves"]
    query: dict[str, Any] = {"key": "acc", "max_points": 20}
    for run, curve in zip(runs, found, strict=True):
        alone = cast.client(cast.bob).get(f"/api/v1/runs/{run.pk}/metrics", query).json()["points"]
        assert curve["run"] == str(run.pk)
        assert curve["x"] == [point["step"] for point in alone]
        rounded = [None if point["value"] is None else pytest.approx(point["value"], rel=1e-5) for point in alone]
        assert curve["y"] == rounded
        assert len(curve["x"]) <= 20


def test_a_curve_over_time_begins_at_its_own_first_point(cast: Cast) -> None:
    run = logged(cast.project_a, cast.bob, n=4)
    [curve] = compare(cast, run, curves=True, metric="loss", axis="wall").json()["curves"]
    assert (curve["x"], curve["y"]) == ([0, 1, 2, 3], [0, 1, 2, 3])


def n_queries(cast: Cast, ids: list[Any], **fields: Any) -> int:
    client = cast.client(cast.bob)
    address = f"/api/v1/runs/compare{'/curves' if fields else ''}"
    client.post(address, {"runs": [str(ids[0])], **fields})  # what a process asks for only once
    with CaptureQueriesContext(connection) as captured:
        assert client.post(address, {"runs": [str(pk) for pk in ids], **fields}).status_code == 200
    return len(captured)


@pytest.mark.parametrize("fields", [{}, {"metric": "loss", "max_points": 10}], ids=["values", "curves"])
def test_twenty_runs_take_as_many_queries_as_two(cast: Cast, fields: dict[str, Any]) -> None:
    ids = []
    for number in range(20):
        run = logged(cast.project_a, cast.bob, params={"lr": "1", f"own {number}": "x"}, n=4 if number % 4 < 2 else 40)
        ids.append(run.pk)
        if number % 4 == 3:  # without a spread of steps
            RunPoint.objects.filter(series__run=run).update(step=0)
            RunSeries.objects.filter(run=run).update(last_step=0)
    few = n_queries(cast, [ids[0], ids[2], ids[3]], **fields)
    assert n_queries(cast, ids, **fields) == few
    assert few < 20


def test_an_answer_is_bounded_and_says_how_many_names_are_left_out(cast: Cast) -> None:
    ids = many(cast, 40, n_names=500, key="a metric with a rather long name {:03}", value="x" * 3000)
    answer = compare(cast, *ids)
    found = answer.json()
    assert MAX_ANSWER_BYTES * 0.8 < len(answer.content) < MAX_ANSWER_BYTES
    assert (len(found["runs"]), found["n_params"], found["n_metrics"], found["left"]) == (40, 500, 500, [])
    with_values = [column for column in found["metrics"] if column["values"] is not None]
    assert {len(column["values"]) for column in with_values} == {40}
    assert len(found["metrics"]) > len(with_values), "names are cheap, and are there to choose from"
    text = found["params"][0]["values"][0]
    assert text.startswith("x" * 250 + "… (3000 characters, ")
    assert len(text) < 300


def test_long_values_that_differ_in_their_ends_alone_differ_when_they_are_cut(cast: Cast) -> None:
    runs = [logged(cast.project_a, cast.bob, params={"prompt": "x" * 300 + end}) for end in "aba"]
    [column] = compare(cast, *runs).json()["params"]
    first, second, third = column["values"]
    assert first == third != second


def test_runs_for_which_no_room_is_left_are_named_and_can_be_asked_for(cast: Cast) -> None:
    ids = [str(pk) for pk in many(cast, 200, n_names=60, key="🙂" * 240 + "{}", value="🙂" * 250, name="🙂" * 250)]
    described: list[str] = []
    left = ids
    for _ in range(10):
        answer = compare(cast, *left)
        assert len(answer.content) < MAX_ANSWER_BYTES
        described += [run["id"] for run in answer.json()["runs"]]
        left = answer.json()["left"]
        if not left:
            break
    assert described == ids


def test_curves_that_take_too_long_to_read_for_one_answer_are_left_for_the_next(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "MAX_READ", 100)
    runs = [logged(cast.project_a, cast.bob, n=60) for _ in range(3)]
    answer = compare(cast, *runs, curves=True, metric="loss", max_points=10).json()
    assert [curve["run"] for curve in answer["curves"]] == [str(runs[0].pk)]
    assert answer["left"] == [str(runs[1].pk), str(runs[2].pk)]
    whole = compare(cast, *runs, curves=True, metric="loss", max_points=60).json()
    assert (len(whole["curves"]), whole["left"]) == (3, []), "what is not thinned is no longer than the answer"


def test_two_hundred_long_curves_fit_into_an_answer(cast: Cast) -> None:
    ids = many(cast, 200, n_names=1, key="loss")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tracking_runpoint (series_id, step, at_ms, value)"
            " SELECT s.id, g * 1000003, %s + g, sin(g) / 3 FROM tracking_runseries s, generate_series(1, 100) g",
            [BEGAN],
        )
    RunSeries.objects.update(n_points=100, last_step=100 * 1_000_003)
    answer = compare(cast, *ids, curves=True, metric="loss", max_points=40)
    assert len(answer.content) < MAX_ANSWER_BYTES
    assert {len(curve["x"]) > 20 for curve in answer.json()["curves"]} == {True}


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"runs": []}, "runs", "at least 1"),
        ({"runs": ["first"]}, "runs.0", "UUID"),
        ({"runs": [str(uuid4())] * 201}, "runs", "200"),
        ({"metrics": "loss"}, "metrics", "did you mean `metric`?"),
        ({"axis": "epoch"}, "axis", "Give one of: step, wall."),
        ({"max_points": 1001}, "max_points", "Give at most 1,000."),
        (
            {"runs": [str(uuid4()) for _ in range(200)], "max_points": 50},
            "max_points",
            "Give at most 40 for so many runs.",
        ),
        ({"metric": "x" * 251}, "metric", "250"),
    ],
)
def test_what_is_wrong_is_named_with_the_remedy(cast: Cast, fields: dict[str, Any], field: str, message: str) -> None:
    body = {"runs": [str(uuid4())], "metric": "loss", **fields}
    answer = cast.client(cast.bob).post("/api/v1/runs/compare/curves", body)
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    found = {error["field"]: error["message"] for error in answer.json()["errors"]}
    assert message in found[field]
