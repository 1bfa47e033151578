"""Step time of a job on a layout: computation plus synchronisation, from a prior that measurements correct.

T_c = a + b · (examples a worker and pass);  T_s = α · hops + β · wires + δ · crowding, within a node and between nodes
apart;  T = (T_c^γ + T_s^γ)^(1/γ) + (extra passes) · T_c, γ = 1 for parameter servers.
The form is that of Pollux (Qiao et al., OSDI '21, sec. 3.2) with the wires of the actual placement. A shape whose
synchronisation was measured counts for itself, at any batch size.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scheduler.models.fitting import (
    PRIOR_SYNC,
    Factors,
    fit_factors,
    joined_s,
    observed_layout,
    raw_sync_s,
    sync_terms,
)
from scheduler.models.layout import Layout
from scheduler.snapshot import JobSnapshot, Mode, SpeedObservation

DEFAULT_EXAMPLE_S = 0.002  # nothing known: a small network on a small GPU
SERVERS_MUST_GAIN = 0.05  # parameter servers are chosen if they are faster by this share
NEWEST = 3  # measurements of one shape that count

Floats = NDArray[np.float64]
Shape = tuple[Mode, int, int, int, str]  # mode, workers, servers, nodes, GPU type


class SpeedModel:
    """The speed of jobs that share measurements and profile. Immutable; what it worked out is remembered.

    memo: for those who build tables on top of it (speeds.py).
    """

    def __init__(
        self,
        observations: tuple[SpeedObservation, ...],
        *,
        example_s: float | None,
        overhead_s: float,
        parameters_bytes: int,
    ) -> None:
        self._bytes = parameters_bytes
        self.memo: dict[object, object] = {}
        self.is_measured_on_several = any(o.n_workers > 1 for o in observations)
        self._n_measured = len(observations)
        self._steps, self._syncs = _measured(observations)
        prior = (overhead_s, DEFAULT_EXAMPLE_S if example_s is None else example_s)
        rows = [(prior[0], prior[1] * o.batch_size / o.n_workers, o.compute_s) for o in observations]
        self._compute = np.array(prior) * fit_factors(rows, 2)
        self._sync: dict[tuple[Mode, bool], Factors] = {}
        self._n_synced: dict[Mode, int] = {}
        for mode in Mode:
            synced = [o for o in observations if o.mode is mode and (o.n_workers > 1 or o.n_servers > 0)]
            self._n_synced[mode] = len({(o.n_workers, o.n_servers, o.n_nodes) for o in synced})
            for crosses in (False, True):
                rows3 = [
                    (*sync_terms(observed_layout(o), mode, parameters_bytes=parameters_bytes), raw_sync_s(o))
                    for o in synced
                    if (o.n_nodes > 1) is crosses
                ]
                self._sync[mode, crosses] = fit_factors(rows3, 3, pull_to=PRIOR_SYNC)

    def compute_s(self, examples: Floats) -> Floats:
        """Seconds of one forward and backward pass over so many examples on one worker."""
        fixed_s, each_s = float(self._compute[0]), float(self._compute[1])
        return np.maximum(fixed_s + each_s * examples, 1e-7)

    def sync_s(self, layout: Layout, mode: Mode) -> float:
        """Seconds of one whole synchronisation, exposed or not."""
        measured = self._syncs.get(_shape(layout, mode))
        if measured is not None:
            return measured
        if self._bytes == 0 and not self._n_measured:  # nothing to synchronise
            return 0.0
        terms = sync_terms(layout, mode, parameters_bytes=self._bytes)
        return float(self._sync[mode, layout.n_nodes > 1] @ np.array(terms))

    def step_s_B(  # noqa: N802 (arrays wear their axes)
        self, layout: Layout, mode: Mode, *, batch_B: Floats, passes_B: Floats | None = None
    ) -> Floats:
        """Seconds of an optimiser step at global batch sizes of shape (B,), in so many passes each (1 if not said)."""
        passes_B = np.ones_like(batch_B) if passes_B is None else passes_B
        compute_B = self.compute_s(batch_B / layout.n_workers / passes_B)
        return joined_s(compute_B, self.sync_s(layout, mode), mode) + (passes_B - 1) * compute_B

    def step_s(self, layout: Layout, mode: Mode, *, batch_size: int, passes: int = 1) -> float:
        """As step_s_B at one batch size; a measurement at that shape and batch counts for itself."""
        measured = self._steps.get((*_shape(layout, mode), batch_size))
        if measured is not None:
            return measured
        batch_B, passes_B = np.array([float(batch_size)]), np.array([float(passes)])
        return float(self.step_s_B(layout, mode, batch_B=batch_B, passes_B=passes_B)[0])

    def error(self, layout: Layout, mode: Mode) -> float:
        """Relative error of a step time: one standard deviation. 50 % for the prior alone."""
        if _shape(layout, mode) in self._syncs:
            return 0.05
        if not self._n_measured:
            return 0.5
        return max(0.08, 0.3 / float(np.sqrt(1 + self._n_synced[mode])))

    def best_mode(self, layout: Layout, *, pinned: Mode | None, batch_size: int, passes: int = 1) -> tuple[Mode, int]:
        """The faster way to synchronise these workers: mode and number of servers.

        One worker has nobody to synchronise with. All-reduce unless parameter servers gain 5 %; the fewest servers
        among those within 5 % of the best.
        """
        if pinned is Mode.ALL_REDUCE or (layout.n_workers == 1 and pinned is None):
            return Mode.ALL_REDUCE, 0
        counts = [1 << i for i in range(layout.n_workers.bit_length()) if 1 << i <= layout.n_workers]
        times = {
            p: self.step_s(layout.with_servers(p), Mode.PARAMETER_SERVER, batch_size=batch_size, passes=passes)
            for p in counts
        }
        fastest = min(times.values())
        if pinned is None:
            ring_s = self.step_s(layout, Mode.ALL_REDUCE, batch_size=batch_size, passes=passes)
            if ring_s <= fastest * (1 + SERVERS_MUST_GAIN):
                return Mode.ALL_REDUCE, 0
        return Mode.PARAMETER_SERVER, min(p for p in counts if times[p] <= fastest * 1.05)


_MOST_MODELS = 2048
_BY_IDENTITY: OrderedDict[tuple[object, ...], tuple[tuple[SpeedObservation, ...], SpeedModel]] = OrderedDict()


def speed_model(job: JobSnapshot) -> SpeedModel:
    """The job's model. Jobs and rounds with the same measurements and profile share one: fitting is not free."""
    profile = (job.example_s, job.step_overhead_s, job.parameters_bytes)
    key = (id(job.observations), *profile)
    found = _BY_IDENTITY.get(key)
    if found is not None and found[0] is job.observations:
        return found[1]
    model = _model(job.observations, *profile)
    _BY_IDENTITY[key] = (job.observations, model)
    while len(_BY_IDENTITY) > _MOST_MODELS:
        _BY_IDENTITY.popitem(last=False)
    return model


@lru_cache(maxsize=_MOST_MODELS)
def _model(
    observations: tuple[SpeedObservation, ...], example_s: float | None, overhead_s: float, parameters_bytes: int
) -> SpeedModel:
    return SpeedModel(observations, example_s=example_s, overhead_s=overhead_s, parameters_bytes=parameters_bytes)


def _shape(layout: Layout, mode: Mode) -> Shape:
    return mode, layout.n_workers, layout.n_servers, layout.n_nodes, layout.gpu_type


def _measured(
    observations: Sequence[SpeedObservation],
) -> tuple[dict[tuple[Mode, int, int, int, str, int], float], dict[Shape, float]]:
    """Step time by shape and batch, and synchronisation by shape: means of the newest, weighted by their steps."""
    steps: dict[tuple[Mode, int, int, int, str, int], list[tuple[float, int]]] = {}
    syncs: dict[Shape, list[tuple[float, int]]] = {}
    for o in sorted(observations, key=lambda o: o.observed_at_s):
        shape = (o.mode, o.n_workers, o.n_servers, o.n_nodes, o.gpu_type)
        steps.setdefault((*shape, o.batch_size), []).append((o.step_s, o.n_steps))
        syncs.setdefault(shape, []).append((raw_sync_s(o), o.n_steps))
    return {k: _mean(v) for k, v in steps.items()}, {k: _mean(v) for k, v in syncs.items()}


def _mean(values: list[tuple[float, int]]) -> float:
    newest = values[-NEWEST:]
    return sum(value * max(1, n) for value, n in newest) / sum(max(1, n) for _, n in newest)
