"""Fits the speed model's terms to measurements: non-negative least squares that hold on to the prior a little.

Relative errors count, so that fast and slow shapes weigh alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import numpy as np
from scipy.optimize import nnls

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import Mode, SpeedObservation
from scheduler.models.layout import Layout
from scheduler.models.network.bandwidth import all_reduce_wire_s, parameter_server_wire_s

HOP_S = 25e-6  # one message between two processes
INSIDE = 0.25  # of that, within a node
SERVER_STEP_S = 400e-6  # a server's fixed part of a step: unpack, sum, optimise, pack
HIDING = 0.5  # the part of a pass under which all-reduce hides its traffic: about the backward half
ALWAYS_EXPOSED = 0.05  # the part of a synchronisation that nothing hides: the last gradients
CLEARLY_EXPOSED = 0.1  # of a pass: what is exposed beyond this is traffic; what is less may be stragglers' noise
PRIOR_WEIGHT = 0.15  # against 1 for a measurement

PRIOR_SYNC: Floats = np.array([1.0, 1.0, 0.0])


def fit_factors(rows: Sequence[tuple[float, ...]], n_terms: int, *, pull_to: Floats | None = None) -> Floats:
    """Non-negative factors f with sum(f · terms) ≈ measured, each pulled towards 1 (or pull_to).

    rows: n_terms terms and the measured value; rows with nothing measured are left out. Returns shape (n_terms,).
    """
    goal = np.ones(n_terms) if pull_to is None else pull_to
    known = [row for row in rows if row[-1] > 0]
    if not known:
        return goal
    kept = np.array(known, dtype=float)
    design = kept[:, :-1] / kept[:, -1:]
    # a term that hardly matters in the measurements is not to be moved by them: the pull is in units of its weight
    pull = PRIOR_WEIGHT * np.maximum(design.max(axis=0), 1e-3)
    solution, _ = nnls(np.vstack([design, np.diag(pull)]), np.concatenate([np.ones(len(kept)), pull * goal]))
    return np.asarray(solution, dtype=np.float64)


def sync_terms(layout: Layout, mode: Mode, *, parameters_bytes: int) -> tuple[float, float, float]:
    """The prior's seconds of a synchronisation: (latency, wires, crowding of several workers on a node).

    The prior has no crowding (NICs and buses are shared fairly); its factor starts at 0. Remembered with the layout.
    """
    key = parameters_bytes if mode is Mode.ALL_REDUCE else -1 - parameters_bytes
    found = layout.memo.get(key)
    if found is None:
        found = layout.memo[key] = _sync_terms(layout, mode, parameters_bytes)
    return cast("tuple[float, float, float]", found)


def _sync_terms(layout: Layout, mode: Mode, parameters_bytes: int) -> tuple[float, float, float]:
    if mode is Mode.PARAMETER_SERVER:
        wire = parameter_server_wire_s(layout, parameters_bytes=parameters_bytes)
        latency = SERVER_STEP_S + 2 * HOP_S * (layout.n_workers + layout.n_servers) if layout.n_servers else 0.0
    else:
        wire = all_reduce_wire_s(layout, parameters_bytes=parameters_bytes)
        latency = 2 * HOP_S * (layout.n_nodes - 1 + INSIDE * (layout.n_workers / layout.n_nodes - 1))
    crowding = wire * (layout.n_workers / layout.n_nodes - 1) * 2 / layout.n_nodes if layout.n_nodes > 1 else 0.0
    return latency, wire, crowding


def fit_sync(rows: Sequence[tuple[tuple[float, float, float], SpeedObservation]]) -> Floats:
    """Factors on sync_terms from measurements: first from those that are clearly exposed.

    Of a hidden synchronisation only bounds are known: not less than what was exposed, not more than could hide. It
    counts with what the first fit expects of it, within these bounds. rows: terms and measurement.
    """
    if not rows:
        return PRIOR_SYNC
    exposed = [(*terms, whole_sync_s(o)) for terms, o in rows if is_clearly_exposed(o)]
    first = fit_factors(exposed, 3, pull_to=PRIOR_SYNC)
    hidden = [
        (*terms, float(np.clip(first @ np.array(terms), o.sync_s, o.sync_s + HIDING * o.compute_s)))
        for terms, o in rows
        if not is_clearly_exposed(o)
    ]
    return fit_factors(exposed + hidden, 3, pull_to=first)


def is_clearly_exposed(o: SpeedObservation) -> bool:
    return o.mode is Mode.PARAMETER_SERVER or o.sync_s >= CLEARLY_EXPOSED * o.compute_s


def whole_sync_s(o: SpeedObservation) -> float:
    """A clearly exposed synchronisation's whole length: the rest of it hid under the backward pass."""
    return o.sync_s if o.mode is Mode.PARAMETER_SERVER else o.sync_s + HIDING * o.compute_s


def exposed_s(sync_s: float, compute_s: Floats, mode: Mode) -> Floats:
    """What is left to wait for of a synchronisation, under passes of these lengths. Parameter servers hide nothing."""
    if mode is Mode.PARAMETER_SERVER:
        return np.full_like(compute_s, sync_s)
    return np.maximum(ALWAYS_EXPOSED * sync_s, sync_s - HIDING * compute_s)


def interpolated_exposed_s(measured: Floats, expected: Floats, compute_s: Floats, mode: Mode) -> Floats:
    """Exposed synchronisation of a shape that was measured, at other lengths of a pass.

    measured: rows (pass, exposed), by pass. Between measurements linear; beyond them what is expected, as far as hiding
    more or less under the pass allows. expected: by the fitted terms, at compute_s. Returns shape (B,).
    """
    passes, exposed = measured[:, 0], measured[:, 1]
    inside = np.interp(compute_s, passes, exposed)
    hiding = 0.0 if mode is Mode.PARAMETER_SERVER else 1.0
    shorter = np.clip(expected, exposed[0], exposed[0] + hiding * np.maximum(0.0, passes[0] - compute_s))
    longer = np.clip(expected, np.maximum(0.0, exposed[-1] - hiding * (compute_s - passes[-1])), exposed[-1])
    return np.where(compute_s < passes[0], shorter, np.where(compute_s > passes[-1], longer, inside))


def observed_layout(o: SpeedObservation, *, nic_bps: float) -> Layout:
    """What is known of a past measurement's place: workers spread evenly over nodes and racks with such links."""
    return _even_layout(o.n_workers, o.n_servers, o.n_nodes, o.n_racks, o.gpu_type, nic_bps)


@lru_cache(maxsize=1 << 12)
def _even_layout(n_workers: int, n_servers: int, n_nodes: int, n_racks: int, gpu_type: str, nic_bps: float) -> Layout:
    n_nodes = max(1, min(n_nodes, n_workers))
    each, more = divmod(n_workers, n_nodes)
    workers = tuple(each + (i < more) for i in range(n_nodes))
    n_racks = max(1, min(n_racks, n_nodes))
    rack = tuple(i * n_racks // n_nodes for i in range(n_nodes))
    layout = Layout(workers, (0,) * n_nodes, (nic_bps,) * n_nodes, rack, (nic_bps,) * n_racks, gpu_type)
    return layout.with_servers(n_servers)
