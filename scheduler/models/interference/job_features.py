# SPDX-License-Identifier: Apache-2.0
"""What is known of jobs that share a GPU: names, families, features, and the pairs that were measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.api.arrays import Floats

_BRACKET = re.compile(r"\s*[(\[{][^()\[\]{}]*[)\]}]\s*$")
_SETTING = re.compile(
    r"(?:[\s_\-:/|,@]+(?:bs|b|batch|batch[_\- ]?size|mb|amp|fp|bf|tf|lr|seed)[_\-=: ]?\d[\w.]*|[\s_:/|,@]+\d+)$", re.I
)
_BATCH = re.compile(r"(?:^|[^a-z])(?:bs|b|batch|batch[_\- ]?size|mb)[_\-=: ]*(\d+(?:\.\d+)?)", re.I)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LARGEST = 1e100  # beyond, squares would overflow
_HEAVY_TAIL = 20.0  # a positive column whose largest value is so many medians is taken in logarithms


@dataclass(frozen=True)
class JobTraits:
    """Holds a job as the interference model sees it.

    features: numbers measured with the job alone; NaN means not known. gpu_type: where it runs; "" = on any.
    """

    name: str
    features: Mapping[str, float] = field(default_factory=dict)
    gpu_type: str = ""


@dataclass(frozen=True)
class MeasuredPair:
    """Holds a measured pair. norm_a, norm_b: speed together, relative to the speed alone; above 0, seldom above 1."""

    a: JobTraits
    b: JobTraits
    norm_a: float
    norm_b: float


class PairSpeeds(NamedTuple):
    """Holds normalised speeds of two jobs on one GPU, above 0, and their standard deviations."""

    norm_a: float
    norm_b: float
    sd_a: float
    sd_b: float


def family_of(name: str) -> str:
    """Returns the name without its settings: "ResNet-50 (batch size 64)" and "ResNet-50_bs32" are both a resnet-50."""
    return _without_settings(name.strip()).casefold() or name.casefold()


def size_of(name: str) -> float:
    """Returns log2 of the batch size among the name's settings, or of the last number there; 0 where there is none."""
    settings = name.strip().removeprefix(_without_settings(name.strip()) or name.strip())
    numbers = _BATCH.findall(settings) or _NUMBER.findall(settings)
    return float(np.log2(max(1.0, float(numbers[-1])))) if numbers else 0.0


def _without_settings(name: str) -> str:
    shorter = _BRACKET.sub("", name)
    while shorter != (shorter := _SETTING.sub("", shorter)):
        pass
    return shorter


class JobTable(NamedTuple):
    """Holds jobs as arrays.

    names, families: codes (-1: not seen in learning); sizes: log2; features: (jobs, features). types: codes of GPU
    types, numbered from 1 on (0: any, -1: not seen in learning).
    """

    names: NDArray[np.int64]
    families: NDArray[np.int64]
    sizes: Floats
    features: Floats
    types: NDArray[np.int64]


class Vocabulary:
    """Turns jobs into arrays, with the names, medians and scales of the jobs that were learnt from.

    A feature counts if it is known for at least half of them and not the same for all; a missing value is the median.
    """

    def __init__(self, jobs: Sequence[JobTraits]) -> None:
        self._names = {name: i for i, name in enumerate(sorted({job.name for job in jobs}))}
        self._families = {name: i for i, name in enumerate(sorted({family_of(job.name) for job in jobs}))}
        self._types = {"": 0} | {name: i + 1 for i, name in enumerate(sorted({job.gpu_type for job in jobs} - {""}))}
        self.features: list[str] = []
        self._scales: list[tuple[bool, float, float]] = []
        for feature in sorted({name for job in jobs for name in job.features}):
            values = _column(jobs, feature)
            known = values[np.isfinite(values)]
            if 2 * known.size < len(jobs) or np.ptp(known) <= 1e-9 * max(1.0, float(np.abs(known).max())):
                continue
            in_logs = bool(known.min() > 0 and known.max() > _HEAVY_TAIL * np.median(known))
            known = np.log(known) if in_logs else known
            self.features.append(feature)
            low, middle, high = np.quantile(known, (0.1, 0.5, 0.9))
            spread = (high - low) / 2.56 or known.std()  # deciles: one slip of the pen is not to squeeze all others
            self._scales.append((in_logs, float(middle), float(spread)))

    def table(self, jobs: Iterable[JobTraits]) -> JobTable:
        """Returns the jobs as arrays; features are scaled as in learning."""
        jobs = list(jobs)
        columns = []
        for feature, (in_logs, middle, spread) in zip(self.features, self._scales, strict=True):
            values = _column(jobs, feature)
            with np.errstate(invalid="ignore", divide="ignore"):
                values = np.log(values) if in_logs else values
            columns.append(np.where(np.isfinite(values), (values - middle) / spread, 0.0))
        return JobTable(
            np.array([self._names.get(job.name, -1) for job in jobs], dtype=np.int64),
            np.array([self._families.get(family_of(job.name), -1) for job in jobs], dtype=np.int64),
            np.array([size_of(job.name) for job in jobs], dtype=float),
            np.clip(np.stack(columns, axis=1), -6.0, 6.0) if columns else np.zeros((len(jobs), 0)),
            np.array([self._types.get(job.gpu_type, -1) for job in jobs], dtype=np.int64),
        )


def _column(jobs: Sequence[JobTraits], feature: str) -> Floats:
    values = np.array([job.features.get(feature, np.nan) for job in jobs], dtype=float)
    return np.where(np.isfinite(values), np.clip(values, -_LARGEST, _LARGEST), np.nan)
