# SPDX-License-Identifier: Apache-2.0
"""Metrics over a whole evaluation set, against their definitions written out, on any number of workers."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.requested_metrics import METRICS, metrics_of, read_metrics
from mlhub.runtime.model.whole_set_metrics import WholeSetMetrics, joined

CLASSES = {"task": "classification", "n_classes": 3, "classes": ["cat", "small dog", "cow"]}
ALL_OF_CLASSES = (*(n for n, d in METRICS.items() if "classification" in d.tasks), "top_2_accuracy")


def on_workers(
    n_workers: int, names: tuple[str, ...], facts: dict[str, Any], outputs: torch.Tensor, targets: torch.Tensor
) -> dict[str, float]:
    """What every worker computes from the sum of all workers' vectors, each counting batches of 7 examples."""
    workers = [WholeSetMetrics(names, facts, n_held_out=len(targets)) for _ in range(n_workers)]
    parts = np.array_split(np.arange(len(targets)), n_workers)
    for worker, part in zip(workers, parts, strict=True):
        for start in range(0, len(part), 7):
            rows = part[start : start + 7]
            worker.add(outputs[rows], targets[rows], start=int(rows[0]))
    total = np.sum([worker.vector() for worker in workers], axis=0)
    found = [worker.values(total.tolist()) for worker in workers]
    assert all(a == b for a, b in pairwise(found))
    return found[0]


def expected_of_classes(scores: np.ndarray, wanted: np.ndarray) -> dict[str, float]:
    given, n = scores.argmax(1), scores.shape[1]
    precision, recall, f1, auc = [], [], [], []
    odds = np.exp(scores - scores.max(1, keepdims=True))
    probability = odds / odds.sum(1, keepdims=True)
    for c in range(n):
        right = int(((given == c) & (wanted == c)).sum())
        precision.append(right / max(1, int((given == c).sum())))
        recall.append(right / int((wanted == c).sum()))
        f1.append(2 * precision[c] * recall[c] / (precision[c] + recall[c]) if right else 0.0)
        pairs = [
            1.0 if a > b else 0.5 if a == b else 0.0
            for a in probability[wanted == c, c]
            for b in probability[wanted != c, c]
        ]
        auc.append(sum(pairs) / len(pairs))
    best_two = np.argsort(-scores, axis=1)[:, :2]
    return {
        "eval/f1_macro": float(np.mean(f1)),
        "eval/f1_micro": float((given == wanted).mean()),
        "eval/precision_macro": float(np.mean(precision)),
        "eval/recall_macro": float(np.mean(recall)),
        "eval/auc": float(np.mean(auc)),
        "eval/perplexity": math.exp(-np.log(probability[np.arange(len(wanted)), wanted]).mean()),
        "eval/top_2_accuracy": float(np.mean([w in row for w, row in zip(wanted, best_two, strict=True)])),
        "eval/accuracy_of/small_dog": recall[1],
        "eval/confusion/cat/cow": float(((wanted == 0) & (given == 2)).sum()),
    }


@pytest.mark.parametrize("n_workers", [1, 3, 40])
def test_metrics_of_classes_are_those_of_their_definitions_on_any_number_of_workers(n_workers: int) -> None:
    random = np.random.default_rng(3)
    wanted = random.integers(0, 3, 38)
    scores = random.normal(0, 1, (38, 3)).round(1) + np.eye(3)[wanted] * 0.7  # rounded: there are ties
    found = on_workers(n_workers, ALL_OF_CLASSES, CLASSES, torch.tensor(scores), torch.tensor(wanted))
    for name, value in expected_of_classes(scores, wanted).items():
        assert found[name] == pytest.approx(value, rel=1e-9), name
    assert len(found) == len(ALL_OF_CLASSES) - 2 + 3 + 9


@pytest.mark.parametrize("n_workers", [1, 3])
def test_the_area_under_the_curve_of_two_classes_ranks_far_scores_too(n_workers: int) -> None:
    """Probabilities of these scores are all 1 in float32; their order is still there."""
    scores = torch.tensor([[0.0, s] for s in (50.0, 90.0, 60.0, 80.0, 70.0)])
    wanted = torch.tensor([0, 1, 1, 1, 0])
    found = on_workers(n_workers, ("auc",), {"task": "classification", "n_classes": 2}, scores, wanted)
    assert found["eval/auc"] == pytest.approx(5 / 6)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_r2_of_targets_far_from_zero_is_exact(n_workers: int) -> None:
    random = np.random.default_rng(0)
    targets = 1e6 + random.normal(0, 1, 50)
    outputs = targets + random.normal(0, 0.5, 50)
    facts = {"task": "regression", "target_mean": float(targets.mean())}
    names = ("r2", "root_mean_square_error", "mean_absolute_error")
    found = on_workers(n_workers, names, facts, torch.tensor(outputs)[:, None], torch.tensor(targets))
    errors = outputs - targets
    assert found["eval/r2"] == pytest.approx(1 - (errors**2).sum() / ((targets - targets.mean()) ** 2).sum(), rel=1e-6)
    assert found["eval/root_mean_square_error"] == pytest.approx(math.sqrt((errors**2).mean()), rel=1e-6)
    assert found["eval/mean_absolute_error"] == pytest.approx(np.abs(errors).mean(), rel=1e-6)


def test_parts_that_were_counted_on_their_own_are_joined() -> None:
    random = np.random.default_rng(1)
    outputs, targets = torch.tensor(random.normal(0, 1, (20, 3))), torch.tensor(random.integers(0, 3, 20))
    whole = on_workers(1, ALL_OF_CLASSES, CLASSES, outputs, targets)
    parts = []
    for rows in (slice(0, 9), slice(9, 20)):
        part = WholeSetMetrics(ALL_OF_CLASSES, CLASSES, n_held_out=len(targets[rows]))
        part.add(outputs[rows], targets[rows], start=0)
        parts.append(part.counts)
    assert WholeSetMetrics(ALL_OF_CLASSES, CLASSES, n_held_out=20).values_of(joined(parts)) == pytest.approx(whole)


@pytest.mark.parametrize(
    ("asked", "facts", "remedy"),
    [
        (["f1"], CLASSES, "Did you mean f1_m"),
        (["r2"], CLASSES, "f1_macro"),
        (["auc"], {"task": "regression"}, "r2"),
        (["top_3_accuracy"], CLASSES, "below 3"),
        (["confusion_matrix"], {"task": "classification", "n_classes": 1000}, "at most 20"),
    ],
)
def test_a_metric_that_does_not_exist_or_does_not_fit_is_refused(
    asked: list[str], facts: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(BadInputError) as refused:
        metrics_of(read_metrics(asked), facts, has_usual_form=True)
    assert refused.value.field == "hyperparameters.metrics"
    assert remedy in refused.value.remedy
