# SPDX-License-Identifier: Apache-2.0
"""Trying trained models out: rows in, predictions out, in the sandbox; few at a time, and what is wrong by its name."""

from __future__ import annotations

import base64
import threading
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from mlhub.core.errors import InvalidInputError, RateLimitedError
from mlhub.registry.models import ModelVersion
from mlhub.registry.predictors.pool import PredictorPool, predictor_pool
from mlhub.runtime.exported_model.inputs import read_rows
from mlhub.runtime.prediction.inference import PROBABILITIES
from tests.datasets import audio
from tests.registry import exported

ENDS = b"""
import os
import torch
class Ends(torch.nn.Linear):
    def forward(self, x):
        os._exit(3)
def build_model(h):
    return Ends(h["input_shape"][0], 2)
"""


@pytest.fixture
def pool():
    """The pool of this process, whose predictors end with the test."""
    yield predictor_pool()
    predictor_pool().close()
    predictor_pool.cache_clear()


def predict(client, version: ModelVersion, *rows: Any):
    address = f"/api/v1/models/{version.model_id}/versions/{version.number}/predict"
    return client.post(address, {"rows": list(rows)}, format="json")


@pytest.mark.slow
def test_rows_are_predicted_as_by_a_prediction_job_and_a_wrong_column_is_named(cast, tmp_path, pool):
    case = exported.table_of_customers(tmp_path)
    version, inference = case.registered(cast)
    bob = cast.client(cast.bob)
    rows = read_rows(case.file)[:8]  # with the target, and with columns that the model does not use
    for name in ("churned", "source"):
        del rows[0][name]
    answer = predict(bob, version, *rows)
    assert answer.status_code == 200, answer.content
    found = exported.probabilities(answer.json()["predictions"])
    np.testing.assert_allclose(found, inference.predictions(np.arange(8))[PROBABILITIES], atol=1e-5)
    for field, cell in (("income", "high"), ("signup", "tomorrow")):
        wrong = predict(bob, version, {**rows[0], field: cell})
        assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, field)
    missing = predict(bob, version, {"signup": "02/03/2021"})
    assert (missing.status_code, missing.json()["detail"]) == (422, "Row 0 has no column city.")
    assert predict(bob, version, rows[0]).status_code == 200
    assert predict(cast.client(cast.victor), version, rows[0]).status_code == 403
    assert predict(cast.client(cast.charlie), version, rows[0]).status_code == 404
    assert predict(bob, version).status_code == 422
    newest = f"/api/v1/models/{version.model_id}/predict"
    assert bob.post(newest, {"rows": rows}, format="json").json() == answer.json()
    for person, status in ((cast.victor, 403), (cast.charlie, 404)):
        assert cast.client(person).post(newest, {"rows": rows}, format="json").status_code == status


def test_a_model_predicts_exports_and_names_its_data_after_the_dataset_was_deleted(cast, tmp_path, pool):
    version, inference = exported.table_of_customers(tmp_path).registered(cast)
    rows = read_rows(exported.table_of_customers(tmp_path).file)[:4]
    dataset = version.dataset_version.dataset
    bob = cast.client(cast.bob)
    assert cast.client(cast.alice).delete(f"/api/v1/datasets/{dataset.pk}").status_code == 204
    answer = predict(bob, version, *rows)
    assert answer.status_code == 200, answer.content
    found = exported.probabilities(answer.json()["predictions"])
    np.testing.assert_allclose(found, inference.predictions(np.arange(4))[PROBABILITIES], atol=1e-5)
    shown = bob.get(f"/api/v1/model-versions/{version.pk}").json()
    assert (shown["dataset_version"], shown["trained_on_name"]) == (None, f"{dataset.name}, version 1")
    assert shown["not_exportable"] is None
    assert bob.get(f"/api/v1/models/{version.model_id}/versions/{version.number}/export").status_code == 200


@pytest.mark.slow
def test_a_number_is_taken_as_the_file_writes_it_and_as_a_number_of_json(cast, tmp_path, pool):
    case = exported.table_of_sales(tmp_path)
    version, inference = case.registered(cast)
    bob = cast.client(cast.bob)
    rows = read_rows(case.file)[:8]
    assert (rows[2]["Umsatz"], rows[3]["Umsatz"]) == ("3.102,5", "4.103,5")
    answer = predict(bob, version, *rows[:3], rows[3] | {"Umsatz": 4103.5}, *rows[4:])
    assert answer.status_code == 200, answer.content
    found = exported.probabilities(answer.json()["predictions"])
    np.testing.assert_allclose(found, inference.predictions(np.arange(8))[PROBABILITIES], atol=1e-5)
    wrong = predict(bob, version, rows[0] | {"Umsatz": "3,102.50"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "Umsatz")
    assert "no number with a decimal comma" in wrong.json()["detail"]
    assert "1.234,56, a JSON number, or nothing" in str(wrong.json()["errors"][0])


@pytest.mark.slow
def test_a_clip_is_predicted_in_any_format_and_what_is_none_is_named(cast, tmp_path, pool):
    version, inference = exported.sounds(tmp_path).registered(cast)
    bob = cast.client(cast.bob)
    sounds = [audio.clip(i, rate=11_025, seconds=0.4, format=format) for i, format in ((1, "WAV"), (0, "FLAC"))]
    rows = [{"audio": base64.b64encode(sound).decode()} for sound in sounds]
    answer = predict(bob, version, *rows)
    assert answer.status_code == 200, answer.content
    expected = inference.predictions(np.array([0, 4]))[PROBABILITIES]  # noise comes first
    found = exported.probabilities(answer.json()["predictions"])
    np.testing.assert_allclose(found, expected, atol=1e-3)  # FLAC is rounded otherwise than the dataset's WAV
    for row, field in (({"audio": "bm8="}, "audio"), ({}, "audio"), ({"image": "bm8="}, "image")):
        wrong = predict(bob, version, row)
        assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, field)
    assert "BytesIO" not in predict(bob, version, {"audio": "bm8="}).json()["detail"]


@pytest.mark.slow
def test_a_model_whose_process_ends_is_refused_and_no_process_is_left(cast, tmp_path, pool):
    case = exported.table_of_flowers(tmp_path)
    case.entry, case.code = "ends", ENDS
    version, _ = case.registered(cast)
    row = {"length": 1, "width": 2, "colour": "red", "wild": True}
    answer = predict(cast.client(cast.bob), version, row)
    assert (answer.status_code, answer.json()["code"]) == (422, "predictor_ended")


def test_models_cannot_be_tried_out_where_no_sandbox_of_this_machine_is_used(cast, tmp_path, settings):
    version, _ = exported.table_of_flowers(tmp_path).registered(cast)
    settings.PREDICTORS = 0
    answer = predict(cast.client(cast.bob), version, {})
    assert (answer.status_code, answer.json()["code"]) == (409, "no_predictors")


class LoadedStub:
    """A loaded model that records what was done with it."""

    def __init__(self, version: Any, *, start: Any) -> None:
        self.version, self.is_running, self.is_closed = version, True, False

    def predict(self, rows: Any) -> list[Any]:
        return [self.version.during(row) for row in rows]

    def close(self) -> None:
        self.is_closed = True


def version_of(during: Any = lambda row: row) -> Any:
    return SimpleNamespace(pk=uuid4(), during=during)


def test_the_pool_keeps_few_models_replaces_the_one_used_longest_ago_and_closes_idle_ones():
    made: list[LoadedStub] = []
    now = [0.0]

    def load(version: Any, *, start: Any) -> LoadedStub:
        made.append(LoadedStub(version, start=start))
        return made[-1]

    pool = PredictorPool(2, idle_s=100, load=load, clock=lambda: now[0])
    first, second, third = version_of(), version_of(), version_of()
    for version in (first, second, first, third):
        now[0] += 1
        assert pool.predict(version, ["row"]) == ["row"]
    assert [(one.version, one.is_closed) for one in made] == [(first, False), (second, True), (third, False)]
    now[0] = 103.5
    assert pool.close_idle() == 1
    assert [one.is_closed for one in made] == [True, True, False]
    made[2].is_running = False  # it was ended: the next request loads it again
    pool.predict(third, ["row"])
    assert [one.is_closed for one in made] == [True, True, True, False]
    pool.close()
    assert made[3].is_closed


def test_when_all_are_in_use_a_further_model_is_refused_with_a_time_to_wait():
    pool = PredictorPool(1, idle_s=100, load=LoadedStub)

    def while_busy(row: Any) -> Any:
        with pytest.raises(RateLimitedError) as refused:
            pool.predict(version_of(), [row])
        return refused.value.facts["retry_after_s"]

    assert pool.predict(version_of(while_busy), ["row"]) == [5]
    pool.close()


def test_a_model_that_cannot_be_loaded_is_not_tried_again_at_once() -> None:
    now, n_loads = [0.0], [0]

    def load(version: Any, *, start: Any) -> LoadedStub:
        n_loads[0] += 1
        raise InvalidInputError("Its code sleeps.", code="predictor_too_slow")

    pool, version = PredictorPool(1, idle_s=100, load=load, clock=lambda: now[0]), version_of()
    for at, expected in ((0.0, 1), (10.0, 1), (40.0, 2)):
        now[0] = at
        with pytest.raises(InvalidInputError, match="sleeps"):
            pool.predict(version, ["row"])
        assert n_loads == [expected]
    pool.close()


def test_a_model_that_loads_slowly_does_not_keep_others_from_starting() -> None:
    is_slow, may_end = threading.Event(), threading.Event()

    def load(version: Any, *, start: Any) -> LoadedStub:
        start(lambda: None)
        if version.is_slow:
            is_slow.set()
            assert may_end.wait(600)
        return LoadedStub(version, start=start)

    pool, slow, quick = PredictorPool(2, idle_s=100, load=load), version_of(), version_of()
    slow.is_slow, quick.is_slow = True, False
    waiting = threading.Thread(target=pool.predict, args=(slow, ["row"]))
    waiting.start()
    assert is_slow.wait(600)
    assert pool.predict(quick, ["row"]) == ["row"]
    may_end.set()
    waiting.join()
    pool.close()
