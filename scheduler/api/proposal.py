# SPDX-License-Identifier: Apache-2.0
"""What a policy answers: a grant for every job that is to hold GPUs, and the order of the others. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from scheduler.api.plan import Explanation


class Packing(StrEnum):
    """Says how the workers of a gang are distributed over nodes.

    TIGHT: fewest racks, then fewest nodes, then the tightest fit. ROOMIEST: the emptiest node first, as many nodes as
    it takes. PRICED: of several candidate placements the one with the shortest step, including what it costs other jobs
    on the links.
    """

    TIGHT = "tight"
    ROOMIEST = "roomiest"
    PRICED = "priced"


@dataclass(frozen=True)
class Grant:
    """Gives a job its size from now on; the explanations are used if the job starts or changes by it.

    least_workers: placement may give fewer workers, down to this many, where the whole size finds no good place; 0 =
    it may not. n_nodes: spread the gang over that many nodes evenly, if they have room; 0 = as the packing says.
    node_workers: (node, workers) pairs that are used exactly as given, for policies that search over placements; a
    running job with another placement is moved as soon as these GPUs are free. Empty = placement chooses.
    equal_nodes: a gang that starts on one node may go to another one of the type, with GPUs that no grant names, where
    it fetches less of its inputs.
    colocated_with: jobs, granted before this one or settled, whose GPUs it shares; it gets as many GPUs as they hold
    together. only_colocated: False = it may use free GPUs as well; jobs of colocated_with that have no place are
    ignored then, and a running job stays where it is.
    defragments: where the gang is slow because it is spread over several nodes, it is moved to one node, and smaller
    jobs there are moved away for it.
    """

    job: str
    n_workers: int
    gpu_type: str
    explanations: tuple[Explanation, ...]
    packing: Packing = Packing.TIGHT
    n_nodes: int = 0
    least_workers: int = 0
    node_workers: tuple[tuple[str, int], ...] = ()
    colocated_with: tuple[str, ...] = ()
    only_colocated: bool = True
    defragments: bool = False
    equal_nodes: bool = False


@dataclass(frozen=True)
class Proposal:
    """Holds a policy's answer; a running job without a grant is preempted.

    grants: in the order in which they are placed. order: all jobs, the one that gets the next GPU first.
    notes: why running jobs stay as they are or lose their GPUs. memory: for the policy's next round, JSON values only.
    sizes: the sizes a waiting job may start with, ascending; a job without an entry starts with its fixed size.
    gpu_types: the type that the policy has in mind for a job that waits, for its prediction; without an entry the one
    that it holds or held, or else the first that it may use.
    wake_at_s: when to decide again although nothing else happens. places_after_preemption: grants are placed as if
    every job that changes or leaves had left already, and their GPUs are reserved; for the reproduction of simulators
    in which preemption takes no time. backfills: GPUs that placement could not use as granted go to waiting jobs within
    their tenant's guarantee, at their least sizes; otherwise only to claims of guarantees. strict_order: no waiting job
    overtakes another one.
    """

    grants: tuple[Grant, ...]
    order: tuple[str, ...]
    notes: Mapping[str, tuple[Explanation, ...]] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    wake_at_s: float | None = None
    places_after_preemption: bool = False
    backfills: bool = False
    strict_order: bool = False
    gpu_types: Mapping[str, str] = field(default_factory=dict)
