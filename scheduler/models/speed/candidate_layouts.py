"""The usual ways to lay out gangs, as arrays, so that a model prices them all at once.

Axes: G gangs, a size packed or spread over so many nodes; M modes, all-reduce first, then 1, 2, 4 ... servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from scheduler.api.arrays import Floats, Ints
from scheduler.api.snapshot import Mode
from scheduler.models.layout import ClusterTopology, Layout, Shape, shape_of
from scheduler.models.speed.fitting import sync_terms

Gang = tuple[int, int]  # workers, and over how many nodes they are spread evenly; 0 = packed


@dataclass(frozen=True)
class CandidateLayouts:
    """layouts: of the gangs, without servers. size_G: workers. crosses_G: 1 if between nodes.

    is_there_GM: not where a mode has more servers than the gang has workers. latency_GM: seconds. wire_GM, crowding_GM:
    seconds a byte of parameters. place: by shape, its indices.
    """

    gangs: tuple[Gang, ...]
    layouts: tuple[Layout, ...]
    size_G: Ints  # noqa: N815 (arrays wear their axes)
    crosses_G: Ints  # noqa: N815
    is_there_GM: NDArray[np.bool_]  # noqa: N815
    latency_GM: Floats  # noqa: N815
    wire_GM: Floats  # noqa: N815
    crowding_GM: Floats  # noqa: N815
    place: Mapping[Shape, tuple[int, int]]

    def layout(self, gang: int, way: int) -> tuple[Layout, Mode]:
        """With its servers."""
        if way == 0:
            return self.layouts[gang], Mode.ALL_REDUCE
        return self.layouts[gang].with_servers(1 << (way - 1)), Mode.PARAMETER_SERVER


def ways_of(terrain: ClusterTopology, gpu_type: str, gangs: tuple[Gang, ...]) -> CandidateLayouts:
    """All modes of these gangs, on nodes of that type; remembered with the terrain."""
    key = ("ways", gpu_type, gangs)
    if key not in terrain.memo:
        terrain.memo[key] = _ways(terrain, gpu_type, gangs)
    return cast("CandidateLayouts", terrain.memo[key])


def _ways(terrain: ClusterTopology, gpu_type: str, gangs: tuple[Gang, ...]) -> CandidateLayouts:
    layouts = tuple(terrain.typical(gpu_type, n, n_nodes=k) for n, k in gangs)
    terms_GMT = np.zeros((len(gangs), 1 + max(n.bit_length() for n, _ in gangs), 3))
    is_there_GM = np.zeros(terms_GMT.shape[:2], dtype=np.bool_)
    place: dict[Shape, tuple[int, int]] = {}
    for g, layout in enumerate(layouts):
        for m in range(1 + layout.n_workers.bit_length()):
            mode = Mode.PARAMETER_SERVER if m else Mode.ALL_REDUCE
            served = layout.with_servers(1 << (m - 1)) if m else layout
            terms_GMT[g, m] = sync_terms(served, mode, parameters_bytes=1)
            is_there_GM[g, m] = True
            place[shape_of(served, mode)] = (g, m)
    return CandidateLayouts(
        gangs,
        layouts,
        np.array([n for n, _ in gangs], dtype=np.int64),
        np.array([layout.n_nodes > 1 for layout in layouts], dtype=np.int64),
        is_there_GM,
        terms_GMT[..., 0],
        terms_GMT[..., 1],
        terms_GMT[..., 2],
        place,
    )
