# SPDX-License-Identifier: Apache-2.0
"""Options about classes of unequal size: weights in the loss, and how examples are drawn. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mlhub.runtime.option_values import Values, invalid

SAMPLINGS = ("uniform", "balanced")
ClassWeights = str | tuple[float, ...] | Mapping[str, float] | None


def read_class_weights(values: Values) -> ClassWeights:
    """ "balanced", a list of weights, or {class: weight}; None: all count alike. Raises BadInputError."""
    given = values.get("class_weights")
    if given is None or given == "balanced":
        return given
    if isinstance(given, Mapping) and given and all(_is_weight(weight) for weight in given.values()):
        return {str(name): float(weight) for name, weight in given.items()}
    if isinstance(given, list | tuple) and given and all(_is_weight(weight) for weight in given):
        return tuple(float(weight) for weight in given)
    raise invalid(
        "class_weights",
        f"class_weights is {given!r}."[:200],
        'Give "balanced", a list of positive numbers, or an object such as {"cat": 2}.',
    )


def check_classes(
    *, class_weights: ClassWeights, label_smoothing: float, sampling: str, facts: Mapping[str, Any]
) -> None:
    """Compares the options with the dataset's task. Raises BadInputError."""
    task = str(facts.get("task") or "")
    what = f"The targets of {task.replace('_', ' ') or 'a dataset without a known task'}"
    if class_weights is not None and task != "classification":
        raise invalid("class_weights", f"{what} are no classes.", "Leave class_weights out.")
    if sampling != "uniform" and task != "classification":
        raise invalid("sampling", f"{what} are no classes.", "Leave sampling out.")
    if label_smoothing and task not in ("classification", "language_modelling"):
        raise invalid("label_smoothing", f"{what} are no labels.", "Leave label_smoothing out.")


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
