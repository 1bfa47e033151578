# SPDX-License-Identifier: Apache-2.0
"""The user's code on a few examples: what it raises, what never ends, what does not fit the dataset, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.contract import Contract
from mlhub.runtime.model.user_code import tried


def outputs_of(model: nn.Module, contract: Contract, inputs: Tensor, facts: Mapping[str, Any]) -> Any:
    """The model's answer. Raises BadInputError."""
    shape = list(inputs.shape)
    kind = "whole numbers (int64)" if not inputs.is_floating_point() else str(inputs.dtype).removeprefix("torch.")
    with tried("preprocess", f"It is given a batch of the shape {shape}, {kind}."):
        prepared = contract.preprocess(inputs)
    seen = list(prepared.shape) if isinstance(prepared, Tensor) else shape
    advice = f"It is given a batch of the shape {seen}, {kind}: build it for hyperparameters['input_shape'], {seen[1:]}"
    if not inputs.is_floating_point() and facts.get("task") != "language_modelling":
        advice += ", or save x as float32, when it holds measurements and not numbers of things"
    with tried("model", f"{advice}."):
        return model(prepared)


def check_fit(outputs: Any, targets: Tensor, facts: Mapping[str, Any]) -> None:
    """Whether the default loss can compare them. Raises BadInputError."""
    n, task = len(targets), facts.get("task")
    shape = list(outputs.shape) if isinstance(outputs, Tensor) else None
    if shape is None:
        found = f"a {type(outputs).__name__}"
    else:
        found = f"outputs of the shape {shape}"
    if task == "classification":
        n_classes = int(facts["n_classes"])
        fits = shape is not None and len(shape) == 2 and shape[0] == n and shape[1] >= n_classes
        wanted, hint = [n, n_classes], "a number for each class; hyperparameters['n_classes'] says how many there are"
    elif task == "regression":
        fits = shape is not None and outputs.numel() == n and shape[:1] == [n]
        wanted, hint = [n, 1], "one number for each example"
    elif task == "language_modelling":
        wanted = [*targets.shape, int(facts["vocabulary_size"])]
        fits, hint = shape == wanted, "a number for each token of the vocabulary, at each place"
    else:
        return
    if not fits:
        raise BadInputError(
            f"The model gives {found} for {n} examples, which does not fit the targets of {task}.",
            field="model",
            remedy=f"Return {wanted}: {hint}. With a loss of your own, outputs may have any form.",
            code="output_does_not_fit",
        )
