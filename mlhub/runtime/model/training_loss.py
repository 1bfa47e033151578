# SPDX-License-Identifier: Apache-2.0
"""The loss that is trained on where it is not the one that evaluations report: class weights and label smoothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mlhub.runtime.model.class_options import ClassWeights
from mlhub.runtime.option_values import invalid

ClassWeightArray = NDArray[np.float64]


def training_loss(
    usual: Callable[[Any, Tensor], Tensor],
    weights: ClassWeights,
    label_smoothing: float,
    *,
    facts: Mapping[str, Any],
    is_own: bool,
    targets: Callable[[], NDArray[Any]],
) -> Callable[[Any, Tensor], Tensor]:
    """The loss for training; `usual` itself where nothing is asked for.

    is_own: whether the package defines the loss. targets: gives the targets of the training examples. Raises
    BadInputError where the options do not fit.
    """
    if weights is None and not label_smoothing:
        return usual
    field = "label_smoothing" if weights is None else "class_weights"
    if is_own:
        raise invalid(field, "The package has a loss of its own.", f"Leave {field} out, or put it into that loss.")
    table = None if weights is None else class_weights(weights, targets(), facts)

    def loss(outputs: Tensor, wanted: Tensor) -> Tensor:
        scores, labels = outputs.flatten(0, -2), wanted.flatten()
        each = torch.nn.functional.cross_entropy(scores, labels, label_smoothing=label_smoothing, reduction="none")
        if table is None:
            return each.mean()
        # a mean over examples, not over weights: the parts of a batch on several workers then add up
        return (each * torch.as_tensor(table, dtype=each.dtype, device=each.device)[labels]).mean()

    return loss


def class_weights(weights: ClassWeights, targets_N: NDArray[Any], facts: Mapping[str, Any]) -> ClassWeightArray:
    """The weight of an example of each class, shape (n_classes,), with mean 1 over the training examples.

    Raises BadInputError for a class that does not exist, or a list of another length.
    """
    n_classes, names = int(facts["n_classes"]), [str(name) for name in facts.get("classes") or ()]
    counts_C = np.bincount(targets_N.astype(np.int64), minlength=n_classes)[:n_classes].astype(np.float64)
    if weights == "balanced":
        given_C = 1.0 / np.maximum(counts_C, 1.0)
    elif isinstance(weights, Mapping):
        given_C = np.ones(n_classes)
        for name, weight in weights.items():
            if name not in names:
                raise invalid("class_weights", f"There is no class {name}.", f"Name some of {', '.join(names)[:500]}.")
            given_C[names.index(name)] = weight
    else:
        assert weights is not None
        if len(weights) != n_classes:
            raise invalid(
                "class_weights",
                f"It has {len(weights)} weights for {n_classes} classes.",
                f"Give {n_classes}, in the order of the classes, or an object of class and weight.",
            )
        given_C = np.asarray(weights, dtype=np.float64)
    return np.asarray(given_C * counts_C.sum() / (given_C * counts_C).sum(), dtype=np.float64)
