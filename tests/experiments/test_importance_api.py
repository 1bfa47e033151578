# SPDX-License-Identifier: Apache-2.0
"""How much the settings of compared jobs matter, through the API."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.cast import Cast, make_cast

pytestmark = pytest.mark.django_db
URL = "/api/v1/jobs/compare/importance"
N = 12
RESULTS = [float(n) for n in range(N)]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def test_the_setting_that_results_follow_comes_first_with_its_direction(cast: Cast) -> None:
    columns: dict[str, list[Any]] = {
        "lr": [0.1 / (1 + n) for n in range(N)],
        "optimizer": ["sgd", "adam"] * (N // 2),
        "seed": [7] * N,
        "late": [None] * 5 + [1, 2, 3, 4, 5, 6, 7],
    }
    answer = cast.client(cast.victor).post(URL, {"results": RESULTS, "parameters": columns}).json()
    assert (answer["needed"], answer["n_rows"]) == (10, N)
    assert [(each["name"], each["n"]) for each in answer["parameters"]] == [("lr", N), ("optimizer", N)]
    assert answer["parameters"][0] == {"name": "lr", "share": 1.0, "n": N, "correlation": -1.0}
    assert answer["parameters"][1]["correlation"] is None


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"lr": [1, 2]}, "lr has 2 values for 12 results"),
        ({"lr": [*range(11), [1]]}, r"lr has '\[1\]'"),
        ({"lr": [*range(11), {}]}, r"lr has '\{\}'"),
        ({"lr": [*range(11), "x" * 501]}, "up to 500 characters"),
        ({f"p{n}": list(range(N)) for n in range(201)}, "at most 200"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name(cast: Cast, columns: dict[str, Any], words: str) -> None:
    response = cast.client(cast.bob).post(URL, {"results": RESULTS, "parameters": columns})
    assert response.status_code == 422
    [error] = response.json()["errors"]
    assert error["field"] == "parameters"
    assert re.search(words, error["message"])


def test_nobody_asks_without_signing_in() -> None:
    assert APIClient().post(URL, {}, format="json").status_code == 401
