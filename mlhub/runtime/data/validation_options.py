# SPDX-License-Identifier: Apache-2.0
"""The hyperparameters that say what is held out for evaluation, read and compared with the dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.option_values import flag, invalid, number, whole

MAX_FOLDS = 1000
MAX_SEED = 2**31 - 1
VALIDATION_NAMES = (
    "validation_fraction", "validation_seed", "validation_stratified", "validation_folds", "validation_fold",
)  # fmt: skip


def read_validation(hyperparameters: Mapping[str, Any], *, fraction: float = 0.2) -> ValidationSplit:
    """fraction: where none is given. Raises BadInputError (field "hyperparameters.<name>")."""
    given = number(hyperparameters, "validation_fraction", above=0.0, below=1.0)
    folds = whole(hyperparameters, "validation_folds", least=2, most=MAX_FOLDS) or 0
    fold = whole(hyperparameters, "validation_fold", least=0)
    if given is not None and folds:
        raise invalid(
            "validation_fraction", "Of folds the fraction follows from their number.", "Leave validation_fraction out."
        )
    if fold is not None and not folds:
        raise invalid("validation_fold", "There are no folds.", "Give validation_folds, or leave validation_fold out.")
    if folds and (fold or 0) >= folds:
        raise invalid("validation_fold", f"There is no fold {fold} of {folds}.", f"Give 0 to {folds - 1}.")
    return ValidationSplit(
        fraction=fraction if given is None else given,
        seed=whole(hyperparameters, "validation_seed", least=0, most=MAX_SEED),
        is_stratified=flag(hyperparameters, "validation_stratified"),
        folds=folds,
        fold=fold or 0,
    )


def check_validation(validation: ValidationSplit, schema: Mapping[str, Any], *, n_examples: int) -> None:
    """Compares the split with the dataset that it is to divide. Raises BadInputError."""
    task = str(schema.get("task") or "")
    if validation.is_stratified and task != "classification":
        raise invalid(
            "validation_stratified",
            f"Examples of {task.replace('_', ' ') or 'a dataset without a known task'} have no classes.",
            "Leave validation_stratified out.",
        )
    if validation.folds > n_examples:
        raise invalid(
            "validation_folds",
            f"{n_examples} examples cannot be divided into {validation.folds} folds.",
            f"Give at most {n_examples}.",
        )
    if n_examples < 2:
        raise BadInputError(
            f"The dataset has {n_examples} examples.",
            field="dataset",
            remedy="Give at least two: one to train on, one to evaluate with.",
        )


def check_own_part(hyperparameters: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raises BadInputError where a split is asked for, and the dataset has a held-out part of its own."""
    asked = [name for name in VALIDATION_NAMES if hyperparameters.get(name) not in (None, False)]
    if asked and schema.get("n_held_out"):
        raise invalid(
            asked[0],
            f"The dataset has a test part of its own, of {schema['n_held_out']} examples.",
            f"Leave {', '.join(asked)} out, or upload the dataset without that part.",
        )
