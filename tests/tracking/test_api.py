# SPDX-License-Identifier: Apache-2.0
"""Runs from elsewhere below /api/v1: listed, shown, thinned, downloaded and deleted; nothing for strangers."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

import pytest

from mlhub.core.errors import ConflictError, QuotaExceededError
from mlhub.events.models import Event
from mlhub.storage.models import Holding
from mlhub.storage.stores import blob_store
from mlhub.tenants.actions import delete
from mlhub.tracking import actions, artifacts
from mlhub.tracking.access import Caller
from mlhub.tracking.curves import read_curve
from mlhub.tracking.limits import Entry, LogBatch, LoggedPoint
from mlhub.tracking.models import Run, RunDataset, RunParam, RunSeries, RunTag
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db


PARTS = ("params", "tags", "datasets")


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def run(cast: Cast) -> Run:
    caller = Caller(cast.bob)
    run = actions.create_run(caller, cast.project_a, name="first", started_ms=1_700_000_000_000)
    points = [LoggedPoint("loss", 1 / (1 + step), 1_700_000_000_000 + step, step) for step in range(1000)]
    actions.log_batch(caller, run, LogBatch(points=points))
    nan = [LoggedPoint("broken", float("nan"), 1, 0)]
    actions.log_batch(caller, run, LogBatch(nan, [Entry("lr", "0.1")], [Entry("note", "x")]))
    put(cast, run, "a/b.txt", b"hello")
    RunDataset.objects.create(run=run, name="iris", digest="d1")
    return run


def put(cast: Cast, run: Run, path: str, content: bytes) -> None:
    with blob_store().stage(limit_bytes=1000) as staging:
        staging.write(content)
        artifacts.store(Caller(cast.bob), run, path=path, staging=staging)


def test_a_run_is_listed_and_shown(cast: Cast, run: Run) -> None:
    own = job(cast.project_a, cast.bob)
    actions.log_batch(Caller(cast.bob), own, LogBatch(tags=[Entry("a", "b")]))  # a job's own run is the job
    client = cast.client(cast.victor)
    [listed] = client.get("/api/v1/runs", {"project": str(cast.project_a.pk)}).json()["results"]
    assert (listed["name"], listed["status"], listed["started_at"]) == ("first", "RUNNING", "2023-11-14T22:13:20Z")
    shown = client.get(f"/api/v1/runs/{run.pk}").json()
    counts = {name: n for name, n in shown.items() if name.startswith("n_")}
    assert counts == {"n_params": 1, "n_tags": 1, "n_metrics": 2, "n_artifacts": 1, "n_datasets": 1}
    lists = {part: client.get(f"/api/v1/runs/{run.pk}/{part}").json()["results"] for part in PARTS}
    assert lists == {
        "params": [{"key": "lr", "value": "0.1"}],
        "tags": [{"key": "note", "value": "x"}],
        "datasets": [{"name": "iris", "digest": "d1"}],
    }
    assert client.get(f"/api/v1/runs/{run.pk}/metrics/names").json()["results"] == [
        {"key": "broken", "n_points": 1, "last_step": 0, "last_value": None},
        {"key": "loss", "n_points": 1000, "last_step": 999, "last_value": 0.001},
    ]
    files = client.get(f"/api/v1/runs/{run.pk}/artifacts").json()["results"]
    assert files == [{"path": "a/b.txt", "size_bytes": 5}]
    assert client.get("/api/v1/runs", {"status": "FAILED"}).json()["results"] == []


def test_a_long_curve_is_thinned_to_its_ends_and_extremes(cast: Cast, run: Run) -> None:
    actions.log_batch(Caller(cast.bob), run, LogBatch(points=[LoggedPoint("loss", 50.0, 1_800_000_000_000, 500)]))
    client = cast.client(cast.bob)
    curve = client.get(f"/api/v1/runs/{run.pk}/metrics", {"key": "loss", "max_points": 20}).json()
    values = {(point["step"], point["value"]) for point in curve["points"]}
    assert curve["is_thinned"]
    assert len(curve["points"]) <= 20
    assert {(0, 1.0), (500, 50.0), (999, 0.001)} <= values
    whole = client.get(f"/api/v1/runs/{run.pk}/metrics", {"key": "loss"}).json()
    assert (len(whole["points"]), whole["is_thinned"]) == (1001, False)


def test_a_range_of_steps_of_a_long_curve_has_points_that_the_whole_one_leaves_out(cast: Cast, run: Run) -> None:
    def part(**asked: int) -> dict[str, Any]:
        query = {"key": "loss", "max_points": 20, **asked}
        found: dict[str, Any] = cast.client(cast.bob).get(f"/api/v1/runs/{run.pk}/metrics", query).json()
        return found

    exact = part(first_step=510, last_step=525)
    assert ([point["step"] for point in exact["points"]], exact["is_thinned"]) == (list(range(510, 526)), False)
    assert exact["n_points"] == 1000
    thinned = part(first_step=500, last_step=699)
    steps = [point["step"] for point in thinned["points"]]
    assert (thinned["is_thinned"], steps[0], steps[-1]) == (True, 500, 699)
    assert 10 <= len(steps) <= 20
    assert [point["step"] for point in part(last_step=3)["points"]] == [0, 1, 2, 3]
    assert [point["step"] for point in part(first_step=998)["points"]] == [998, 999]
    assert part(first_step=5, last_step=4)["points"] == []
    assert part(first_step=2000)["points"] == []


def test_a_range_without_a_spread_of_steps_is_thinned_by_its_points(cast: Cast, run: Run) -> None:
    points = [LoggedPoint("flat", 1.0 / (n + 1), 1_800_000_000_000 + n, n // 500) for n in range(1500)]
    for begin in (0, 750):
        actions.log_batch(Caller(cast.bob), run, LogBatch(points=points[begin : begin + 750]))
    curve = read_curve(RunSeries.objects.get(run=run, key="flat"), max_points=20, first_step=1, last_step=1)
    assert curve.is_thinned
    assert len(curve.points) <= 20
    assert {step for step, _, _ in curve.points} == {1}
    assert (curve.points[0][2], curve.points[-1][2]) == (1 / 501, 1 / 1000)


@pytest.mark.parametrize("step", [lambda n: 0, lambda n: n // 500, lambda n: 2**62 + n], ids=["none", "two", "huge"])
def test_a_long_curve_without_a_spread_of_steps_is_thinned_by_its_points(
    cast: Cast, run: Run, step: Callable[[int], int]
) -> None:
    began = 1_800_000_000_000
    values = {n: 50.0 if n == 500 else math.nan if n == 700 else 1.0 / (n + 1) for n in range(1000)}
    points = [LoggedPoint("flat", value, began + n, step(n)) for n, value in values.items()]
    actions.log_batch(Caller(cast.bob), run, LogBatch(points=points))
    curve = read_curve(RunSeries.objects.get(run=run, key="flat"), max_points=20)
    assert curve.is_thinned
    assert len(curve.points) <= 20
    assert curve.points == sorted(curve.points, key=lambda point: point[:2])
    ends = [(step(n), began + n, values[n]) for n in (0, 500, 999)]
    assert set(ends) <= set(curve.points)
    assert any(math.isnan(value) for _, _, value in curve.points)


def test_a_file_comes_back(cast: Cast, run: Run) -> None:
    answer = cast.client(cast.victor).get(f"/api/v1/runs/{run.pk}/artifacts/a/b.txt")
    assert b"".join(answer.streaming_content) == b"hello"


def whole(cast: Cast, address: str) -> tuple[list[Any], int]:
    """The rows of all pages of a list, and the size of the largest answer."""
    client, found, largest = cast.client(cast.victor), [], 0
    following: str | None = address
    while following:
        assert len(following) < 8000  # what servers take as a request's first line
        answer = client.get(following)
        largest = max(largest, len(answer.content))
        found += answer.json()["results"]
        following = answer.json()["next"]
    return found, largest


def test_a_thousand_metrics_with_long_names_come_in_pages_below_200_kb(cast: Cast, run: Run) -> None:
    names = [f"{n:04d}" + "\N{GRINNING FACE}" * 246 for n in range(998)]
    actions.log_batch(Caller(cast.bob), run, LogBatch(points=[LoggedPoint(name, 1.0, 1, 0) for name in names]))
    rows, largest = whole(cast, f"/api/v1/runs/{run.pk}/metrics/names?limit=200")
    assert [row["key"] for row in rows] == [*names, "broken", "loss"]
    assert largest < 200_000
    assert len(cast.client(cast.victor).get(f"/api/v1/runs/{run.pk}").content) < 2000


@pytest.mark.parametrize(("part", "model", "n_letters"), [("params", RunParam, 6000), ("tags", RunTag, 8000)])
def test_thousands_of_long_values_come_in_pages_below_200_kb(
    cast: Cast, run: Run, part: str, model: Any, n_letters: int
) -> None:
    model.objects.filter(run=run).delete()
    names = [f"layer{n:04d}/\N{GREEK SMALL LETTER ETA}" for n in range(200)]
    value = ("\u2028" + '"\n' + "\N{GRINNING FACE}" * 3) * (n_letters // 6)  # some are longer in JSON than in UTF-8
    model.objects.bulk_create(model(run=run, key=name, value=value) for name in names)
    rows, largest = whole(cast, f"/api/v1/runs/{run.pk}/{part}?limit=200")
    assert [row["key"] for row in rows] == names
    assert {row["value"] for row in rows} == {value}
    assert 100_000 < largest < 200_000
    assert len(cast.client(cast.victor).get(f"/api/v1/runs/{run.pk}").content) < 2000


def test_a_thousand_datasets_with_long_names_come_in_pages_below_200_kb(cast: Cast, run: Run) -> None:
    names = ["\N{GRINNING FACE}" * 500] * 300
    RunDataset.objects.filter(run=run).delete()
    RunDataset.objects.bulk_create(RunDataset(run=run, name=name, digest=str(n)) for n, name in enumerate(names))
    rows, largest = whole(cast, f"/api/v1/runs/{run.pk}/datasets?limit=200")
    assert [row["digest"] for row in rows] == [str(n) for n in range(300)]
    assert largest < 200_000


def test_pages_of_a_runs_parts_lead_back_and_refuse_cursors_of_other_lists(cast: Cast, run: Run) -> None:
    put(cast, run, "a/c.txt", b"other")
    actions.log_batch(Caller(cast.bob), run, LogBatch([], [Entry("momentum", "0")], [Entry("other", "")]))
    RunDataset.objects.create(run=run, name="wine", digest="d2")
    client, address = cast.client(cast.bob), f"/api/v1/runs/{run.pk}"
    names = {"metrics/names": "key", "artifacts": "path", "params": "key", "tags": "key", "datasets": "name"}
    cursor_of_another_list = base64.urlsafe_b64encode(b'["a", "no id", false]').decode()
    for part, name in names.items():
        first = client.get(f"{address}/{part}", {"limit": 1}).json()
        second = client.get(first["next"]).json()
        assert (first["previous"], second["next"]) == (None, None)
        assert [row[name] for row in client.get(second["previous"]).json()["results"]] == [first["results"][0][name]]
        for cursor in ("bm90aGluZw==", cursor_of_another_list):
            refused = client.get(f"{address}/{part}", {"cursor": cursor})
            assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "cursor")


def test_metrics_and_files_and_runs_are_searched_by_a_part_of_their_names(cast: Cast, run: Run) -> None:
    client, address = cast.client(cast.bob), f"/api/v1/runs/{run.pk}"
    found = client.get(f"{address}/metrics/names", {"search": "OS"}).json()["results"]
    assert [row["key"] for row in found] == ["loss"]
    assert client.get(f"{address}/metrics/names", {"search": "%"}).json()["results"] == []
    assert [row["path"] for row in client.get(f"{address}/artifacts", {"search": "B.t"}).json()["results"]] == [
        "a/b.txt"
    ]
    assert client.get(f"{address}/artifacts", {"search": "none"}).json()["results"] == []
    for part, found, missed in (
        ("params", ("L", "0.1"), "0.2"),
        ("tags", ("NOT", "X"), "y"),
        ("datasets", ("R",), "d"),
    ):
        for text in found:
            assert len(client.get(f"{address}/{part}", {"search": text}).json()["results"]) == 1, (part, text)
        assert client.get(f"{address}/{part}", {"search": missed}).json()["results"] == []
    actions.create_run(Caller(cast.bob), cast.project_a, name="second", started_ms=1)
    assert [row["name"] for row in client.get("/api/v1/runs", {"search": "FIR"}).json()["results"]] == ["first"]


def test_runs_are_found_by_words_of_their_names_owners_and_ids_and_by_parameters_and_tags(cast: Cast, run: Run) -> None:
    other = actions.create_run(Caller(cast.alice), cast.project_a, name="second try", started_ms=1)
    actions.log_batch(Caller(cast.alice), other, LogBatch([], [Entry("lr", "0.15")], [Entry("stage", "Draft=1")]))
    foreign = actions.create_run(Caller(cast.charlie), cast.project_b, name="first of others", started_ms=1)
    actions.log_batch(Caller(cast.charlie), foreign, LogBatch([], [Entry("lr", "0.1")]))

    def found(text: str) -> list[str]:
        answer = cast.client(cast.bob).get("/api/v1/runs", {"search": text})
        assert answer.status_code == 200, answer.content
        return [row["name"] for row in answer.json()["results"]]

    assert found("TRY sec") == ["second try"]
    assert found("alice") == ["second try"]
    assert found(str(run.pk).upper()) == ["first"]
    assert found("vision") == ["second try", "first"]
    assert found("lr=0.1") == ["first"], "a part of a value is another value"
    assert found("lr=") == ["second try", "first"]
    assert found("stage=draft=1") == ["second try"]
    assert found("LR=0.1") == found("0.1") == found("l=0.1") == found("lr=0.1 note=y") == []
    assert found("lr=0.1 note=x") == ["first"]
    params = [Entry("optimizer", "SGD with momentum"), Entry("decay", "1e-05")]
    actions.log_batch(Caller(cast.alice), other, LogBatch([], params))
    assert found('optimizer="SGD with momentum"') == found('"optimizer=sgd with momentum" try') == ["second try"]
    assert found('"second try"') == ["second try"]
    assert found('"try second"') == found("optimizer=SGD with momentum") == []
    assert found('lr=.15 "') == ["second try"], "a quotation that is only begun"
    assert found("decay=1e-5") == found("decay=0.00001") == found("lr=.15") == ["second try"]
    refused = cast.client(cast.bob).get("/api/v1/runs", {"search": "a " * 9})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "search")


def test_runs_are_found_by_numbers_that_are_above_or_below(cast: Cast, run: Run) -> None:
    """Of metrics the newest value counts; of parameters that are no number nothing holds."""
    other = actions.create_run(Caller(cast.alice), cast.project_a, name="second", started_ms=1)
    points = [LoggedPoint("loss", 0.9, 1, 1), LoggedPoint("loss", 0.25, 2, 2)]
    params = [Entry("lr", "3e-1"), Entry("layers", "many"), Entry("huge", "1e999")]
    actions.log_batch(Caller(cast.alice), other, LogBatch(points, params))

    def found(text: str) -> list[str]:
        answer = cast.client(cast.bob).get("/api/v1/runs", {"search": text})
        assert answer.status_code == 200, answer.content
        return [row["name"] for row in answer.json()["results"]]

    assert found("lr>0.1") == found("lr>=.3") == ["second"]
    assert found("lr>=0.1") == found("lr<1") == ["second", "first"]
    assert found("loss<=0.25") == ["second", "first"]
    assert found("loss>0.24") == ["second"]
    for nothing in ("loss>0.25", "broken>0", "layers>0", "huge>0", "lr>many", "lr>nan", "lr>", ">1", "lr><1", "none<1"):
        assert found(nothing) == [], nothing


def test_strangers_see_nothing_of_it(cast: Cast, run: Run) -> None:
    client = cast.client(cast.charlie)
    assert client.get("/api/v1/runs").json()["results"] == []
    for address in (
        "",
        "/metrics?key=loss",
        "/metrics/names",
        "/artifacts",
        "/artifacts/a/b.txt",
        *(f"/{part}" for part in PARTS),
    ):
        assert client.get(f"/api/v1/runs/{run.pk}{address}").status_code == 404
    assert client.delete(f"/api/v1/runs/{run.pk}").status_code == 404


def test_deleting_a_run_takes_its_rows_and_releases_its_files(cast: Cast, run: Run) -> None:
    put(cast, run, "a/b.txt", b"hello again")
    assert Holding.objects.filter(owner_kind="run").count() == 1  # what was replaced is released
    with pytest.raises(ConflictError, match="1 run"):
        delete(cast.project_a, actor=cast.alice)
    assert cast.client(cast.victor).delete(f"/api/v1/runs/{run.pk}").status_code == 403
    assert cast.client(cast.bob).delete(f"/api/v1/runs/{run.pk}").status_code == 204
    assert not Run.objects.exists()
    assert not Holding.objects.filter(owner_kind="run").exists()
    assert Event.objects.filter(kind="run.deleted", subject_id=run.pk).exists()


def test_a_run_with_too_many_points_is_refused(cast: Cast, run: Run, settings: Any) -> None:
    settings.MAX_POINTS_PER_METRIC = 1000
    with pytest.raises(QuotaExceededError, match="1,000 points of one metric"):
        actions.log_batch(Caller(cast.bob), run, LogBatch(points=[LoggedPoint("loss", 1.0, 1, 5000)]))
