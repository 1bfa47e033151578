# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process over pairs of jobs: latent sensitivities and pressures, shared among similar jobs.

The speed of i with j is modelled as mean + s(i) + p(j) + u(i)·v(j) + m{i, j}: i's sensitivity, j's pressure, their
product, and what the two directions of a pair have in common. As a Gaussian process each term has a covariance made of
three likenesses of jobs: the same name, the same family at a like size, and like features. With the name alone it is a
low-rank latent model, ridge-regularised; with features it carries over to jobs never seen.
Axes: N directed observations (first all (a with b), then all (b with a)), M the training ones, J jobs.
Source: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), 2.2 and 5.4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy  # its parts are loaded when they are first used

from scheduler.api.arrays import Floats, Ints
from scheduler.models.interference.job_features import JobTable


@dataclass(frozen=True)
class KernelWeights:
    """Holds variances as parts of that of the data.

    The defaults fit public V100 pairs (Gavel, OSDI '20), as a start.
    """

    size_length: float = 1.8  # in doublings of the batch
    feature_length: float = 1.5  # in standard deviations, times the root of the number of features
    additive: float = 0.3
    product: float = 0.1
    joint: float = 0.2
    by_name: float = 0.1
    by_family: float = 1.0
    by_features: float = 1.0
    across_types: float = 0.9  # how alike a job is to itself on another type of GPU
    noise: float = 0.03


MAX_SEARCHED = 200  # pairs on which weights are chosen: the search costs their cube some thirty times

SEARCHED = (
    "noise",
    "feature_length",
    "by_features",
    "by_name",
    "product",
    "joint",
    "additive",
    "size_length",
    "by_family",
    "across_types",
)


class PairProcess:
    """Learns from pairs by a Gaussian process; its weights are chosen by leaving each pair out in turn, which has a
    closed form.
    """

    def __init__(self, jobs: JobTable, a_P: Ints, b_P: Ints, y_P2: Floats, *, n_passes: int = 2) -> None:
        """jobs: those of the pairs; a_P, b_P: rows of it; y_P2: normalised speeds of a and of b."""
        self._jobs = jobs
        self._self_M, self._other_M = np.concatenate([a_P, b_P]), np.concatenate([b_P, a_P])
        y_M = np.concatenate([y_P2[:, 0], y_P2[:, 1]])
        self._mean, self._spread = float(y_M.mean()), max(float(y_M.std()), 1e-3)
        self._z_M = (y_M - self._mean) / self._spread
        self.weights = self._searched(n_passes, np.unique(np.linspace(0, len(a_P) - 1, MAX_SEARCHED).astype(np.int64)))
        error_M, variance_M = self._left_out(self.weights, np.arange(len(a_P)))
        self.left_out_M = self._mean + self._spread * (self._z_M - error_M)
        self._calibration = float(np.mean(error_M**2 / variance_M))
        covariance = self._covariance(jobs, self._self_M, self._other_M, self.weights)
        covariance[np.diag_indices_from(covariance)] += self.weights.noise + 1e-6
        self._factor = scipy.linalg.cho_factor(covariance, lower=True)
        self._alpha_M = scipy.linalg.cho_solve(self._factor, self._z_M)

    def predict(self, jobs: JobTable, self_N: Ints, other_N: Ints) -> tuple[Floats, Floats]:
        """Returns mean and standard deviation of the speed of jobs[self] with jobs[other]; they are not clipped."""
        across = self._covariance(jobs, self_N, other_N, self.weights)
        mean_N = self._mean + self._spread * (across @ self._alpha_M)
        own_N = self._own(jobs, self_N, other_N)
        explained_N = np.einsum("nm,mn->n", across, scipy.linalg.cho_solve(self._factor, across.T))
        unknown_N = np.clip(1 - explained_N / own_N, 0.0, 1.0)
        variance_N = self._calibration * (unknown_N * own_N + self.weights.noise)
        # Left-out pairs calibrate known jobs; for unknown ones the spread of the data is the uncertainty.
        variance_N = (1 - unknown_N) * variance_N + unknown_N * np.maximum(variance_N, 1.0)
        return mean_N, self._spread * np.sqrt(variance_N)

    def _searched(self, n_passes: int, pairs: Ints) -> KernelWeights:
        """Coordinate search in factors of 3, then of 1.7, from the defaults, on some of the pairs."""
        best = KernelWeights()
        error = self._loss(best, pairs)
        has_features = self._jobs.features.shape[1] > 0
        has_types = len(np.unique(self._jobs.types)) > 1
        for step in (3.0, 1.7)[:n_passes]:
            for name in SEARCHED:
                if (not has_features and "feature" in name) or (not has_types and name == "across_types"):
                    continue
                for factor in (step, 1 / step):
                    tried = replace(best, **{name: getattr(best, name) * factor})
                    loss = self._loss(tried, pairs)
                    if loss < error - 1e-6:
                        best, error = tried, loss
                        break
        return best

    def _loss(self, weights: KernelWeights, pairs: Ints) -> float:
        """Mean squared error of the pairs left out, in variances; a little more for noise that explains nothing."""
        if not 1e-3 <= weights.noise <= 1.0 or weights.across_types > 1.0:
            return float("inf")
        try:
            error_M, variance_M = self._left_out(weights, pairs)
        except np.linalg.LinAlgError:
            return float("inf")
        surprise = float(np.mean(error_M**2 / variance_M + np.log(variance_M)))
        return float(np.mean(error_M**2)) + 0.02 * surprise

    def _left_out(self, weights: KernelWeights, pairs: Ints) -> tuple[Floats, Floats]:
        """Error and variance of each observation of these pairs, had its pair been left out (both directions of it)."""
        rows = np.concatenate([pairs, pairs + len(self._z_M) // 2])
        covariance = self._covariance(self._jobs, self._self_M[rows], self._other_M[rows], weights, among=rows)
        covariance[np.diag_indices_from(covariance)] += weights.noise + 1e-6
        factor = scipy.linalg.cho_factor(covariance, lower=True)
        weighted = scipy.linalg.cho_solve(factor, self._z_M[rows])
        n = len(weighted) // 2
        below, _ = scipy.linalg.lapack.dpotri(factor[0], lower=1)  # of the precision, what is on and below the diagonal
        first, second = np.arange(n), np.arange(n, 2 * n)
        p, q, r = below[first, first], below[second, first], below[second, second]
        determinant = np.maximum(p * r - q * q, 1e-12)
        error = np.concatenate(
            [
                (r * weighted[first] - q * weighted[second]) / determinant,
                (p * weighted[second] - q * weighted[first]) / determinant,
            ]
        )
        return error, np.concatenate([r / determinant, p / determinant])

    def _covariance(
        self,
        jobs: JobTable,
        self_N: Ints,
        other_N: Ints,
        weights: KernelWeights,
        *,
        among: Ints | slice = slice(None),
    ) -> Floats:
        """Between the observations given and the training ones (or those among them)."""
        like = _covariance(jobs, self._jobs, weights)
        self_M, other_M = self._self_M[among], self._other_M[among]
        own, others = like[np.ix_(self_N, self_M)], like[np.ix_(other_N, other_M)]
        crossed = like[np.ix_(self_N, other_M)] * like[np.ix_(other_N, self_M)]
        straight = own * others
        result: Floats = (
            weights.additive * (own + others) + (weights.product + weights.joint) * straight + weights.joint * crossed
        )
        return result

    def _own(self, jobs: JobTable, self_N: Ints, other_N: Ints) -> Floats:
        """Prior variance of each observation; a job is wholly like itself."""
        like = _covariance(jobs, jobs, self.weights)
        w = self.weights
        result: Floats = 2 * w.additive + w.product + w.joint + w.joint * like[self_N, other_N] ** 2
        return result


def _covariance(jobs: JobTable, known: JobTable, weights: KernelWeights) -> Floats:
    """Covariance of two jobs' latent traits: same name, same family at a like size, like features, same type of GPU."""
    same_name = _same(jobs.names, known.names)
    doublings = jobs.sizes[:, None] - known.sizes[None, :]
    family = _same(jobs.families, known.families) * np.exp(-0.5 * (doublings / weights.size_length) ** 2)
    total: Floats = weights.by_name * same_name + weights.by_family * family
    n_features = jobs.features.shape[1]
    if n_features:
        squares = (
            (jobs.features**2).sum(axis=1)[:, None]
            + (known.features**2).sum(axis=1)
            - 2 * jobs.features @ known.features.T
        )
        length = weights.feature_length**2 * n_features
        total = total + weights.by_features * np.exp(-0.5 * np.maximum(squares, 0.0) / length)
    whole = weights.by_name + weights.by_family + (weights.by_features if n_features else 0.0)
    result: Floats = total / whole * _type_covariance(jobs, known, weights)
    return result


def _type_covariance(jobs: JobTable, known: JobTable, weights: KernelWeights) -> Floats:
    """1 on the same type of GPU, and where one of them is of any type."""
    one, other = jobs.types[:, None], known.types[None, :]
    is_same = (one == other) | (one == 0) | (other == 0)
    return np.where(is_same, 1.0, weights.across_types)


def _same(one_J: Sequence[int] | Ints, other_J: Sequence[int] | Ints) -> Floats:
    a, b = np.asarray(one_J), np.asarray(other_J)
    result: Floats = ((a[:, None] == b[None, :]) & (a[:, None] >= 0)).astype(float)
    return result
