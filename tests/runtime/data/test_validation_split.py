# SPDX-License-Identifier: Apache-2.0
"""Which examples are held out: by fraction and seed, by class, by folds; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlhub.runtime.data import readers
from mlhub.runtime.data.sampling import split
from mlhub.runtime.data.validation_options import check_own_part, check_validation, read_validation
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.errors import BadInputError

CLASSES = np.repeat([0, 1, 2], [10, 60, 130])


def no_classes() -> np.ndarray:
    raise AssertionError("this split needs no classes")


def test_without_options_it_is_the_split_that_standard_units_were_measured_on() -> None:
    for ours, theirs in zip(ValidationSplit().indices(57, no_classes), split(57, evaluation_fraction=0.2), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(
    n=st.integers(2, 300),
    fraction=st.floats(0.01, 0.99),
    seed=st.none() | st.integers(0, 100),
    is_stratified=st.booleans(),
)
def test_every_example_is_trained_on_or_held_out_and_as_many_as_announced(
    n: int, fraction: float, seed: int | None, is_stratified: bool
) -> None:
    validation = ValidationSplit(fraction, seed, is_stratified)
    train, held_out = validation.indices(n, lambda: np.arange(n) % 3)
    assert sorted([*train, *held_out]) == list(range(n))
    assert len(train) >= 1
    assert len(held_out) == validation.n_held_out(n) >= 1


def test_another_seed_holds_out_other_examples() -> None:
    first, second = (ValidationSplit(seed=seed).indices(100, no_classes)[1] for seed in (1, 2))
    assert set(first) != set(second)


def test_a_stratified_split_holds_out_the_same_part_of_each_class() -> None:
    _, held_out = ValidationSplit(0.3, is_stratified=True).indices(200, lambda: CLASSES)
    assert np.bincount(CLASSES[held_out]).tolist() == [3, 18, 39]


@pytest.mark.parametrize("is_stratified", [False, True])
def test_k_folds_hold_out_every_example_once(is_stratified: bool) -> None:
    folds = [ValidationSplit(seed=5, is_stratified=is_stratified, folds=7, fold=fold) for fold in range(7)]
    parts = [fold.indices(200, lambda: CLASSES)[1] for fold in folds]
    assert sorted(np.concatenate(parts)) == list(range(200))
    assert [len(part) for part in parts] == [fold.n_held_out(200) for fold in folds]
    if is_stratified:
        counts = np.array([np.bincount(CLASSES[part], minlength=3) for part in parts])
        assert (counts.max(0) - counts.min(0) <= 1).all()


def test_a_dataset_is_opened_with_the_split_that_a_job_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, x=np.arange(200, dtype=np.float32)[:, None], y=CLASSES)
    schema = readers.inspect("npz", path, {}).schema
    asked = read_validation({"validation_fraction": 0.1, "validation_stratified": True, "validation_seed": 3})
    data = readers.open_split("npz", path, schema, validation=asked)
    _, targets = data.batch(data.held_out)
    assert np.bincount(targets.numpy()).tolist() == [1, 6, 13]


@pytest.mark.parametrize(
    ("hyperparameters", "schema", "field", "remedy"),
    [
        ({"validation_fraction": 1.0}, {}, "validation_fraction", "less than 1"),
        ({"validation_fraction": 0.1, "validation_folds": 3}, {}, "validation_fraction", "Leave"),
        ({"validation_fold": 1}, {}, "validation_fold", "validation_folds"),
        ({"validation_folds": 3, "validation_fold": 3}, {}, "validation_fold", "0 to 2"),
        ({"validation_folds": 300}, {"task": "classification"}, "validation_folds", "at most 200"),
        ({"validation_stratified": True}, {"task": "regression"}, "validation_stratified", "Leave"),
        ({"validation_seed": 1}, {"n_held_out": 20}, "validation_seed", "without that part"),
    ],
)
def test_a_split_that_does_not_fit_is_refused_with_field_and_remedy(
    hyperparameters: dict[str, Any], schema: dict[str, Any], field: str, remedy: str
) -> None:
    def check() -> None:
        check_own_part(hyperparameters, schema)
        check_validation(read_validation(hyperparameters), schema, n_examples=200)

    with pytest.raises(BadInputError) as refused:
        check()
    assert refused.value.field == f"hyperparameters.{field}"
    assert remedy in refused.value.remedy
