# SPDX-License-Identifier: Apache-2.0
"""How much each hyperparameter matters by itself: the share of the variance of the results' ranks that it explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from mlhub.experiments.algorithms.space import Value

FEWEST = 10  # rows; with fewer, chance explains too much
FEWEST_OF_A_CHOICE = 2  # rows on average; a name that every row has for itself would explain all
METHOD = (
    "Share of the variance of the results' ranks that the hyperparameter explains by itself: squared Spearman "
    "correlation of numbers, correlation ratio of choices. Interactions are not seen."
)


@dataclass(frozen=True)
class Importance:
    share: float  # of the variance of ranks, 0 to 1
    n: int  # rows that have both the hyperparameter and a result
    correlation: float | None  # Spearman's, of numbers; above 0: larger values came with larger results


def importance(
    given: Mapping[str, Sequence[Value | None]],
    results: Sequence[float | None],
    *,
    choices: frozenset[str] = frozenset(),
) -> dict[str, Importance]:
    """given: a column of values for each hyperparameter, in the order of the results; None: a row has none.

    choices: hyperparameters whose numbers are options, without an order. What is no number is an option anyway.
    Returns those that were varied in at least FEWEST rows, the largest share first.
    """
    found: dict[str, Importance] = {}
    for name, column in given.items():
        rows = [(v, r) for v, r in zip(column, results, strict=True) if v is not None and r is not None]
        values, reached = [value for value, _ in rows], ranks([result for _, result in rows])
        if len(rows) < FEWEST or len(set(values)) < 2:
            continue
        numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        if name not in choices and len(numbers) == len(values):
            rho = correlation(ranks(numbers), reached)
            found[name] = Importance(rho**2, len(rows), rho)
        elif len(rows) >= FEWEST_OF_A_CHOICE * len(set(values)):
            share = correlation_ratio([repr(value) for value in values], reached)
            found[name] = Importance(share, len(rows), None)
    return dict(sorted(found.items(), key=lambda item: (-item[1].share, item[0])))


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each, from 0; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    found = [0.0] * len(values)
    at = 0
    for _, group in groupby(order, key=lambda i: values[i]):
        members = list(group)
        for i in members:
            found[i] = at + (len(members) - 1) / 2
        at += len(members)
    return found


def correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Pearson's, in [-1, 1]; 0 where one of them does not vary."""
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    both = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    spread = sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)
    return both / spread**0.5 if spread else 0.0


def correlation_ratio(groups: Sequence[str], values: Sequence[float]) -> float:
    """The share, in [0, 1], of the variance of values that lies between the groups; 0 where values do not vary."""
    mean = sum(values) / len(values)
    total = sum((value - mean) ** 2 for value in values)
    members: dict[str, list[float]] = {}
    for group, value in zip(groups, values, strict=True):
        members.setdefault(group, []).append(value)
    between = sum(len(own) * (sum(own) / len(own) - mean) ** 2 for own in members.values())
    return between / total if total else 0.0
