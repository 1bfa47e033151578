# SPDX-License-Identifier: Apache-2.0
"""Metrics that are no means over batches: F1, the area under the ROC curve, R2 and others, over a whole evaluation set.

Each worker counts on its own examples. The counts are one flat vector, whose sum over all workers is the vector of the
whole set, so that the metrics are the same for any number of workers. Scores of single examples are gathered in the
same way: each worker writes its own at their places, and zeros elsewhere.
Source of the definitions: Sokolova and Lapalme, 2009 (F1, precision, recall); Fawcett, 2006 (area under the curve).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mlhub.runtime.model.requested_metrics import CLASSIFICATION, REGRESSION, top_k_of

CountArray = NDArray[np.float64]
MAX_EXPONENT = 50.0
CONFUSION = "eval/confusion/"  # begins the names of the cells of a confusion matrix: its target, its answer
SCORES = "auc"  # the only counts with a row for each example


class WholeSetMetrics:
    """Counts on the examples of one worker.

    names: of requested_metrics.py, for the task in facts. answers: a regression's outputs in the unit of its targets.
    """

    def __init__(
        self,
        names: Sequence[str],
        facts: Mapping[str, Any],
        *,
        n_held_out: int,
        answers: Callable[[Tensor], Tensor] = lambda outputs: outputs,
    ) -> None:
        self._names, self._answers = tuple(names), answers
        self._task = str(facts.get("task") or "")
        self._n_classes = int(facts.get("n_classes") or 0) if self._task == CLASSIFICATION else 0
        self._labels = class_labels(facts, self._n_classes)
        self._centre = float(facts.get("target_mean") or 0.0)  # sums of squares around it lose no digits
        self._has_matrix = "confusion_matrix" in names
        self._counts: dict[str, CountArray] = {}
        if self._task == CLASSIFICATION and names:
            # a model may have more outputs than there are classes; the last column counts what was taken for those
            shape = (self._n_classes, self._n_classes + 1) if self._has_matrix else (3, self._n_classes)
            self._counts["classes"] = np.zeros(shape)
        if self._task == REGRESSION and names:
            self._counts["moments"] = np.zeros(5)  # n, sum and squares of targets, squares and sizes of errors
        self._counts |= {name: np.zeros(1) for name in names if top_k_of(name) is not None}
        self._counts |= {name: np.zeros(2) for name in names if name == "perplexity"}
        if "auc" in names:
            n_columns = 1 if self._n_classes == 2 else self._n_classes
            self._counts["auc"] = np.zeros((n_held_out, n_columns + 1))  # scores, and the target
        self._n_targets = np.zeros(1)
        self._counts["n_targets"] = self._n_targets

    def add(self, outputs: Any, targets: Tensor, *, start: int) -> None:
        """Counts a batch. start: the place of its first example among all held-out ones."""
        if not self._names:
            return
        if self._task == REGRESSION:
            self._add_moments(self._answers(outputs.reshape(targets.shape)), targets)
            return
        self._n_targets += targets.numel()
        scores, wanted = outputs.detach().flatten(0, -2), targets.flatten()
        for name in self._names:
            if (k := top_k_of(name)) is not None:
                likeliest = scores.topk(min(k, scores.shape[-1]), dim=-1).indices
                self._counts[name] += float((likeliest == wanted[:, None]).any(-1).sum())
        if "perplexity" in self._names:
            loss = torch.nn.functional.cross_entropy(scores.double(), wanted, reduction="sum")
            self._counts["perplexity"] += [float(loss), len(wanted)]
        if self._task == CLASSIFICATION:
            self._add_classes(scores.argmax(-1), wanted)
            self._add_scores(scores, wanted, start=start)

    @property
    def counts(self) -> Mapping[str, CountArray]:
        """What was counted so far, by name; empty where no metric is computed."""
        return self._counts if self._names else {}

    def vector(self) -> list[float]:
        """The counts as one flat list, to be summed over workers."""
        return [float(v) for counts in self.counts.values() for v in counts.ravel()]

    def values(self, total: Sequence[float]) -> dict[str, float]:
        """The metrics of the whole set under "eval/...". total: the sum of all workers' vectors."""
        counts, left = {}, np.asarray(total, dtype=np.float64)
        for name, own in self.counts.items():
            counts[name], left = left[: own.size].reshape(own.shape), left[own.size :]
        return self.values_of(counts)

    def values_of(self, counts: Mapping[str, CountArray]) -> dict[str, float]:
        """The metrics under "eval/..." of the counts of a whole set, such as joined() gives."""
        found: dict[str, float] = {}
        for name in self._names:
            found |= self._value(name, counts)
        return {f"eval/{name}": value for name, value in found.items()}

    def _value(self, name: str, counts: Mapping[str, CountArray]) -> dict[str, float]:
        if top_k_of(name) is not None:
            return {name: float(counts[name][0] / counts["n_targets"][0])}
        if name == "perplexity":
            loss = float(counts[name][0] / counts[name][1])
            return {name: math.exp(loss)} if loss < MAX_EXPONENT else {}
        if self._task == REGRESSION:
            return {name: _of_moments(name, counts["moments"])}
        if name == "auc":
            return _found(name, mean_auc(counts["auc"][:, :-1], counts["auc"][:, -1], n_classes=self._n_classes))
        matrix = counts["classes"]
        right, given, wanted = (np.diag(matrix), matrix.sum(0)[:-1], matrix.sum(1)) if self._has_matrix else matrix
        if name == "accuracy_per_class":
            there = np.flatnonzero(wanted)
            return {f"accuracy_of/{self._labels[c]}": float(right[c] / wanted[c]) for c in there}
        if name == "confusion_matrix":
            places = ((a, p) for a in range(self._n_classes) for p in range(self._n_classes))
            labels = self._labels
            return {f"confusion/{labels[a]}/{labels[p]}": float(matrix[a, p]) for a, p in places}
        return {name: of_counts(name, right, given, wanted)}

    def _add_moments(self, answers: Tensor, targets: Tensor) -> None:
        wanted = targets.detach().double().flatten() - self._centre
        errors = answers.detach().double().flatten() - self._centre - wanted
        self._counts["moments"] += [
            wanted.numel(), float(wanted.sum()), float((wanted**2).sum()),
            float((errors**2).sum()), float(errors.abs().sum()),
        ]  # fmt: skip

    def _add_classes(self, given: Tensor, wanted: Tensor) -> None:
        counts, n = self._counts["classes"], self._n_classes
        given_N, wanted_N = given.cpu().numpy(), wanted.cpu().numpy()
        if self._has_matrix:
            np.add.at(counts, (wanted_N, np.minimum(given_N, n)), 1.0)
            return
        for row, values in enumerate((wanted_N[given_N == wanted_N], given_N[given_N < n], wanted_N)):
            counts[row] += np.bincount(values, minlength=n)[:n]

    def _add_scores(self, scores: Tensor, wanted: Tensor, *, start: int) -> None:
        if "auc" not in self._names:
            return
        exact = scores[:, : self._n_classes].double()
        # logarithms of probabilities have their order, and do not saturate
        columns = exact[:, 1:] - exact[:, :1] if self._n_classes == 2 else torch.log_softmax(exact, -1)
        rows = self._counts["auc"][start : start + len(wanted)]
        rows[:, :-1], rows[:, -1] = columns.cpu().numpy(), wanted.cpu().numpy()


def joined(parts: Sequence[Mapping[str, CountArray]]) -> dict[str, CountArray]:
    """The counts of a set from those of its parts, each of which was counted on its own."""
    first = parts[0] if parts else {}
    return {
        name: np.concatenate([part[name] for part in parts]) if name == SCORES else sum_of([p[name] for p in parts])
        for name in first
    }


def sum_of(arrays: Sequence[CountArray]) -> CountArray:
    """The elementwise sum of arrays of one shape."""
    total: CountArray = np.sum(np.stack(arrays), axis=0)
    return total


def class_labels(facts: Mapping[str, Any], n_classes: int) -> list[str]:
    """Names of the classes as a metric's name may hold them; the index where two would be the same."""
    named = [str(name) for name in facts.get("classes") or ()]
    plain = [re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:60] for name in named]
    is_usable = len(plain) == n_classes and len(set(plain)) == n_classes and all(plain)
    return plain if is_usable else [str(index) for index in range(n_classes)]


def of_counts(name: str, right_C: CountArray, given_C: CountArray, wanted_C: CountArray) -> float:
    """A metric of counts a class: examples taken for it rightly, taken for it, and of it. Each has shape (C,).

    Macro means are over the classes that occur as a target or an answer; what is undefined counts as 0.
    """
    if name == "f1_micro":
        return float(2 * right_C.sum() / max(1.0, given_C.sum() + wanted_C.sum()))
    there = (given_C + wanted_C) > 0
    numerator, denominator = {
        "f1_macro": (2 * right_C, given_C + wanted_C),
        "precision_macro": (right_C, given_C),
        "recall_macro": (right_C, wanted_C),
    }[name]
    return float((numerator[there] / np.maximum(denominator[there], 1.0)).mean()) if there.any() else 0.0


def mean_auc(scores_NS: CountArray, wanted_N: CountArray, *, n_classes: int) -> float | None:
    """The area under the ROC curve, of several classes the mean of each against the others; None: undefined.

    scores_NS: shape (n, 1) for two classes, else (n, n_classes). Ties count half.
    """
    columns = [(0, 1)] if n_classes == 2 else [(c, c) for c in range(n_classes)]
    areas = [_auc(scores_NS[:, column], wanted_N == c) for column, c in columns]
    defined = [area for area in areas if area is not None]
    return float(np.mean(defined)) if defined else None


def _auc(scores_N: CountArray, is_positive_N: NDArray[np.bool_]) -> float | None:
    """The Mann-Whitney statistic, by mean ranks."""
    n_positive = int(is_positive_N.sum())
    n_negative = len(scores_N) - n_positive
    if not n_positive or not n_negative:
        return None
    _, places, sizes = np.unique(scores_N, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    ranks = (last - (sizes - 1) / 2)[places]
    return float((ranks[is_positive_N].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def _of_moments(name: str, moments: CountArray) -> float:
    n, total, squares, errors, sizes = (float(v) for v in moments)
    if name == "mean_absolute_error":
        return sizes / n
    if name == "root_mean_square_error":
        return math.sqrt(errors / n)
    variation = squares - total**2 / n
    return 1.0 - errors / variation if variation > 0 else 0.0


def _found(name: str, value: float | None) -> dict[str, float]:
    return {} if value is None else {name: value}
