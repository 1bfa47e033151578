# SPDX-License-Identifier: Apache-2.0
"""Nodes that are lost and come back, and nodes that are slow for a while: read from a file, or drawn by a
seed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from scheduler.simulator.traces.trace import BadInput


class FailureKind(StrEnum):
    """Names what happens to a node: LOST and BACK to the node itself, SLOW and WELL to its pace."""

    LOST = "lost"
    BACK = "back"
    SLOW = "slow"
    WELL = "well"


@dataclass(frozen=True)
class Failure:
    """Holds a failure of a node. pace: how many times longer a step takes on a slow node."""

    at_s: float
    node: str
    kind: FailureKind
    pace: float = 1.0


@dataclass(frozen=True)
class FailureRates:
    """Holds mean times in seconds, exponentially distributed, of each node.

    They are those between losses and until the node is back, between slow spells and of such a spell; None means that
    it never happens. pace: of a slow node, 1 or more.
    """

    mtbf_s: float | None = None
    mttr_s: float = 600.0
    slow_every_s: float | None = None
    slow_for_s: float = 1800.0
    pace: float = 2.0


def drawn_failures(rates: FailureRates, nodes: Sequence[str], *, seed: int) -> Iterator[Failure]:
    """Yields failures without end, in order of time.

    Each node has its own generators: one more node changes nothing for the others.
    """
    heap: list[tuple[float, int, int, Failure]] = []
    spells = [(FailureKind.LOST, FailureKind.BACK, rates.mtbf_s, rates.mttr_s, 1.0)]
    spells += [(FailureKind.SLOW, FailureKind.WELL, rates.slow_every_s, rates.slow_for_s, rates.pace)]
    generators = {(i, j): np.random.default_rng([seed, i, j]) for i in range(len(nodes)) for j in range(2)}
    for i, node in enumerate(nodes):
        for j, (begins, _, every_s, _, pace) in enumerate(spells):
            if every_s is not None:
                heapq.heappush(heap, (_draw(generators[i, j], every_s), i, j, Failure(0.0, node, begins, pace)))
    while heap:
        at_s, i, j, failure = heapq.heappop(heap)
        yield Failure(at_s, failure.node, failure.kind, failure.pace)
        begins, ends, every_s, for_s, pace = spells[j]
        is_over = failure.kind is ends
        follows = Failure(0.0, failure.node, begins if is_over else ends, pace if is_over else 1.0)
        assert every_s is not None
        heapq.heappush(heap, (at_s + _draw(generators[i, j], every_s if is_over else for_s), i, j, follows))


def failures_in(value: Any, nodes: Sequence[str], *, name: str) -> list[Failure]:
    """Returns the failures of {lost: [{node, at_s, for_s}], slow: [{node, at_s, for_s, pace}]}, in order of time.

    Without for_s a failure lasts for ever. Raises BadInput that names the entry and what is wrong with it.
    """
    if not isinstance(value, Mapping) or not value or not set(value) <= {"lost", "slow"}:
        raise BadInput(name, None, "expected lost: and slow:, each with a list of {node, at_s, for_s}")
    found: list[Failure] = []
    for kind, begins, ends in (
        ("lost", FailureKind.LOST, FailureKind.BACK),
        ("slow", FailureKind.SLOW, FailureKind.WELL),
    ):
        ended: dict[str, float] = {}
        entries = value.get(kind) or []
        if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
            raise BadInput(name, None, f"{kind} must be a list of {{node, at_s, for_s}}")
        for entry in sorted(entries, key=lambda entry: _number(entry, "at_s", kind, name, least=0.0)):
            at_s = _number(entry, "at_s", kind, name, least=0.0)
            pace = _number(entry, "pace", kind, name, least=1.0) if begins is FailureKind.SLOW else 1.0
            node = str(entry.get("node"))
            if node not in nodes:
                raise BadInput(name, None, f"{kind} names the node {node!r}, which the cluster does not have")
            if at_s < ended.get(node, 0.0):
                raise BadInput(name, None, f"{kind}: node {node!r} is {kind} twice at {at_s:g} s; join the two spells")
            found.append(Failure(at_s, node, begins, pace))
            ended[node] = float("inf")
            if "for_s" in entry:
                ended[node] = at_s + _number(entry, "for_s", kind, name, least=1e-9)
                found.append(Failure(ended[node], node, ends))
    return sorted(found, key=lambda failure: failure.at_s)


def _number(entry: Mapping[str, Any], key: str, kind: str, name: str, *, least: float) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
        raise BadInput(name, None, f"an entry of {kind} has {key} {value!r}; it must be a number of at least {least:g}")
    return float(value)


def _draw(generators: np.random.Generator, mean_s: float) -> float:
    return max(1.0, float(generators.exponential(mean_s)))
