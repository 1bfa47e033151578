# SPDX-License-Identifier: Apache-2.0
"""The candidate layouts of gangs as arrays, so that a model prices all of them at once.

Axes: G gangs, a size packed or spread over so many nodes; M modes, all-reduce first, then 1, 2, 4 ... servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.api.arrays import Floats, Ints
from scheduler.api.snapshot import Mode
from scheduler.models.layout import ClusterTopology, Layout, Shape, shape_of
from scheduler.models.speed.sync_terms import sync_terms

Gang = tuple[int, int]  # workers, and the number of nodes they are spread over evenly; 0 = packed


class SizeGangs(NamedTuple):
    """Names where the gangs of one size are: their indices, packed, and spread, each with its number of nodes."""

    n_workers: int
    packed: int
    spread: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CandidateLayouts:
    """Holds the terms of several gangs in each mode, as arrays over gangs (G) and modes (M).

    layouts: of the gangs, without servers. size_G: workers. crosses_G: 1 if between nodes, else 0.
    exists_GM: False where a mode has more servers than the gang has workers. latency_GM: seconds. wire_GM, crowding_GM:
    seconds per byte of parameters. index: (gang, mode) by shape. place: by gang. by_size: the gangs of each size.
    """

    gangs: tuple[Gang, ...]
    layouts: tuple[Layout, ...]
    size_G: Ints  # noqa: N815 (arrays wear their axes)
    crosses_G: Ints  # noqa: N815
    exists_GM: NDArray[np.bool_]  # noqa: N815
    latency_GM: Floats  # noqa: N815
    wire_GM: Floats  # noqa: N815
    crowding_GM: Floats  # noqa: N815
    index: Mapping[Shape, tuple[int, int]]
    place: Mapping[Gang, int]
    by_size: tuple[SizeGangs, ...]

    @property
    def gpu_type(self) -> str:
        """Returns the GPU type of all gangs."""
        return self.layouts[0].gpu_type if self.layouts else ""

    def layout(self, gang: int, mode: int) -> tuple[Layout, Mode]:
        """Returns the layout of a gang with the servers of that mode (an index of axis M)."""
        if mode == 0:
            return self.layouts[gang], Mode.ALL_REDUCE
        return self.layouts[gang].with_servers(1 << (mode - 1)), Mode.PARAMETER_SERVER


def candidate_layouts(topology: ClusterTopology, gpu_type: str, gangs: tuple[Gang, ...]) -> CandidateLayouts:
    """Returns all modes of these gangs on nodes of that type."""
    layouts = tuple(topology.typical(gpu_type, n, n_nodes=k) for n, k in gangs)
    terms_GMT = np.zeros((len(gangs), 1 + max(n.bit_length() for n, _ in gangs), 3))
    exists_GM = np.zeros(terms_GMT.shape[:2], dtype=np.bool_)
    index: dict[Shape, tuple[int, int]] = {}
    for g, layout in enumerate(layouts):
        for m in range(1 + layout.n_workers.bit_length()):
            mode = Mode.PARAMETER_SERVER if m else Mode.ALL_REDUCE
            served = layout.with_servers(1 << (m - 1)) if m else layout
            terms_GMT[g, m] = sync_terms(served, mode, parameters_bytes=1)
            exists_GM[g, m] = True
            index[shape_of(served, mode)] = (g, m)
    return CandidateLayouts(
        gangs,
        layouts,
        np.array([n for n, _ in gangs], dtype=np.int64),
        np.array([layout.n_nodes > 1 for layout in layouts], dtype=np.int64),
        exists_GM,
        terms_GMT[..., 0],
        terms_GMT[..., 1],
        terms_GMT[..., 2],
        index,
        {gang: g for g, gang in enumerate(gangs)},
        _by_size(gangs),
    )


def _by_size(gangs: tuple[Gang, ...]) -> tuple[SizeGangs, ...]:
    """Of the sizes that are there packed, too."""
    spread: dict[int, list[tuple[int, int]]] = {}
    for g, (n, k) in enumerate(gangs):
        if k:
            spread.setdefault(n, []).append((k, g))
    return tuple(SizeGangs(n, g, tuple(spread.get(n, ()))) for g, (n, k) in enumerate(gangs) if not k)
