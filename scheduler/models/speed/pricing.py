# SPDX-License-Identifier: Apache-2.0
"""Step times of gangs at candidate layouts, each in the mode that is best for it; those of many jobs at once.

Axes: P prices (a model, a mode and batches each), G gangs, M modes, B batch sizes; see candidate_layouts.py.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence

import numpy as np

from scheduler.api.snapshot import JobSnapshot, Mode
from scheduler.models.goodput import adapts_batch
from scheduler.models.speed.candidate_layouts import CandidateLayouts, Gang, Ints
from scheduler.models.speed.fitting import Floats
from scheduler.models.speed.job_classes import GangPrices, StepTimes
from scheduler.models.speed.model import (
    FEW_SERVERS,
    MEASURED_ERROR,
    PRIOR_ERROR,
    SERVERS_MUST_GAIN,
    SpeedModel,
    error_PGM,
    step_s_PGM,
)
from scheduler.models.speed.step_time_cache import ClusterStepTimes, ModelTables, batch_key

_Wanted = Mapping[GangPrices, Collection[int]]


def gang_prices(job: JobSnapshot, tables: ModelTables, cluster: ClusterStepTimes, gpu_type: str) -> GangPrices:
    """Returns the prices that the job shares with all that have its model, mode and batches. tables: of the job."""
    key = (gpu_type, job.mode, batch_key(job))
    found = tables.gang_prices.get(key)
    if found is None:
        model = tables.model  # prices do not refer to the tables that hold them: what is dropped is freed at once

        def price(gangs: tuple[Gang, ...]) -> StepTimes:
            return priced([(job, model)], cluster.candidates(((gpu_type, gangs),)), cluster)[0][0]

        found = tables.gang_prices.store(
            key, GangPrices(job, model, gpu_type, price, lambda n: cluster.topology.spreads(gpu_type, n))
        )
    return found


def price_together(wanted: _Wanted, cluster: ClusterStepTimes) -> None:
    """Prices all that is wanted and not there yet: at once what may be run in the same modes, on all types of GPU.

    On each type each of them gets all the sizes that any of them lacks: they would be asked for soon. wanted: sizes.
    """
    groups: dict[tuple[Mode | None, bool], tuple[dict[Hashable, dict[str, GangPrices]], dict[str, set[int]]]] = {}
    for prices, sizes in wanted.items():
        missing = prices.missing(sizes)
        if missing:
            alike, all_sizes = groups.setdefault((prices.job.mode, adapts_batch(prices.job)), ({}, {}))
            alike.setdefault((prices.model, batch_key(prices.job)), {})[prices.gpu_type] = prices
            all_sizes.setdefault(prices.gpu_type, set()).update(missing)
    for alike, all_sizes in groups.values():
        by_type = {t: prices for each in alike.values() for t, prices in each.items()}
        candidates = cluster.candidates(tuple([(t, by_type[t].gangs_of(all_sizes[t])) for t in sorted(all_sizes)]))
        jobs = [next(iter(each.values())) for each in alike.values()]
        found = priced([(prices.job, prices.model) for prices in jobs], candidates, cluster)
        for each, times in zip(alike.values(), found, strict=True):
            for one, of_type in zip(candidates.types, times, strict=True):
                if one.gpu_type in each:
                    each[one.gpu_type].add(of_type)


def priced(
    each: Sequence[tuple[JobSnapshot, SpeedModel]], candidates: CandidateLayouts, cluster: ClusterStepTimes
) -> list[list[StepTimes]]:
    """Returns, of each model and type, the step times of the candidate gangs, each in the mode that is best at the
    smallest batch.

    each: jobs, all with the same pinned mode, and all or none with a batch that is chosen; and their models.
    """
    gangs, models = candidates.gangs, [model for _, model in each]
    batches = [cluster.gang_batches(job, gangs) for job, _ in each]
    size_PGB, passes_PGB = np.array([size_GB for size_GB, _ in batches]), np.array([passes for _, passes in batches])
    batch_PG, passes_PG = np.round(size_PGB[..., 0]), np.round(passes_PGB[..., 0])
    step_PGM = step_s_PGM(models, candidates, batch_PG=batch_PG, passes_PG=passes_PG)
    mode_PG = _best_mode_PG(step_PGM, candidates.size_G, pinned=each[0][0].mode)
    best_PG = np.arange(len(models))[:, None], np.arange(len(gangs)), mode_PG  # as indices
    error_PG = error_PGM(models, candidates)[best_PG]
    is_risky_PG = (error_PG > MEASURED_ERROR) & (error_PG < PRIOR_ERROR)
    caution_PG = np.where(is_risky_PG, 1 + error_PG, 1.0)
    if not adapts_batch(each[0][0]):
        step_PGB = step_PGM[best_PG][..., None]
    else:
        chosen = zip(models, mode_PG, size_PGB, passes_PGB, strict=True)
        step_PGB = np.array(
            [
                model.step_s_GB(candidates, mode_G, batch_GB=size_GB, passes_GB=passes_GB)
                for model, mode_G, size_GB, passes_GB in chosen
            ]
        )
    rows = zip(caution_PG, step_PGB, size_PGB, strict=True)
    return [
        [StepTimes(one.gangs, one.place, one.by_size, *[of_G[one.where] for of_G in of_P]) for one in candidates.types]
        for of_P in rows
    ]


def _best_mode_PG(step_PGM: Floats, size_G: Ints, *, pinned: Mode | None) -> Ints:  # noqa: N802
    """The index of each gang's mode, by the rule of SpeedModel.best_mode."""
    if pinned is Mode.ALL_REDUCE:
        return np.zeros(step_PGM.shape[:2], dtype=np.int64)
    fastest_PG1 = step_PGM[..., 1:].min(axis=2, keepdims=True)
    served_PG = 1 + np.argmax(step_PGM[..., 1:] <= fastest_PG1 * FEW_SERVERS, axis=2)
    if pinned is Mode.PARAMETER_SERVER:
        return np.asarray(served_PG, dtype=np.int64)
    rings_PG = (step_PGM[..., 0] <= fastest_PG1[..., 0] * (1 + SERVERS_MUST_GAIN)) | (size_G == 1)
    return np.asarray(np.where(rings_PG, 0, served_PG), dtype=np.int64)
