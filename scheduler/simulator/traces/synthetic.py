# SPDX-License-Identifier: Apache-2.0
"""Made-up days of several tenants: arrivals by the hour, sweeps, heavy-tailed lengths, families. Same seed, same day.

Shaped after what was published of real clusters: most jobs ask for one GPU, few large ones use most GPU time; half of
the jobs last minutes, few last days; submissions follow the working day and come in sweeps of alike jobs (Jeon et al.,
ATC '19, Microsoft's Philly; Hu et al., SC '21, SenseTime's Helios). The numbers below are round, fitted to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.simulator.traces.gavel_tables import STANDARD_TYPE, SharingTables
from scheduler.simulator.traces.trace import Trace, TraceJob

SIZES: Mapping[int, float] = {1: 0.5, 2: 0.18, 4: 0.16, 8: 0.11, 16: 0.05}  # GPUs: share of the jobs
SWEEP_SHARE = 0.3  # of the submissions are sweeps of several alike jobs
SWEEP_SIZES = (3, 10)
NIGHT = 0.25  # submissions a second at night, of those at the peak
SHORTEST_S = 60.0
SPREAD = 1.4  # standard deviation of the logarithm of lengths
TAIL = 1.1  # exponent of the Pareto tail of the lengths
LONGEST = 0.5  # of the day; no job is longer
MEASURED_MEDIAN_S = 1800.0
MOST_OF_CLUSTER = 4  # no job asks for more than a fourth of the cluster


@dataclass(frozen=True)
class Family:
    """Describes jobs of one kind. median_s: half are shorter; is_elastic: they train on fewer or more GPUs, too.

    sizes: the only numbers of GPUs that a job may ask for, 1 among them (none given: any).
    step_s: of one step at the size that is asked for; parameters_bytes: of one gradient, here of networks that are
    used for such work: ResNet-18, VGG-16, BERT-base, DeepSpeech2, NCF, in float32.
    """

    name: str
    share: float
    median_s: float
    is_elastic: bool
    step_s: float
    parameters_bytes: int
    sizes: tuple[int, ...] = ()

    def size(self, wished: int) -> int:
        """Returns the largest size that is not larger than the given one."""
        return max((n for n in self.sizes if n <= wished), default=1) if self.sizes else wished


FAMILIES = (
    Family("vision-small", 0.35, 600.0, True, 0.15, 45_000_000),
    Family("vision-large", 0.15, 3600.0, True, 0.3, 553_000_000),
    Family("language", 0.2, 2700.0, True, 0.35, 440_000_000),
    Family("speech", 0.1, 1800.0, False, 0.5, 152_000_000),
    Family("recommender", 0.2, 900.0, False, 0.1, 128_000_000),
)


@dataclass(frozen=True)
class DayTenant:
    """Describes a tenant.

    share: of the submissions. peak_h: the hour in which it submits most. weight, guarantee: GPUs, for its quota.
    """

    name: str
    share: float = 1.0
    peak_h: float = 15.0
    weight: float = 1.0
    guarantee: int = 0


def made_up_day(
    *,
    tenants: Sequence[DayTenant],
    n_jobs: int,
    n_gpus: int,
    hours: float = 24.0,
    load: float = 1.0,
    seed: int = 0,
    families: Sequence[Family] = FAMILIES,
    sizes: Mapping[int, float] = SIZES,
) -> Trace:
    """Returns a trace of n_jobs jobs. load: GPU-seconds asked for, of those that n_gpus GPUs have in these hours.

    sizes: shares of the submissions by number of GPUs. Raises ValueError for numbers from which no day can be made.
    """
    _check(tenants, n_jobs, n_gpus, hours, load)
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    while len(rows) < n_jobs:  # a submission is one job, or a sweep of jobs that differ in length only
        tenant = tenants[_pick(random, [t.share for t in tenants])]
        family = families[_pick(random, [f.share for f in families])]
        at_s = _hour(random, tenant.peak_h, hours) * 3600
        n = int(random.integers(*SWEEP_SIZES)) if random.random() < SWEEP_SHARE else 1
        size = list(sizes)[_pick(random, list(sizes.values()))]
        length_s = _length_s(random, family)
        for i in range(min(n, n_jobs - len(rows))):
            rows.append(
                {
                    "at_s": at_s + 20.0 * i,
                    "n_gpus": family.size(max(1, min(size if n == 1 else min(size, 2), n_gpus // MOST_OF_CLUSTER))),
                    "length_s": length_s * (1.0 if n == 1 else float(random.uniform(0.6, 1.4))),
                    "tenant": tenant.name,
                    "family": family,
                }
            )
    _scale(rows, wanted_gpu_s=load * n_gpus * hours * 3600, longest_s=LONGEST * hours * 3600)
    rows.sort(key=lambda row: row["at_s"])
    jobs = tuple(_job(i, row, n_gpus) for i, row in enumerate(rows))
    return Trace(f"day of seed {seed}", "mlhub", jobs)


def measured_families(tables: SharingTables) -> tuple[Family, ...]:
    """Returns a family for every job type that was measured on a GPU of the standard type, all alike often and long."""
    there = (job_type for job_type in tables.job_types if 1 in tables.sizes(job_type, STANDARD_TYPE))
    return tuple(Family(one, 1.0, MEASURED_MEDIAN_S, False, 0.0, 0, tables.sizes(one, STANDARD_TYPE)) for one in there)


def quota_of(tenants: Sequence[DayTenant]) -> list[dict[str, Any]]:
    """Returns the tenants as a cluster file names them; a tenant without a guarantee has none there."""
    return [{"name": t.name, "weight": t.weight} | ({"guarantee": t.guarantee} if t.guarantee else {}) for t in tenants]


def _job(number: int, row: Mapping[str, Any], n_gpus: int) -> TraceJob:
    n = row["n_gpus"]
    is_elastic = row["family"].is_elastic
    return TraceJob(
        id=f"{row['tenant']}-{number:04d}",
        submitted_at_s=round(float(row["at_s"]), 1),
        n_gpus=n,
        duration_s=round(float(row["length_s"]), 1),
        tenant=row["tenant"],
        model=row["family"].name,
        min_gpus=max(1, n // 2) if is_elastic else None,
        max_gpus=min(2 * n, n_gpus) if is_elastic else None,
        extra=_of_steps(row["family"]),
        row=number + 2,
    )


def _of_steps(family: Family) -> dict[str, float]:
    """Nothing where the family's steps are not known."""
    return {"step_s": family.step_s, "parameters_bytes": float(family.parameters_bytes)} if family.step_s > 0 else {}


def _length_s(random: np.random.Generator, family: Family) -> float:
    """Log-normal about the median; one in ten from the tail beyond four medians."""
    if random.random() < 0.1:
        return float(4 * family.median_s * (1 + random.pareto(TAIL)))
    return float(family.median_s * np.exp(random.normal(0.0, SPREAD)))


def _scale(rows: list[dict[str, Any]], *, wanted_gpu_s: float, longest_s: float) -> None:
    """Stretch all lengths alike until the day asks for so many GPU-seconds, within the shortest and the longest."""
    n_J = np.array([row["n_gpus"] for row in rows], dtype=float)
    length_J = np.array([row["length_s"] for row in rows], dtype=float)
    low, high = 1e-6, 1e6
    for _ in range(80):
        factor = (low * high) ** 0.5
        asked = float((n_J * np.clip(length_J * factor, SHORTEST_S, longest_s)).sum())
        low, high = (factor, high) if asked < wanted_gpu_s else (low, factor)
    if asked < 0.99 * wanted_gpu_s:
        hours = longest_s / 3600
        raise ValueError(f"{len(rows)} jobs of at most {hours:g} hours cannot make such a load; raise the jobs")
    for row, length_s in zip(rows, np.clip(length_J * low, SHORTEST_S, longest_s), strict=True):
        row["length_s"] = float(length_s)


def _hour(random: np.random.Generator, peak_h: float, hours: float) -> float:
    """By rejection: a cosine about the tenant's peak, never quite silent."""
    while True:
        hour = float(random.uniform(0.0, hours))
        rate = NIGHT + (1 - NIGHT) * (1 + np.cos((hour - peak_h) / 24 * 2 * np.pi)) / 2
        if random.random() < rate:
            return hour


def _pick(random: np.random.Generator, shares: Sequence[float]) -> int:
    weights: Floats = np.array(shares, dtype=float)
    return int(random.choice(len(weights), p=weights / weights.sum()))


def _check(tenants: Sequence[DayTenant], n_jobs: int, n_gpus: int, hours: float, load: float) -> None:
    names = [tenant.name for tenant in tenants]
    if not names or len(set(names)) < len(names) or not all(names):
        raise ValueError(f"the tenants are {', '.join(names) or 'none'}; name at least one, each once")
    if not sum(tenant.share for tenant in tenants) > 0 or min(tenant.share for tenant in tenants) < 0:
        raise ValueError("the tenants' shares must not be negative, and their sum above 0")
    if n_jobs < 1 or n_gpus < 1 or not 0 < hours < float("inf") or not 0 < load < float("inf"):
        raise ValueError(f"{n_jobs} jobs, {n_gpus} GPUs, {hours:g} hours, load {load:g}: all must be above 0")
    if sum(tenant.guarantee for tenant in tenants) > n_gpus:
        raise ValueError(f"the guarantees are more than the {n_gpus} GPUs that there are; lower some")
