# SPDX-License-Identifier: Apache-2.0
"""Fits the speed model's terms to measurements: non-negative least squares that hold on to the prior a little.

Relative errors count, so that fast and slow shapes weigh alike.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import scipy  # its parts are loaded when they are first used

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import Mode, SpeedObservation

HIDING = 0.5  # the part of a pass under which all-reduce hides its traffic: about the backward half
ALWAYS_EXPOSED = 0.05  # the part of a synchronisation that nothing hides: the last gradients
CLEARLY_EXPOSED = 0.1  # of a pass: what is exposed beyond this is traffic; what is less may be stragglers' noise
PRIOR_WEIGHT = 0.15  # against 1 for a measurement

PRIOR_SYNC: Floats = np.array([1.0, 1.0, 0.0])


def fit_factors(rows: Sequence[tuple[float, ...]], n_terms: int, *, pull_to: Floats | None = None) -> Floats:
    """Returns non-negative factors f with sum(f · terms) ≈ measured, each pulled towards 1 (or pull_to).

    rows: n_terms terms and the measured value; rows with nothing measured are left out. Returns shape (n_terms,).
    """
    goal = np.ones(n_terms) if pull_to is None else pull_to
    known = [row for row in rows if row[-1] > 0]
    if not known:
        return goal
    kept, n_rows = np.array(known, dtype=float), len(known)
    design, wanted = np.zeros((n_rows + n_terms, n_terms)), np.ones(n_rows + n_terms)
    design[:n_rows] = kept[:, :-1] / kept[:, -1:]
    # a term that hardly matters in the measurements is not to be moved by them: the pull is in units of its weight
    pull = PRIOR_WEIGHT * np.maximum(design[:n_rows].max(axis=0), 1e-3)
    np.fill_diagonal(design[n_rows:], pull)
    wanted[n_rows:] = pull * goal
    solution, _ = scipy.optimize.nnls(design, wanted)
    return np.asarray(solution, dtype=np.float64)


def fit_sync(rows: Sequence[tuple[tuple[float, float, float], SpeedObservation]]) -> Floats:
    """Returns the factors on sync_terms() from measurements: first from those that are clearly exposed.

    Of a hidden synchronisation only bounds are known: not less than what was exposed, not more than could hide. It
    counts with what the first fit expects of it, within these bounds. rows: terms and measurement.
    """
    if not rows:
        return PRIOR_SYNC
    exposed = [(*terms, whole_sync_s(o)) for terms, o in rows if is_clearly_exposed(o)]
    first = fit_factors(exposed, 3, pull_to=PRIOR_SYNC)
    hidden = [
        (*terms, min(max(float(first @ np.array(terms)), o.sync_s), o.sync_s + HIDING * o.compute_s))
        for terms, o in rows
        if not is_clearly_exposed(o)
    ]
    return fit_factors(exposed + hidden, 3, pull_to=first)


def is_clearly_exposed(o: SpeedObservation) -> bool:
    """Returns whether so much of the synchronisation is exposed, relative to a pass, that it is traffic and not
    noise.
    """
    return o.mode is Mode.PARAMETER_SERVER or o.sync_s >= CLEARLY_EXPOSED * o.compute_s


def whole_sync_s(o: SpeedObservation) -> float:
    """Returns the whole length, in seconds, of a clearly exposed synchronisation: the rest of it hid under the backward
    pass.
    """
    return o.sync_s if o.mode is Mode.PARAMETER_SERVER else o.sync_s + HIDING * o.compute_s


def exposed_s(sync_s: float, compute_s: Floats, mode: Mode) -> Floats:
    """Returns the seconds left to wait for of a synchronisation, under passes of these lengths.

    Parameter servers hide nothing.
    """
    if mode is Mode.PARAMETER_SERVER:
        return np.full_like(compute_s, sync_s)
    return np.maximum(ALWAYS_EXPOSED * sync_s, sync_s - HIDING * compute_s)


def interpolated_exposed_s(measured: Floats, expected: Floats, compute_s: Floats, mode: Mode) -> Floats:
    """Returns the exposed seconds of synchronisation of a measured shape, at other lengths of a pass.

    measured: rows (pass, exposed), by pass. Between measurements linear; beyond them what is expected, as far as hiding
    more or less under the pass allows. expected: by the fitted terms, at compute_s. Returns shape (B,).
    """
    passes, exposed = measured[:, 0], measured[:, 1]
    inside = np.interp(compute_s, passes, exposed)
    hiding = 0.0 if mode is Mode.PARAMETER_SERVER else 1.0
    shorter = np.clip(expected, exposed[0], exposed[0] + hiding * np.maximum(0.0, passes[0] - compute_s))
    longer = np.clip(expected, np.maximum(0.0, exposed[-1] - hiding * (compute_s - passes[-1])), exposed[-1])
    return np.where(compute_s < passes[0], shorter, np.where(compute_s > passes[-1], longer, inside))


def exposed_between_s(measured: Sequence[tuple[float, float]], expected: float, compute_s: float, mode: Mode) -> float:
    """Returns interpolated_exposed_s() at one length of a pass, without making arrays of it."""
    (shortest_s, of_shortest_s), (longest_s, of_longest_s) = measured[0], measured[-1]
    hiding = 0.0 if mode is Mode.PARAMETER_SERVER else 1.0
    if compute_s < shortest_s:
        return min(max(expected, of_shortest_s), of_shortest_s + hiding * (shortest_s - compute_s))
    if compute_s > longest_s:
        return min(max(expected, max(0.0, of_longest_s - hiding * (compute_s - longest_s))), of_longest_s)
    return interpolated(compute_s, [pass_s for pass_s, _ in measured], [exposed_s for _, exposed_s in measured])


def interpolated(at: float, points: Sequence[float], values: Sequence[float]) -> float:
    """Returns np.interp() at one place, without making arrays of it."""
    i = bisect_right(points, at) - 1
    if i < 0 or i + 1 == len(points) or points[i] == at:
        return values[max(i, 0)]
    return (values[i + 1] - values[i]) / (points[i + 1] - points[i]) * (at - points[i]) + values[i]
