# SPDX-License-Identifier: Apache-2.0
"""Which of many should share, two and two, so that all together gain most: a matching of greatest weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def heaviest_pairs(gains: Mapping[tuple[int, int], float], *, nodes: Iterable[int] = ()) -> list[tuple[int, int]]:
    """Returns the pairs (smaller, larger) of a matching with the greatest sum of gains, in ascending order.

    gains: by pair, in any unit; a pair that is not there cannot be matched. nodes: all of them, where their order
    decides between matchings of equal gain. Cost: cubic in the number of nodes. Source: Galil, "Efficient algorithms
    for finding maximum matching in graphs" (1986), as networkx has it.
    """
    import networkx  # takes a tenth of a second, and few processes ever match

    graph = networkx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_weighted_edges_from((one, other, gain) for (one, other), gain in gains.items())
    return sorted((min(pair), max(pair)) for pair in networkx.max_weight_matching(graph))
