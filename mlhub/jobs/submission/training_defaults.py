# SPDX-License-Identifier: Apache-2.0
"""How long to train, and on how many examples a step, by default: what a script says itself, else by the size of the
dataset; and, from trained weights, the form of the model that they are of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.model.hyperparameters import NAMES
from mlhub.runtime.scripts.arguments import counts_in, words_of

if TYPE_CHECKING:  # what benchmarks measure needs no database
    from mlhub.datasets.models import DatasetVersion
    from mlhub.registry.models import ModelVersion

LEAST_EPOCHS, MOST_EPOCHS = 10, 60
LEAST_STEPS = 200  # fewer are not enough even for a small model
BATCH_SIZES = ((2000, 64), (300, 32), (64, 16), (0, 4))  # from so many examples on


def with_training_defaults(
    dataset: DatasetVersion | None, model: ModelVersion, request: dict[str, Any]
) -> dict[str, Any]:
    """The request, with what was left out of epochs, batch_size and hyperparameters. dataset: None without one."""
    schema = dataset.schema if dataset is not None else None
    hyperparameters = {**_form_of_weights(model), **(request.get("hyperparameters") or {})}
    own = _own_counts(model, hyperparameters, min_workers=request.get("min_workers") or 1)
    found = {**request, **training_defaults(schema or {}, {**own, **_given(request)})}
    return {**found, "hyperparameters": hyperparameters} if hyperparameters else found


def _own_counts(model: ModelVersion, hyperparameters: Mapping[str, Any], *, min_workers: int) -> dict[str, int]:
    """What a script's own options say, or the words that the job passes on to it: it shall train as it does elsewhere,
    unless the job says otherwise.

    Its batch has an example for each worker that the job asks for, as any other batch that is left out.
    """
    code = model.code_version or model
    if code.kind != "script":
        return {}
    own = {**(code.contract.get("own_counts") or {}), **counts_in(words_of(hyperparameters))}
    return own | {"batch_size": max(own["batch_size"], min_workers)} if "batch_size" in own else own


def _given(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if value is not None}


def _form_of_weights(model: ModelVersion) -> dict[str, Any]:
    """The hyperparameters of the model itself, such as its width, with which these weights were trained: no model of
    another form can take them. How they were trained is not of the model: its rate, schedule and the like are not kept.
    """
    if model.source != "training" or model.kind == "script":  # a script reads its arguments and weights as it likes
        return {}
    trained = model.metadata.get("hyperparameters") or {}
    return {name: value for name, value in trained.items() if name not in NAMES}


def training_defaults(schema: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """epochs and batch_size: those of the request, or by the number of examples in the dataset's schema."""
    n_examples = int(schema.get("n_examples") or 0)
    usual = next(size for least, size in BATCH_SIZES if n_examples >= least)
    batch_size = request.get("batch_size") or max(usual, request.get("min_workers") or 1)
    n_steps = max(1, math.ceil(n_examples / batch_size))
    epochs = min(MOST_EPOCHS, max(LEAST_EPOCHS, math.ceil(LEAST_STEPS / n_steps)))
    return {"batch_size": batch_size, "epochs": request.get("epochs") or epochs}


def n_held_out(schema: Mapping[str, Any], validation: ValidationSplit) -> int:
    """Of the dataset's examples: its own test part, or the part that the runtime holds out."""
    n_examples = int(schema.get("n_examples") or 0)
    own = int(schema.get("n_held_out") or 0)
    return own or validation.n_held_out(n_examples)
