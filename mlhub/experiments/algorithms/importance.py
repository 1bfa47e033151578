# SPDX-License-Identifier: Apache-2.0
"""How much each hyperparameter matters by itself: the share of the variance of the trials' ranks that it explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from mlhub.experiments.algorithms.space import Options, SearchSpace, Value

FEWEST = 10  # trials; with fewer, chance explains too much
METHOD = (
    "Share of the variance of the trials' ranks that the hyperparameter explains by itself: squared Spearman "
    "correlation of numbers, correlation ratio of choices. Interactions are not seen."
)


def importance(space: SearchSpace, tried: Sequence[tuple[Mapping[str, Value], float]]) -> dict[str, float]:
    """tried: the parameters of trials, with what they reached at one and the same rung.

    Returns a share in [0, 1] for each hyperparameter that was varied, the largest first; {} with fewer than FEWEST.
    """
    if len(tried) < FEWEST:
        return {}
    reached = ranks([value for _, value in tried])
    found: dict[str, float] = {}
    for name, values in space.parameters.items():
        given = [parameters[name] for parameters, _ in tried if name in parameters]
        if len(given) < len(tried) or len(set(given)) < 2:
            continue
        if isinstance(values, Options):
            found[name] = correlation_ratio([repr(value) for value in given], reached)
        else:
            found[name] = correlation(ranks([float(value) for value in given]), reached) ** 2
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


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
    between = 0.0
    for name in set(groups):
        own = [value for group, value in zip(groups, values, strict=True) if group == name]
        between += len(own) * (sum(own) / len(own) - mean) ** 2
    return between / total if total else 0.0
