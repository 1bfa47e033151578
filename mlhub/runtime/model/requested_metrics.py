# SPDX-License-Identifier: Apache-2.0
"""The metrics that are computed over the whole evaluation set, and which of them a job gets. Standard library only.

To add a metric: a line in METRICS, its value in whole_set_metrics.py, and its row in docs/guides/training.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from mlhub.runtime.errors import BadInputError

CLASSIFICATION, REGRESSION, LANGUAGE = "classification", "regression", "language_modelling"
MAX_CONFUSION_CLASSES = 20
MAX_SCORES = 2_000_000  # float64 values that workers gather for the area under the curve: 16 MB
_TOP_K = re.compile(r"top_([1-9]\d{0,4})_accuracy")


@dataclass(frozen=True)
class MetricDeclaration:
    """about: for people. tasks: those for which it exists. is_default: whether a job has it without asking."""

    about: str
    tasks: tuple[str, ...]
    is_default: bool = False


METRICS: Mapping[str, MetricDeclaration] = {
    "f1_macro": MetricDeclaration(
        "mean over the classes of F1, the harmonic mean of precision and recall", (CLASSIFICATION,), is_default=True
    ),
    "f1_micro": MetricDeclaration("F1 of the counts of all classes together", (CLASSIFICATION,)),
    "precision_macro": MetricDeclaration("mean over the classes of precision", (CLASSIFICATION,)),
    "recall_macro": MetricDeclaration("mean over the classes of recall", (CLASSIFICATION,)),
    "auc": MetricDeclaration(
        "area under the ROC curve; of several classes the mean of each against the others", (CLASSIFICATION,)
    ),
    "accuracy_per_class": MetricDeclaration("accuracy of the examples of each class (its recall)", (CLASSIFICATION,)),
    "confusion_matrix": MetricDeclaration("how often each class was taken for which", (CLASSIFICATION,)),
    "perplexity": MetricDeclaration("exponential of the cross entropy", (CLASSIFICATION, LANGUAGE)),
    "r2": MetricDeclaration("share of the targets' variance that is explained", (REGRESSION,), is_default=True),
    "root_mean_square_error": MetricDeclaration("in the unit of the targets", (REGRESSION,)),
    "mean_absolute_error": MetricDeclaration("in the unit of the targets", (REGRESSION,)),
}
TOP_K = MetricDeclaration("how often the target is among the k likeliest classes", (CLASSIFICATION, LANGUAGE))


def read_metrics(value: Any) -> tuple[str, ...] | None:
    """The names that a job asks for; None: the defaults of its task. Raises BadInputError for an unknown name."""
    if value is None:
        return None
    names = value if isinstance(value, list | tuple) else [value]
    for name in names:
        if not isinstance(name, str) or _declaration(name) is None:
            raise _unknown(name, METRICS)
    return tuple(dict.fromkeys(names))


def metrics_of(asked: tuple[str, ...] | None, facts: Mapping[str, Any], *, has_usual_form: bool) -> tuple[str, ...]:
    """The metrics of a job on a dataset with these facts.

    has_usual_form: whether outputs are compared by MLHub's own loss, so that their form is known; otherwise only the
    metrics that were asked for are computed. Raises BadInputError for one that the task does not have.
    """
    task = str(facts.get("task") or "")
    if asked is None:
        return tuple(n for n, d in METRICS.items() if d.is_default and task in d.tasks) if has_usual_form else ()
    for name in asked:
        found = _declaration(name)
        if found is None or task not in found.tasks:
            there = [n for n, d in METRICS.items() if task in d.tasks]
            raise BadInputError(
                f"There is no {name} of {task.replace('_', ' ') or 'a dataset without a known task'}.",
                field="hyperparameters.metrics",
                remedy=f"Give some of {', '.join(there)}." if there else "Leave metrics out.",
                code="invalid_hyperparameter",
            )
        _check_classes(name, facts)
    return asked


def top_k_of(name: str) -> int | None:
    """The k of "top_5_accuracy"; None for other names."""
    found = _TOP_K.fullmatch(name)
    return int(found[1]) if found else None


def check_number_of_scores(names: Iterable[str], facts: Mapping[str, Any], *, n_held_out: int) -> None:
    """Raises BadInputError where the area under the curve would need more scores than workers gather."""
    n_classes = int(facts.get("n_classes") or 0)
    n_scores = n_held_out * ((1 if n_classes == 2 else n_classes) + 1)
    if "auc" in names and n_scores > MAX_SCORES:
        raise BadInputError(
            f"auc needs the {n_scores:,} scores of {n_held_out:,} held-out examples at once.",
            field="hyperparameters.metrics",
            remedy=f"Leave auc out, or give a validation_fraction with which they are at most {MAX_SCORES:,}.",
            code="invalid_hyperparameter",
        )


def _declaration(name: str) -> MetricDeclaration | None:
    return TOP_K if _TOP_K.fullmatch(name) else METRICS.get(name)


def _check_classes(name: str, facts: Mapping[str, Any]) -> None:
    n_classes, k = int(facts.get("n_classes") or facts.get("vocabulary_size") or 0), top_k_of(name)
    if name in ("confusion_matrix", "accuracy_per_class") and n_classes > MAX_CONFUSION_CLASSES:
        raise BadInputError(
            f"{name} of {n_classes} classes is too large.",
            field="hyperparameters.metrics",
            remedy=f"Leave it out: it is shown for at most {MAX_CONFUSION_CLASSES} classes.",
            code="invalid_hyperparameter",
        )
    if k is not None and n_classes and k >= n_classes:
        raise BadInputError(
            f"{name} is always 1: there are {n_classes} classes.",
            field="hyperparameters.metrics",
            remedy=f"Give a k below {n_classes}.",
            code="invalid_hyperparameter",
        )


def _unknown(name: Any, known: Iterable[str]) -> BadInputError:
    names = [*known, "top_5_accuracy"]
    near = get_close_matches(str(name), names, n=1, cutoff=0.4)
    guess = f"Did you mean {near[0]}? " if near else ""
    return BadInputError(
        f"There is no metric {name!r}.",
        field="hyperparameters.metrics",
        remedy=f"{guess}A list of {', '.join(names)}.",
        code="invalid_hyperparameter",
    )
