# SPDX-License-Identifier: Apache-2.0
"""Step time of a job on a layout: computation plus exposed synchronisation, from a prior that measurements correct.

T_c = a + b · (examples a worker and pass);  S = α · hops + β · wires + δ · crowding, within a node and between nodes
apart;  T = T_c + max(0.05 S, S - T_c / 2) + (extra passes) · T_c: all-reduce hides under the backward half of a pass,
parameter servers hide nothing. A linear form of Pollux' overlap (Qiao et al., OSDI '21, sec. 3.2), which fits measured
steps better, with the wires of the actual placement. Shapes and batches that were measured count for themselves. T_c is
multiplied by a factor of the GPU type (gpu_factors.py), 1 for the type on which most was measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from statistics import median

import numpy as np

from scheduler.api.arrays import Floats, Ints
from scheduler.api.snapshot import Mode, SpeedObservation
from scheduler.models.layout import Layout, Shape, shape_of
from scheduler.models.speed.candidate_layouts import CandidateLayouts
from scheduler.models.speed.fitting import (
    ALWAYS_EXPOSED,
    HIDING,
    exposed_between_s,
    exposed_s,
    fit_factors,
    fit_sync,
    interpolated,
    interpolated_exposed_s,
)
from scheduler.models.speed.gpu_factors import DEFAULT_EXAMPLE_S, NO_FACTORS, GpuFactors
from scheduler.models.speed.observation_means import ObservationMeans
from scheduler.models.speed.sync_terms import SyncTerms

UNKNOWN_FIXED = 0.25  # nothing known: the part of a pass that does not grow with its examples
PRIOR_ERROR = 0.5  # of the prior alone
MEASURED_ERROR = 0.05  # of a shape that was measured
SERVERS_MUST_GAIN = 0.05  # parameter servers are chosen if they are faster by this share
FEW_SERVERS = 1.05  # of numbers of servers that are slower than the best by no more than this factor, the least
DEFAULT_NIC_BPS = 10e9
ALONE = 0.95  # of its links' bandwidth: a gang that had so much was measured as if alone
_MODES = (Mode.ALL_REDUCE, Mode.PARAMETER_SERVER)


class SpeedModel:
    """Predicts the speed of jobs that share measurements and profile; it is immutable.

    nic_bps: of the nodes that the measurements come from. terms: the prior, and means: of measurements, both
    shared with other models. gpu_factors: what
    other families showed of GPU types that these measurements lack.
    """

    def __init__(
        self,
        observations: tuple[SpeedObservation, ...],
        *,
        example_s: float | None,
        overhead_s: float,
        parameters_bytes: int,
        nic_bps: float = DEFAULT_NIC_BPS,
        terms: SyncTerms | None = None,
        means: ObservationMeans | None = None,
        gpu_factors: GpuFactors = NO_FACTORS,
    ) -> None:
        self._gpu_factors = gpu_factors
        self._was_tried_out = example_s is not None
        self._terms = terms or SyncTerms()
        self._bytes = parameters_bytes
        self._nic_bps = nic_bps
        self.is_measured_on_several = any(o.n_workers > 1 for o in observations)
        newest = (means or ObservationMeans()).newest(observations)
        self._n_measured = len(newest)
        self._steps = {(*o.shape, o.batch_size): o.step_s for o in newest if o.share >= ALONE}
        self._served = {o.n_workers for o in newest if o.mode is Mode.PARAMETER_SERVER}
        self._fit_compute(newest, overhead_s, example_s)
        self._fit_sync(newest)

    def with_factors(self, gpu_factors: GpuFactors) -> SpeedModel:
        """Returns the same model with what other families show of GPU types: its fit does not depend on that."""
        found = copy(self)
        found._gpu_factors = gpu_factors
        return found

    def _fit_compute(
        self, observations: Sequence[SpeedObservation], overhead_s: float, example_s: float | None
    ) -> None:
        """A line over all; each shape's factor on it; and, by examples a pass, what the line misses.

        The prior gives the part of a pass that is fixed; as soon as one was measured, how long it takes comes from
        there.
        """
        measured = [o for o in observations if o.compute_s > 0]
        prior = np.array([overhead_s, DEFAULT_EXAMPLE_S if example_s is None else example_s])
        if measured and prior.any() and example_s is None:
            typical = median(o.batch_size / o.n_workers for o in measured)
            prior = np.array([UNKNOWN_FIXED, (1.0 - UNKNOWN_FIXED) / typical])
        self._fit_types(measured, prior)
        self._line = self._fitted_line(measured, prior)
        ratios: dict[Shape, list[float]] = {}
        for o in measured:
            ratios.setdefault(o.shape, []).append(o.compute_s / self._measured_on_line(o))
        self._crowding = {shape: median(values) for shape, values in ratios.items()}
        misses: dict[float, list[float]] = {}
        for o in measured:
            examples = o.batch_size / o.n_workers
            expected = self._measured_on_line(o) * self._crowding[o.shape]
            misses.setdefault(examples, []).append(o.compute_s / expected)
        self._examples_of = sorted(misses)
        self._misses_of = [float(median(misses[examples])) for examples in self._examples_of]
        self._examples, self._misses = np.array(self._examples_of), np.array(self._misses_of)

    def _fit_types(self, measured: Sequence[SpeedObservation], prior: Floats) -> None:
        """The factor on the line of each type that was measured, by what its passes take over those of the prior.

        The line is that of the type with the most measurements; where there are none, of the mean type.
        """
        counts = Counter(o.gpu_type for o in measured)
        self._reference = min(counts, key=lambda t: (-counts[t], t), default=None)
        self._own_factors = dict.fromkeys(counts, 1.0)
        if len(counts) < 2:
            return
        fixed_s, each_s = prior.tolist() if prior.any() else (1.0, 1.0)
        levels: dict[str, list[float]] = {}
        for o in measured:
            levels.setdefault(o.gpu_type, []).append(o.compute_s / (fixed_s + each_s * o.batch_size / o.n_workers))
        of_reference = median(levels[str(self._reference)])
        self._own_factors = {t: float(median(each) / of_reference) for t, each in levels.items()}

    def _fitted_line(self, measured: Sequence[SpeedObservation], prior: Floats) -> tuple[float, float]:
        each = [(o.batch_size / o.n_workers, o.compute_s / self._own_factors[o.gpu_type]) for o in measured]
        if measured and prior.any():
            fixed_s, each_s = prior.tolist()
            prior = prior * median([pass_s / (fixed_s + each_s * examples) for examples, pass_s in each])
        fixed_s, each_s = prior.tolist()
        rows = [(fixed_s, each_s * examples, pass_s) for examples, pass_s in each]
        fixed_s, each_s = prior * fit_factors(rows, 2)
        return float(fixed_s), float(each_s)

    def _type_factor(self, gpu_type: str) -> float:
        own = self._own_factors.get(gpu_type)
        if own is not None:
            return own
        if self._reference is None and self._was_tried_out:
            return self._gpu_factors.of_dry_run(gpu_type)
        return self._gpu_factors.ratio(gpu_type, self._reference)

    def _measured_on_line(self, o: SpeedObservation) -> float:
        return self._one_on_line(o.batch_size / o.n_workers) * self._own_factors[o.gpu_type]

    def _fit_sync(self, observations: Sequence[SpeedObservation]) -> None:
        self._factors: dict[tuple[Mode, bool], list[float]] = {}
        self._n_synced: dict[Mode, int] = {}
        for mode in Mode:
            synced = [o for o in observations if o.mode is mode and (o.n_workers > 1 or o.n_servers > 0)]
            self._n_synced[mode] = len({o.shape for o in synced})
            for crosses in (False, True):
                rows = [(self._observed_terms(o), o) for o in synced if (o.n_nodes > 1) is crosses]
                self._factors[mode, crosses] = fit_sync(rows).tolist()
        by_shape: dict[Shape, list[tuple[float, float]]] = {}
        for o in observations:
            if o.share >= ALONE:
                by_shape.setdefault(o.shape, []).append((o.compute_s, max(0.0, o.sync_s)))
        self._exposed = {shape: sorted(points) for shape, points in by_shape.items()}

    def _observed_terms(self, o: SpeedObservation) -> tuple[float, float, float]:
        """Of a measurement's place; where others sent over its links, its bytes took as much longer."""
        terms = self._terms.observed(o, nic_bps=self._nic_bps, parameters_bytes=self._bytes)
        latency, wires, crowding = terms
        return latency, wires / o.share, crowding / o.share

    def compute_s(self, examples: Floats, layout: Layout, mode: Mode) -> Floats:
        """Returns the seconds of one forward and backward pass over so many examples on each worker."""
        crowding = self._crowding.get(shape_of(layout, mode), 1.0)
        return self._unmeasured_compute_s(examples, self._type_factor(layout.gpu_type)) * crowding

    def pass_s(self, examples: float, layout: Layout, mode: Mode) -> float:
        """Returns compute_s() of one number of examples."""
        return self._unmeasured_pass_s(examples, layout.gpu_type) * self._crowding.get(shape_of(layout, mode), 1.0)

    def _unmeasured_pass_s(self, examples: float, gpu_type: str) -> float:
        return self._one_on_line(examples) * self._type_factor(gpu_type) * self._miss_at(examples)

    def sync_s(self, layout: Layout, mode: Mode) -> float:
        """Returns the seconds of one whole synchronisation, exposed or not, by the fitted terms."""
        if self._bytes == 0 and not self._n_measured:  # nothing to synchronise
            return 0.0
        return sum(self._sync_parts_s(layout, mode))

    def sync_parts_s(self, layout: Layout, mode: Mode) -> tuple[float, float]:
        """Returns sync_s() in two parts: what does not depend on bandwidth, and what does, with all of the links'
        bandwidth.
        """
        if self._bytes == 0 and not self._n_measured:
            return 0.0, 0.0
        latency_s, wires_s, crowding_s = self._sync_parts_s(layout, mode)
        return latency_s, wires_s + crowding_s

    def _sync_parts_s(self, layout: Layout, mode: Mode) -> tuple[float, float, float]:
        terms = self._terms.of(layout, mode, parameters_bytes=self._bytes)
        factors = self._factors[mode, layout.n_nodes > 1]
        return factors[0] * terms[0], factors[1] * terms[1], factors[2] * terms[2]

    def step_s_B(  # noqa: N802 (arrays wear their axes)
        self, layout: Layout, mode: Mode, *, batch_B: Floats, passes_B: Floats | None = None
    ) -> Floats:
        """Returns the seconds of an optimiser step at global batch sizes of shape (B,), in so many passes each (None =
        1).
        """
        passes_B = np.ones_like(batch_B) if passes_B is None else passes_B
        compute_B = self.compute_s(batch_B / layout.n_workers / passes_B, layout, mode)
        exposed_B = exposed_s(self.sync_s(layout, mode), compute_B, mode)
        measured = self._exposed.get(shape_of(layout, mode))
        if measured is not None:
            exposed_B = interpolated_exposed_s(np.array(measured), exposed_B, compute_B, mode)
        return np.maximum(passes_B * compute_B + exposed_B, 1e-6)

    def step_s(self, layout: Layout, mode: Mode, *, batch_size: int, passes: int = 1) -> float:
        """Returns step_s_B() at one batch size; a measurement at that shape and batch counts for itself."""
        shape = shape_of(layout, mode)
        measured = self._steps.get((*shape, batch_size))
        if measured is not None and passes == 1:
            return measured
        compute_s, exposed_s = (
            self.pass_s(batch_size / layout.n_workers / passes, layout, mode),
            self.sync_s(layout, mode),
        )
        if mode is Mode.ALL_REDUCE:
            exposed_s = max(ALWAYS_EXPOSED * exposed_s, exposed_s - HIDING * compute_s)
        if (points := self._exposed.get(shape)) is not None:
            exposed_s = exposed_between_s(points, exposed_s, compute_s, mode)
        return max(passes * compute_s + exposed_s, 1e-6)

    def error(self, layout: Layout, mode: Mode) -> float:
        """Returns the relative error of a step time: one standard deviation, 0.5 for the prior alone."""
        is_measured = shape_of(layout, mode) in self._exposed
        return MEASURED_ERROR if is_measured else self._unmeasured_error(mode, layout.gpu_type)

    def _unmeasured_error(self, mode: Mode, gpu_type: str) -> float:
        """On a type that was not measured, the error of its factor counts as well."""
        if not self._n_measured:
            return PRIOR_ERROR
        error = max(0.08, 0.3 / float(np.sqrt(1 + self._n_synced[mode])))
        return error if gpu_type in self._own_factors else float(np.hypot(error, self._gpu_factors.error(gpu_type)))

    # the same for many layouts at once; those that were measured one by one

    def step_s_GB(self, candidates: CandidateLayouts, mode_G: Ints, *, batch_GB: Floats, passes_GB: Floats) -> Floats:  # noqa: N802
        """Returns step_s_B() of each gang in one mode (an index of axis M), shape (G, B)."""
        examples_GB = batch_GB / candidates.size_G[:, None] / passes_GB
        compute_GB = self._candidates_compute_s(examples_GB, candidates)
        sync_G1 = self._sync_s_GM(candidates)[np.arange(len(mode_G)), mode_G][:, None]
        hidden_GB = np.maximum(ALWAYS_EXPOSED * sync_G1, sync_G1 - HIDING * compute_GB)
        exposed_GB = np.where(mode_G[:, None] == 0, hidden_GB, sync_G1)
        step_GB = np.maximum(passes_GB * compute_GB + exposed_GB, 1e-6)
        for g, m in self._measured_in(candidates):
            if mode_G[g] == m:
                step_GB[g] = self.step_s_B(*candidates.layout(g, m), batch_B=batch_GB[g], passes_B=passes_GB[g])
        return step_GB

    def _candidates_compute_s(self, examples: Floats, candidates: CandidateLayouts) -> Floats:
        """compute_s() of the candidates as if none was measured, shape (G,) or (G, B) as examples."""
        factor_G = np.array([self._type_factor(one.gpu_type) for one in candidates.types])[candidates.type_G]
        return self._unmeasured_compute_s(examples, factor_G if examples.ndim == 1 else factor_G[:, None])

    def _unmeasured_compute_s(self, examples: Floats, factor: float | Floats) -> Floats:
        """compute_s() of a shape that was not measured, on a type with this factor."""
        line = self._on_line(examples) * factor
        return line * np.interp(examples, self._examples, self._misses) if len(self._examples) else line

    def _sync_s_GM(self, candidates: CandidateLayouts) -> Floats:  # noqa: N802
        return np.asarray(_sync_s_PGM([self], candidates)[0])

    def _measured_in(self, candidates: CandidateLayouts) -> list[tuple[int, int]]:
        return [
            candidates.index[shape]
            for shape in self._crowding.keys() | self._exposed.keys()
            if shape in candidates.index
        ]

    def best_mode(self, layout: Layout, *, pinned: Mode | None, batch_size: int, passes: int = 1) -> tuple[Mode, int]:
        """Returns the faster mode of synchronising these workers, and its number of servers.

        One worker does not synchronise. It is all-reduce unless parameter servers gain 5 %, with the fewest servers
        among those within 5 % of the best.
        """
        if pinned is Mode.ALL_REDUCE or (layout.n_workers == 1 and pinned is None):
            return Mode.ALL_REDUCE, 0
        ring_s = float("inf")
        if pinned is None:
            ring_s = self.step_s(layout, Mode.ALL_REDUCE, batch_size=batch_size, passes=passes)
            if ring_s <= self._least_served_s(layout, batch_size, passes) * (1 + SERVERS_MUST_GAIN):
                return Mode.ALL_REDUCE, 0
        times = {
            served.n_servers: self.step_s(served, Mode.PARAMETER_SERVER, batch_size=batch_size, passes=passes)
            for served in layout.server_layouts
        }
        fastest = min(times.values())
        if ring_s <= fastest * (1 + SERVERS_MUST_GAIN):
            return Mode.ALL_REDUCE, 0
        return Mode.PARAMETER_SERVER, min(p for p, s in times.items() if s <= fastest * FEW_SERVERS)

    def least_step_s(self, n_workers: int, gpu_type: str, *, batch_size: int, passes: int = 1) -> float:
        """Returns what no step of so many workers of that type is shorter than, wherever they are: its computation, or
        the shortest that was measured of as many.
        """
        pass_s = self._unmeasured_pass_s(batch_size / n_workers / passes, gpu_type)
        crowding = [c for shape, c in self._crowding.items() if (shape[1], shape[4]) == (n_workers, gpu_type)]
        steps_s = [s for shape, s in self._steps.items() if (shape[1], shape[4]) == (n_workers, gpu_type)]
        return min([passes * pass_s * min([1.0, *crowding]), *steps_s])

    def _least_served_s(self, layout: Layout, batch_size: int, passes: int) -> float:
        """What no step with servers is shorter than: its computation; 0 where such steps were measured."""
        if layout.n_workers in self._served:
            return 0.0
        return passes * self._unmeasured_pass_s(batch_size / layout.n_workers / passes, layout.gpu_type)

    def _on_line(self, examples: Floats) -> Floats:
        return np.maximum(self._line[0] + self._line[1] * examples, 1e-7)

    def _miss_at(self, examples: float) -> float:
        return interpolated(examples, self._examples_of, self._misses_of) if self._examples_of else 1.0

    def _one_on_line(self, examples: float) -> float:
        return max(self._line[0] + self._line[1] * examples, 1e-7)


def step_s_PGM(  # noqa: N802 (arrays wear their axes)
    models: Sequence[SpeedModel], candidates: CandidateLayouts, *, batch_PG: Floats, passes_PG: Floats
) -> Floats:
    """Returns step_s() of several models at one batch per gang, shape (P, G, M); infinite where a mode does not exist.

    batch_PG, passes_PG: shape (P, G).
    """
    examples_PG = batch_PG / candidates.size_G / passes_PG
    each = zip(models, examples_PG, strict=True)
    compute_PG = np.array([model._candidates_compute_s(of_P, candidates) for model, of_P in each])
    exposed_PGM = _sync_s_PGM(models, candidates)
    ring_PG = exposed_PGM[:, :, 0]
    exposed_PGM[:, :, 0] = np.maximum(ALWAYS_EXPOSED * ring_PG, ring_PG - HIDING * compute_PG)
    step_PGM = np.maximum((passes_PG * compute_PG)[:, :, None] + exposed_PGM, 1e-6)
    for p, model in enumerate(models):
        for g, m in model._measured_in(candidates):
            batch, passes = round(float(batch_PG[p, g])), round(float(passes_PG[p, g]))
            step_PGM[p, g, m] = model.step_s(*candidates.layout(g, m), batch_size=batch, passes=passes)
    return np.where(candidates.exists_GM, step_PGM, np.inf)


def error_PGM(models: Sequence[SpeedModel], candidates: CandidateLayouts) -> Floats:  # noqa: N802
    """Returns error() of several models for each gang in each mode, shape (P, G, M)."""
    found_PGM = np.empty((len(models), *candidates.exists_GM.shape))
    for p, model in enumerate(models):
        for one in candidates.types:
            found_PGM[p, one.where] = model._unmeasured_error(Mode.PARAMETER_SERVER, one.gpu_type)
            found_PGM[p, one.where, 0] = model._unmeasured_error(Mode.ALL_REDUCE, one.gpu_type)
        for shape in model._exposed.keys() & candidates.index.keys():
            found_PGM[(p, *candidates.index[shape])] = MEASURED_ERROR
    return found_PGM


def _sync_s_PGM(models: Sequence[SpeedModel], candidates: CandidateLayouts) -> Floats:  # noqa: N802
    """sync_s() of several models, shape (P, G, M)."""
    by_model = [[[model._factors[mode, crosses] for crosses in (False, True)] for mode in _MODES] for model in models]
    which_M = np.minimum(np.arange(candidates.exists_GM.shape[1]), 1)
    f_PGMT = np.array(by_model)[:, which_M[None, :], candidates.crosses_G[:, None]]
    wires_PGM = candidates.wire_GM * f_PGMT[..., 1] + candidates.crowding_GM * f_PGMT[..., 2]
    bytes_P = np.array([model._bytes for model in models], dtype=np.float64)
    found_PGM = candidates.latency_GM * f_PGMT[..., 0] + bytes_P[:, None, None] * wires_PGM
    found_PGM[[p for p, model in enumerate(models) if model._bytes == 0 and not model._n_measured]] = 0.0
    return np.asarray(found_PGM, dtype=np.float64)
