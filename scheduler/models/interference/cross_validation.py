# SPDX-License-Identifier: Apache-2.0
"""How well pairs of jobs that were left out are predicted: folds by pair, by job or by family, and the figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler.api.arrays import Floats
from scheduler.models.interference.job_features import MeasuredPair, family_of
from scheduler.models.interference.model import Interference

GROUPS: Mapping[str, Callable[[str], str]] = {"job": lambda name: name, "family": family_of}


def held_out(pairs: Sequence[MeasuredPair], *, n_folds: int, group: str) -> Floats:
    """Returns the predictions of each pair by models that never saw its group; shape (pairs, 4): norm_a, norm_b, sd_a,
    sd_b.

    group "pair": no measurement of the two names, in either order, is learnt from. "job" and "family": none of any
    pair with a job (a family) that is left out; a pair of two such groups is predicted once for each, and averaged.
    "gpu_type": none of any pair on that type of GPU.
    Raises ValueError for an unknown group, fewer than two folds, or too few groups.
    """
    if n_folds < 2:
        raise ValueError(f"--folds is {n_folds}; at least 2 are needed to leave something out")
    if group == "pair":
        members = [{"\n".join(sorted((p.a.name, p.b.name)))} for p in pairs]
    elif group in GROUPS:
        members = [{GROUPS[group](p.a.name), GROUPS[group](p.b.name)} for p in pairs]
    elif group == "gpu_type":
        members = [{p.a.gpu_type} for p in pairs]
    else:
        raise ValueError(f"--group {group!r} is unknown; use pair, job, family or gpu_type")
    groups = sorted({one for some in members for one in some})
    if len(groups) < 2:
        raise ValueError(f"all rows are of one {group}; at least two are needed to leave one out")
    order = np.random.default_rng(0).permutation(len(groups))
    fold_of = {groups[i]: place % n_folds for place, i in enumerate(order)}
    total, times = np.zeros((len(pairs), 4)), np.zeros(len(pairs))
    for fold in range(min(n_folds, len(groups))):
        left_out = np.array([fold in {fold_of[one] for one in some} for some in members])
        model = Interference([pair for pair, out in zip(pairs, left_out, strict=True) if not out])
        rows = np.flatnonzero(left_out).tolist()
        total[rows] += model.predict_all([(pairs[i].a, pairs[i].b) for i in rows])
        times[rows] += 1
    result: Floats = total / times[:, None]
    return result


def evaluate(pairs: Sequence[MeasuredPair], *, n_folds: int = 5, group: str = "pair") -> dict[str, Any]:
    """Returns how well left-out pairs are predicted; arguments and errors are those of held_out().

    r2, mae, mape: over all norm_a and norm_b. n: rows. auc_bad_pair: how often the sum predicted for a pair that loses
    by sharing (norm_a + norm_b < bad_below = 1) is below that of one that does not; ties count half. Where no pair
    loses, or all do, that would be undefined: bad is then the worst tenth, and bad_below says where that ends.
    r2 is None where all speeds are equal, the AUC where all sums are.
    """
    truth = np.array([(p.norm_a, p.norm_b) for p in pairs])
    predicted = held_out(pairs, n_folds=n_folds, group=group)
    error = predicted[:, :2] - truth
    variance = float(((truth - truth.mean()) ** 2).sum())
    sums = truth.sum(axis=1)
    bad_below = 1.0
    if not (sums < bad_below).any() or (sums < bad_below).all():
        bad_below = float(np.quantile(sums, 0.1, method="higher"))
    return {
        "r2": 1 - float((error**2).sum()) / variance if variance > 1e-12 else None,
        "mae": float(np.abs(error).mean()),
        "mape": float((np.abs(error) / truth).mean()),
        "auc_bad_pair": _auc(predicted[:, :2].sum(axis=1), sums < bad_below),
        "n": len(pairs),
        "n_bad_pairs": int((sums < bad_below).sum()),
        "bad_below": bad_below,
        "within_2_sd": float((np.abs(error) <= 2 * predicted[:, 2:]).mean()),
    }


def _auc(sums: Floats, bad: NDArray[np.bool_]) -> float | None:
    if bad.all() or not bad.any():
        return None
    difference = sums[~bad][:, None] - sums[bad][None, :]
    return float((difference > 1e-12).mean() + 0.5 * (np.abs(difference) <= 1e-12).mean())
