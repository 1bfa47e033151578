"""Step time of a job on a layout: computation plus synchronisation, from a prior that measurements correct.

T_c = a + b · (batch / n);  T_s = α · hops + β · wire;  T = (T_c^γ + T_s^γ)^(1/γ), γ = 1 for parameter servers.
The form is that of Pollux (Qiao et al., OSDI '21, sec. 3.2) with the wires of the actual placement; a, b, α, β are
non-negative and fitted by least squares that hold to the prior as if it had been measured once, badly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import nnls

from scheduler.models.bandwidth import all_reduce_wire_s, parameter_server_wire_s
from scheduler.models.layout import Layout
from scheduler.snapshot import JobSnapshot, Mode, SpeedObservation

DEFAULT_EXAMPLE_S = 0.002  # nothing known: a small network on a small GPU
HOP_S = 25e-6  # one message between two processes
SERVER_STEP_S = 400e-6  # a server's fixed part of a step: unpack, sum, optimise, pack
OVERLAP = 1.4  # γ of all-reduce: gradients travel while the backward pass goes on
PRIOR_WEIGHT = 0.15  # against 1 for a measurement
SERVERS_MUST_GAIN = 0.15  # servers take CPUs, pods and time to start


@dataclass(frozen=True)
class Fit:
    """Factors on the prior's terms (1 = as the prior says) and the relative error left after fitting."""

    overhead: float = 1.0
    example: float = 1.0
    latency: float = 1.0
    wire: float = 1.0
    n_observations: int = 0
    error: float = 0.5


Shape = tuple[Mode, int, int, int, str, int]


class SpeedModel:
    """The speed of one job. Build it once a round; step_s is cheap afterwards."""

    def __init__(self, job: JobSnapshot) -> None:
        self._batch = job.batch_size
        self._bytes = job.parameters_bytes
        self._example_s = job.example_s if job.example_s is not None else DEFAULT_EXAMPLE_S
        self._overhead_s = job.step_overhead_s
        self._fits = _fits(job.observations, self._example_s, self._overhead_s, self._bytes)
        self._seen = _means(job.observations)
        self.is_measured_on_several = any(o.n_workers > 1 for o in job.observations)

    def step_s(self, layout: Layout, mode: Mode) -> float:
        """Seconds of one optimiser step of the global batch. A measurement of the same shape counts for itself."""
        seen = self._seen.get(self._shape(layout, mode))
        if seen is not None:
            return seen
        fit = self._fits[mode]
        compute_s = fit.overhead * self._overhead_s + fit.example * self._example_s * self._batch / layout.n_workers
        if self._bytes == 0:  # nothing to synchronise
            return max(1e-6, compute_s)
        sync_s = fit.latency * hops_s(layout.n_workers, layout.n_servers, mode) + fit.wire * wire_s(
            layout, mode, parameters_bytes=self._bytes
        )
        return joined_s(compute_s, sync_s, mode)

    def error(self, layout: Layout, mode: Mode) -> float:
        """Relative error of step_s: one standard deviation."""
        if self._shape(layout, mode) in self._seen:
            return 0.05
        return self._fits[mode].error

    def best_mode(self, layout: Layout, *, pinned: Mode | None, max_servers: int | None = None) -> tuple[Mode, int]:
        """The faster way to synchronise these workers: mode and number of servers.

        One worker has nobody to synchronise with. All-reduce unless parameter servers gain SERVERS_MUST_GAIN; the
        fewest servers among those within 5 % of the best.
        """
        if layout.n_workers == 1 and pinned is not Mode.PARAMETER_SERVER:
            return Mode.ALL_REDUCE, 0
        counts = _server_counts(layout.n_workers, max_servers)
        times = {p: self.step_s(layout.with_servers(p), Mode.PARAMETER_SERVER) for p in counts}
        fastest = min(times.values(), default=float("inf"))
        ring_s = self.step_s(layout, Mode.ALL_REDUCE)
        if pinned is Mode.ALL_REDUCE or (pinned is None and ring_s <= fastest * (1 + SERVERS_MUST_GAIN)):
            return Mode.ALL_REDUCE, 0
        return Mode.PARAMETER_SERVER, min(p for p in counts if times[p] <= fastest * 1.05)

    def _shape(self, layout: Layout, mode: Mode) -> Shape:
        return mode, layout.n_workers, layout.n_servers, layout.n_nodes, layout.gpu_type, self._batch


def _means(observations: Sequence[SpeedObservation]) -> dict[Shape, float]:
    """Step time by shape: the mean of the newest three measurements, weighted by their steps."""
    by_shape: dict[Shape, list[SpeedObservation]] = {}
    for o in sorted(observations, key=lambda o: o.observed_at_s):
        by_shape.setdefault((o.mode, o.n_workers, o.n_servers, o.n_nodes, o.gpu_type, o.batch_size), []).append(o)
    means = {}
    for shape, seen in by_shape.items():
        newest = seen[-3:]
        weight = sum(max(1, o.n_steps) for o in newest)
        means[shape] = sum(o.step_s * max(1, o.n_steps) for o in newest) / weight
    return means


def hops_s(n_workers: int, n_servers: int, mode: Mode) -> float:
    """Latency of one synchronisation, as the prior has it: 2 (n - 1) messages in turn round a ring; push and pull."""
    if mode is Mode.PARAMETER_SERVER:
        return SERVER_STEP_S + 2 * HOP_S * (n_workers + n_servers) if n_servers else 0.0
    return 2 * HOP_S * (n_workers - 1)


def wire_s(layout: Layout, mode: Mode, *, parameters_bytes: int) -> float:
    if mode is Mode.PARAMETER_SERVER:
        return parameter_server_wire_s(layout, parameters_bytes=parameters_bytes)
    return all_reduce_wire_s(layout, parameters_bytes=parameters_bytes)


def joined_s(compute_s: float, sync_s: float, mode: Mode) -> float:
    """Computation and synchronisation with the overlap of the mode. Never 0: a step takes a microsecond at least."""
    if mode is Mode.PARAMETER_SERVER or sync_s == 0:
        return max(1e-6, compute_s + sync_s)
    return max(1e-6, math.pow(math.pow(compute_s, OVERLAP) + math.pow(sync_s, OVERLAP), 1 / OVERLAP))


def _server_counts(n_workers: int, max_servers: int | None) -> list[int]:
    counts = [1]
    while counts[-1] * 2 <= n_workers:
        counts.append(counts[-1] * 2)
    return [p for p in counts if max_servers is None or p <= max(1, max_servers)]


@lru_cache(maxsize=4096)
def _fits(
    observations: tuple[SpeedObservation, ...], example_s: float, overhead_s: float, parameters_bytes: int
) -> dict[Mode, Fit]:
    """One Fit a mode; computation is shared by both modes, synchronisation is each mode's own."""
    overhead, example = _fit_pair(
        [(overhead_s, example_s * o.batch_size / o.n_workers, o.compute_s) for o in observations if o.compute_s > 0]
    )
    fits = {}
    for mode in Mode:
        synced = [o for o in observations if o.mode is mode and (o.n_workers > 1 or o.n_servers > 0)]
        terms = [_sync_terms(o, parameters_bytes) for o in synced]
        latency, wire = _fit_pair(terms)
        fit = Fit(overhead, example, latency, wire, len(synced))
        fits[mode] = Fit(overhead, example, latency, wire, len(synced), _error(fit, observations, synced))
    return fits


def _sync_terms(o: SpeedObservation, parameters_bytes: int) -> tuple[float, float, float]:
    """The prior's latency and wire seconds for what was measured (on an ordinary network), and the raw sync seconds.

    What a report calls sync_s is the exposed part; under overlap the whole is T_s = (T^γ - T_c^γ)^(1/γ).
    """
    layout = plain_layout(o.n_workers, o.n_nodes, o.n_racks).with_servers(o.n_servers)
    raw_s = max(o.sync_s, 0.0)
    if o.mode is Mode.ALL_REDUCE and o.sync_s > 0 and o.step_s > o.compute_s:
        raw_s = float((o.step_s**OVERLAP - o.compute_s**OVERLAP) ** (1 / OVERLAP))
    return (
        hops_s(o.n_workers, o.n_servers, o.mode),
        wire_s(layout, o.mode, parameters_bytes=parameters_bytes),
        raw_s,
    )


def plain_layout(n_workers: int, n_nodes: int, n_racks: int, *, nic_bps: float = 10e9) -> Layout:
    """Workers spread evenly over that many nodes and racks with ordinary links: what is known of a past measurement."""
    n_nodes = max(1, min(n_nodes, n_workers))
    each, more = divmod(n_workers, n_nodes)
    workers = tuple(each + (i < more) for i in range(n_nodes))
    n_racks = max(1, min(n_racks, n_nodes))
    rack = tuple(i * n_racks // n_nodes for i in range(n_nodes))
    return Layout(workers, (0,) * n_nodes, (nic_bps,) * n_nodes, rack, (nic_bps,) * n_racks)


def _fit_pair(rows: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Non-negative factors (x, y) with x · first + y · second ≈ measured, in relative terms, pulled towards 1."""
    rows = [row for row in rows if row[2] > 0]
    if not rows:
        return 1.0, 1.0
    design = [[first / measured, second / measured] for first, second, measured in rows]
    design += [[PRIOR_WEIGHT, 0.0], [0.0, PRIOR_WEIGHT]]
    wanted = [1.0] * len(rows) + [PRIOR_WEIGHT, PRIOR_WEIGHT]
    solution, _ = nnls(np.array(design), np.array(wanted))
    return float(solution[0]), float(solution[1])


def _error(fit: Fit, observations: Sequence[SpeedObservation], synced: Sequence[SpeedObservation]) -> float:
    """Prior only: 50 %. Computation measured, this mode's synchronisation not: 30 %. Otherwise falls with the count."""
    if not observations:
        return 0.5
    if not synced:
        return 0.3
    return max(0.08, 0.3 / math.sqrt(1 + fit.n_observations))
