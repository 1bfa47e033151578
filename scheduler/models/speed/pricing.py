# SPDX-License-Identifier: Apache-2.0
"""Step times of gangs at candidate layouts, each in the mode that is best for it.

Axes: G gangs, M modes, B batch sizes; see candidate_layouts.py.
"""

from __future__ import annotations

import numpy as np

from scheduler.api.snapshot import JobSnapshot, Mode
from scheduler.models.goodput import adapts_batch, batches_of
from scheduler.models.speed.candidate_layouts import CandidateLayouts, Ints
from scheduler.models.speed.fitting import Floats
from scheduler.models.speed.job_classes import GangPrices, StepTimes
from scheduler.models.speed.model import FEW_SERVERS, SERVERS_MUST_GAIN, SpeedModel
from scheduler.models.speed.step_time_cache import ClusterStepTimes, ModelTables, batch_key


def gang_prices(job: JobSnapshot, tables: ModelTables, cluster: ClusterStepTimes, gpu_type: str) -> GangPrices:
    """Returns the prices that the job shares with all that have its model, mode and batches. tables: of the job."""
    key = (gpu_type, job.mode, batch_key(job))
    found = tables.gang_prices.get(key)
    if found is None:
        model = tables.model  # prices do not refer to the tables that hold them: what is dropped is freed at once
        found = tables.gang_prices.store(
            key,
            GangPrices(
                lambda gangs: priced(job, model, cluster.candidates(gpu_type, gangs)),
                lambda n_workers: cluster.topology.spreads(gpu_type, n_workers),
            ),
        )
    return found


def priced(job: JobSnapshot, model: SpeedModel, candidates: CandidateLayouts) -> StepTimes:
    """Returns the step times of the candidate gangs, each in the mode that is best at the smallest batch."""
    gangs = candidates.gangs
    batches = {n: batches_of(job, n) for n in {n for n, _ in gangs}}
    size_GB = np.concatenate([batches[n].size_B for n, _ in gangs]).reshape(len(gangs), -1)
    passes_GB = np.concatenate([batches[n].passes_B for n, _ in gangs]).reshape(len(gangs), -1)
    step_GM = model.step_s_GM(candidates, batch_G=np.round(size_GB[:, 0]), passes_G=np.round(passes_GB[:, 0]))
    mode_G = _best_mode_G(step_GM, candidates.size_G, pinned=job.mode)
    error_G = np.take_along_axis(model.error_GM(candidates), mode_G[:, None], axis=1)[:, 0]
    if adapts_batch(job):
        step_GB = model.step_s_GB(candidates, mode_G, batch_GB=size_GB, passes_GB=passes_GB)
    else:
        step_GB = np.take_along_axis(step_GM, mode_G[:, None], axis=1)
    return StepTimes(gangs, error_G, step_GB, size_GB)


def _best_mode_G(step_GM: Floats, size_G: Ints, *, pinned: Mode | None) -> Ints:  # noqa: N802
    """The index of each gang's mode, by the rule of SpeedModel.best_mode."""
    if pinned is Mode.ALL_REDUCE:
        return np.zeros(len(size_G), dtype=np.int64)
    fastest_G1 = step_GM[:, 1:].min(axis=1, keepdims=True)
    served_G = 1 + np.argmax(step_GM[:, 1:] <= fastest_G1 * FEW_SERVERS, axis=1)
    if pinned is Mode.PARAMETER_SERVER:
        return np.asarray(served_G, dtype=np.int64)
    rings_G = (step_GM[:, 0] <= fastest_G1[:, 0] * (1 + SERVERS_MUST_GAIN)) | (size_G == 1)
    return np.asarray(np.where(rings_G, 0, served_G), dtype=np.int64)
