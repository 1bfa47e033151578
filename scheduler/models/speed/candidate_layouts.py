# SPDX-License-Identifier: Apache-2.0
"""The candidate layouts of gangs as arrays, so that a model prices all of them at once, on all types of GPU.

Axes: G gangs, a size packed or spread over so many nodes, those of one type after the other; M modes, all-reduce
first, then 1, 2, 4 ... servers.
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

AskedGangs = tuple[tuple[str, tuple[Gang, ...]], ...]  # by type of GPU


class SizeGangs(NamedTuple):
    """Names where the gangs of one size are: their indices, packed, and spread, each with its number of nodes."""

    n_workers: int
    packed: int
    spread: tuple[tuple[int, int], ...]


class TypeGangs(NamedTuple):
    """Names the gangs of one type of GPU. where: on axis G; place, by_size: of gangs and sizes, counted from there."""

    gpu_type: str
    gangs: tuple[Gang, ...]
    where: slice
    place: Mapping[Gang, int]
    by_size: tuple[SizeGangs, ...]


@dataclass(frozen=True)
class CandidateLayouts:
    """Holds the terms of several gangs in each mode, as arrays over gangs (G) and modes (M).

    types: of GPUs, with their gangs; type_G: the index of each gang's. size_G: workers. crosses_G: 1 if between nodes,
    else 0. exists_GM: False where a mode has more servers than the gang has workers. latency_GM: seconds. wire_GM,
    crowding_GM: seconds per byte of parameters. index: (gang, mode) by shape. layouts: by gang, those of its modes.
    """

    types: tuple[TypeGangs, ...]
    type_G: Ints  # noqa: N815
    size_G: Ints  # noqa: N815
    crosses_G: Ints  # noqa: N815
    exists_GM: NDArray[np.bool_]  # noqa: N815
    latency_GM: Floats  # noqa: N815
    wire_GM: Floats  # noqa: N815
    crowding_GM: Floats  # noqa: N815
    index: Mapping[Shape, tuple[int, int]]
    layouts: tuple[tuple[Layout, ...], ...]

    @property
    def gangs(self) -> tuple[Gang, ...]:
        """Returns all gangs, in the order of axis G."""
        return tuple([gang for one in self.types for gang in one.gangs])

    def layout(self, gang: int, mode: int) -> tuple[Layout, Mode]:
        """Returns the layout of a gang with the servers of that mode (an index of axis M)."""
        return self.layouts[gang][mode], _mode(mode)


def candidate_layouts(topology: ClusterTopology, asked: AskedGangs) -> CandidateLayouts:
    """Returns all modes of these gangs on nodes of their types."""
    types, pairs = list[TypeGangs](), list[tuple[str, Gang]]()
    for gpu_type, gangs in asked:
        where = slice(len(pairs), len(pairs) + len(gangs))
        types.append(TypeGangs(gpu_type, gangs, where, {gang: g for g, gang in enumerate(gangs)}, _by_size(gangs)))
        pairs += [(gpu_type, gang) for gang in gangs]
    plain = [topology.typical(gpu_type, n, n_nodes=k) for gpu_type, (n, k) in pairs]
    layouts = tuple((layout, *layout.server_layouts) for layout in plain)
    terms_GMT = np.zeros((len(layouts), max(map(len, layouts)), 3))
    exists_GM = np.zeros(terms_GMT.shape[:2], dtype=np.bool_)
    index: dict[Shape, tuple[int, int]] = {}
    for g, of_G in enumerate(layouts):
        for m, layout in enumerate(of_G):
            terms_GMT[g, m] = sync_terms(layout, _mode(m), parameters_bytes=1)
            exists_GM[g, m] = True
            index[shape_of(layout, _mode(m))] = (g, m)
    return CandidateLayouts(
        tuple(types),
        np.repeat(np.arange(len(types)), [len(one.gangs) for one in types]),
        np.array([layout.n_workers for layout in plain], dtype=np.int64),
        np.array([layout.n_nodes > 1 for layout in plain], dtype=np.int64),
        exists_GM,
        terms_GMT[..., 0],
        terms_GMT[..., 1],
        terms_GMT[..., 2],
        index,
        layouts,
    )


def _mode(m: int) -> Mode:
    return Mode.PARAMETER_SERVER if m else Mode.ALL_REDUCE


def _by_size(gangs: tuple[Gang, ...]) -> tuple[SizeGangs, ...]:
    """Of the sizes that are there packed, too."""
    spread: dict[int, list[tuple[int, int]]] = {}
    for g, (n, k) in enumerate(gangs):
        if k:
            spread.setdefault(n, []).append((k, g))
    return tuple(SizeGangs(n, g, tuple(spread.get(n, ()))) for g, (n, k) in enumerate(gangs) if not k)
