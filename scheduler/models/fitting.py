"""Fits the speed model's terms to measurements: non-negative least squares that hold on to the prior a little.

Relative errors count, so that fast and slow shapes weigh alike. Rows of a fit: (terms of the prior ..., measured).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from scheduler.models.bandwidth import all_reduce_wire_s, parameter_server_wire_s
from scheduler.models.layout import Layout
from scheduler.snapshot import Mode, SpeedObservation

HOP_S = 25e-6  # one message between two processes
SERVER_STEP_S = 400e-6  # a server's fixed part of a step: unpack, sum, optimise, pack
OVERLAP = 1.4  # γ of all-reduce: gradients travel while the backward pass goes on
PRIOR_WEIGHT = 0.15  # against 1 for a measurement

Factors = NDArray[np.float64]


def fit_factors(rows: Sequence[tuple[float, ...]], n_terms: int, *, pull_to: Factors | None = None) -> Factors:
    """Non-negative factors f with sum(f · terms) ≈ measured, each pulled towards 1 (or pull_to).

    rows: n_terms terms and the measured value; rows with nothing measured are left out. Returns shape (n_terms,).
    """
    goal = np.ones(n_terms) if pull_to is None else pull_to
    kept = np.array([row for row in rows if row[-1] > 0], dtype=float).reshape(-1, n_terms + 1)
    if not len(kept):
        return goal
    design = kept[:, :-1] / kept[:, -1:]
    # a term that hardly matters in the measurements is not to be moved by them: the pull is in units of its weight
    pull = PRIOR_WEIGHT * np.maximum(design.max(axis=0), 1e-3)
    solution, _ = nnls(np.vstack([design, np.diag(pull)]), np.concatenate([np.ones(len(kept)), pull * goal]))
    return np.asarray(solution, dtype=np.float64)


def sync_terms(layout: Layout, mode: Mode, *, parameters_bytes: int) -> tuple[float, float, float]:
    """The prior's seconds of a synchronisation: (latency, wires, crowding of several workers on a node).

    The prior has no crowding (NICs and buses are shared fairly); its factor starts at 0.
    """
    if mode is Mode.PARAMETER_SERVER:
        wire = parameter_server_wire_s(layout, parameters_bytes=parameters_bytes)
        latency = SERVER_STEP_S + 2 * HOP_S * (layout.n_workers + layout.n_servers) if layout.n_servers else 0.0
    else:
        wire = all_reduce_wire_s(layout, parameters_bytes=parameters_bytes)
        latency = 2 * HOP_S * (layout.n_workers - 1)
    return latency, wire, wire * (layout.n_workers / layout.n_nodes - 1) if layout.n_nodes > 1 else 0.0


PRIOR_SYNC: Factors = np.array([1.0, 1.0, 0.0])


def raw_sync_s(o: SpeedObservation) -> float:
    """A synchronisation's whole length: reports give the exposed part; T_s = (T^γ - T_c^γ)^(1/γ) under overlap."""
    if o.sync_s <= 0:
        return 0.0
    if o.mode is Mode.PARAMETER_SERVER or o.step_s <= o.compute_s:
        return o.sync_s
    return float((o.step_s**OVERLAP - o.compute_s**OVERLAP) ** (1 / OVERLAP))


def joined_s(compute_s: Factors, sync_s: float, mode: Mode) -> Factors:
    """Computation and synchronisation with the overlap of the mode. Never 0: a step takes a microsecond at least."""
    if sync_s == 0:
        total = compute_s
    elif mode is Mode.PARAMETER_SERVER:
        total = compute_s + sync_s
    else:
        total = (compute_s**OVERLAP + sync_s**OVERLAP) ** (1 / OVERLAP)
    return np.maximum(1e-6, total)


def observed_layout(o: SpeedObservation, *, nic_bps: float = 10e9) -> Layout:
    """What is known of a past measurement's place: workers spread evenly over nodes and racks with ordinary links."""
    return even_layout(o.n_workers, o.n_nodes, o.n_racks, nic_bps=nic_bps, gpu_type=o.gpu_type).with_servers(
        o.n_servers
    )


def even_layout(n_workers: int, n_nodes: int, n_racks: int, *, nic_bps: float, gpu_type: str = "") -> Layout:
    n_nodes = max(1, min(n_nodes, n_workers))
    each, more = divmod(n_workers, n_nodes)
    workers = tuple(each + (i < more) for i in range(n_nodes))
    n_racks = max(1, min(n_racks, n_nodes))
    rack = tuple(i * n_racks // n_nodes for i in range(n_nodes))
    return Layout(workers, (0,) * n_nodes, (nic_bps,) * n_nodes, rack, (nic_bps,) * n_racks, gpu_type)
