# SPDX-License-Identifier: Apache-2.0
"""The search space: what is read, what is refused and how, and the points that are drawn from it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlhub.core.errors import InvalidInputError
from mlhub.experiments.algorithms.importance import importance
from mlhub.experiments.algorithms.space import IntegerRange, Options, RealRange
from mlhub.experiments.algorithms.space_files import read_space
from mlhub.experiments.algorithms.tpe import TriedPoint, suggest

YAML = """
learning_rate: {log_uniform: [1e-4, 0.1]}
width: {int: [16, 256], log: true}
dropout: {uniform: [0, 0.5]}
activation: {choice: [relu, tanh]}
"""


def test_a_space_is_read_from_yaml_with_numbers_that_yaml_takes_for_text() -> None:
    assert dict(read_space(YAML).parameters) == {
        "learning_rate": RealRange(1e-4, 0.1, is_log=True),
        "width": IntegerRange(16, 256, is_log=True),
        "dropout": RealRange(0.0, 0.5),
        "activation": Options(("relu", "tanh")),
    }


@pytest.mark.parametrize(
    ("given_space", "field", "words"),
    [
        ({}, "space", "no points"),
        ("", "space", "no mapping"),
        ({"a": {"choice": []}}, "space.a", "no points"),
        ({"a": {"uniform": [2, 1]}}, "space.a", "no points"),
        ({"a": {"int": [5, 4]}}, "space.a", "no points"),
        ({"a": {"log_uniform": [0, 1]}}, "space.a", "no logarithm"),
        ({"a": {"int": [1.5, 4]}}, "space.a", "whole numbers"),
        ({"a": {"uniform": [1]}}, "space.a", "two ends"),
        ({"a": {"uniform": [1, "inf"]}}, "space.a", "no number"),
        ({"a": {"uniform": [0, 1], "step": 2}}, "space.a", "unknown part step"),
        ({"a": {"uniform": [0, 1], "int": [0, 1]}}, "space.a", "has 2 of"),
        ({"a": 3}, "space.a", "does not say"),
        ({"a": {"choice": [1, 1]}}, "space.a", "twice"),
        ({"a": {"choice": [[1]]}}, "space.a", "no value"),
        ({"a": {"uniform": [0, 1], "points": 1}}, "space.a", "points"),
        ("a: {choice: [1,", "space", "no YAML at line 1"),
        ([1], "space", "no mapping"),
        ("a: &x [1]\nb: *x", "space", "Anchors and aliases"),
        ("a: {<<: {choice: [1]}}", "space", "merge key"),
        ("a: {choice: [" + "[1]," * 100 + "]}", "space.a", "a value of the type list"),
        ("a: {uniform: [{b: 1}, 1]}", "space.a", "a value of the type dict"),
        ('a: {choice: ["\\0"]}', "space.a.choice.0", "NUL"),
        ("a: {choice: [0x1FFFFFFFFFFFFFFFF]}", "space.a.choice.0", "64 bits"),
        ("a: {choice: [.nan]}", "space.a.choice.0", "NaN is no number"),
        ("a: {choice: [0x" + "F" * 9000 + "]}", "space", "too long"),
        ("{0x" + "F" * 9000 + ": {choice: [1]}}", "space", "too long"),
        ("a: " + "[" * 5000, "space", "no YAML"),
        ({"a": {"choice": [[[["x" * 999]]]]}}, "space.a", "a value of the type list"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused_naming_the_field(given_space: Any, field: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_space(given_space)
    assert refused.value.field == field
    assert words in refused.value.message
    assert refused.value.remedy


def test_aliases_that_stand_for_gigabytes_are_refused_before_they_are_expanded() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    with pytest.raises(InvalidInputError, match="Anchors and aliases") as refused:
        read_space("\n".join(["a0: &a0 [x]", *levels]))
    assert len(str(refused.value)) < 500
    merged = [f"b{n}: &b{n} {{<<: [*b{n - 1}, *b{n - 1}]}}" for n in range(1, 40)]
    with pytest.raises(InvalidInputError, match="Anchors and aliases"):
        read_space("\n".join(["b0: &b0 {x: 1}", *merged]))


@pytest.mark.slow
@given(number=st.integers(0, 500), seed=st.integers(0, 2**31 - 1))
def test_points_lie_in_the_space_and_are_the_same_for_the_same_number_and_seed(number: int, seed: int) -> None:
    point = read_space(YAML).sample(number, seed=seed)
    assert point is not None
    assert point == read_space(YAML).sample(number, seed=seed)
    assert list(point) == ["learning_rate", "width", "dropout", "activation"]
    assert 1e-4 <= float(point["learning_rate"]) <= 0.1
    assert isinstance(point["width"], int)
    assert 16 <= point["width"] <= 256
    assert 0 <= float(point["dropout"]) <= 0.5
    assert point["activation"] in ("relu", "tanh")


def test_a_finite_space_is_drawn_from_without_repetition_until_it_is_used_up() -> None:
    space = read_space({"a": {"int": [1, 4]}, "b": {"choice": [True, False, "x"]}})
    drawn = [space.sample(number, seed=3) for number in range(12)]
    assert len({repr(point) for point in drawn}) == space.n_points == 12
    assert space.sample(12, seed=3) is None


def test_a_grid_has_every_combination_once() -> None:
    space = read_space({"a": {"log_uniform": [0.01, 1], "points": 3}, "b": {"int": [1, 2]}})
    grid = [space.grid_point(number) for number in range(space.n_grid_points)]
    assert [(round(float(point["a"]), 9), point["b"]) for point in grid] == [
        (0.01, 1), (0.01, 2), (0.1, 1), (0.1, 2), (1.0, 1), (1.0, 2),
    ]  # fmt: skip
    with pytest.raises(IndexError):
        space.grid_point(6)


def test_tpe_proposes_the_same_point_for_the_same_records_and_draws_near_to_good_ones() -> None:
    space = read_space({"x": {"uniform": [0, 1]}, "kind": {"choice": ["a", "b"]}})

    def value(point: dict[str, Any]) -> float:
        return -abs(float(point["x"]) - 0.3) - (0.5 if point["kind"] == "b" else 0.0)

    tried: list[TriedPoint] = []
    for number in range(40):
        point = suggest(space, tried, number=number, seed=7)
        if number in (5, 25):
            assert point == suggest(space, tried, number=number, seed=7)
        tried.append(TriedPoint(point, value(point)))
    late = [each.parameters for each in tried[25:]]
    assert sum(each["kind"] == "a" for each in late) > 10
    assert sorted(abs(float(each["x"]) - 0.3) for each in late)[len(late) // 2] < 0.15  # 0.25 by chance
    # points of trials that run are in the model, too, and change what comes next
    running = [*tried, TriedPoint(tried[-1].parameters, None, is_running=True)]
    assert suggest(space, running, number=41, seed=7).keys() == {"x", "kind"}


def test_importance_finds_the_parameter_that_matters() -> None:
    space = read_space({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}, "kind": {"choice": ["a", "b"]}})
    points = [space.sample(number, seed=1) or {} for number in range(60)]
    columns = {name: [point[name] for point in points] for name in space.parameters}
    found = importance(columns, [0.5 * (p["kind"] == "a") - 3 * float(p["x"]) for p in points])
    assert list(found)[:2] == ["x", "kind"]
    assert found["x"].share > 0.8
    assert (found["x"].correlation or 0) < -0.9
    assert found["y"].share < 0.1
    assert found["kind"].correlation is None
    assert importance({"x": columns["x"][:9]}, [1.0] * 9) == {}


def test_importance_leaves_out_rows_without_a_value_and_names_that_each_row_has_for_itself() -> None:
    results: list[float | None] = [None, *map(float, range(11))]
    columns = {
        "width": [None, *range(10), None],
        "depth": [*range(9), None, None, None],
        "run": [f"run {n}" for n in range(12)],
        "layers": [2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8],
    }
    found = importance(columns, results, choices=frozenset({"layers"}))
    assert {name: (each.n, each.correlation) for name, each in found.items()} == {
        "width": (10, 1.0),
        "layers": (11, None),
    }
