# SPDX-License-Identifier: Apache-2.0
"""What was learned of families of jobs, read from rows that outlive every process: speeds, costs, stages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from mlhub.backends.protocol import ItemKind
from mlhub.control.isolation import FaultIsolation
from mlhub.control.soundness import is_number, sound_observation, sound_profile
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import SpeedSample
from scheduler.api.snapshot import Mode, Profile, SpeedObservation
from scheduler.models.cost import CostKind, CostModel, CostObservation

MAX_OBSERVATIONS = 40  # of a family: the newest
LOOKED_AT = 1000  # attempts, the newest ones, of all families together


@dataclass(frozen=True)
class LearnedModels:
    """By family; families that nothing is known of are absent, but for costs, of which the model has an idea always."""

    observations: Mapping[str, tuple[SpeedObservation, ...]]
    profiles: Mapping[str, Profile]
    noise_scales: Mapping[str, float]  # of the gradient, in examples, as the newest attempt measured it
    costs: CostModel


def learned_models_of(families: Collection[str], *, isolation: FaultIsolation | None = None) -> LearnedModels:
    """Returns what is known of these families. isolation: gets the attempts whose measurements cannot be read."""
    isolation = FaultIsolation() if isolation is None else isolation
    observations, profiles, noise_scales = _speeds(families, isolation)
    costs = isolation.attempt(learned_costs, kind=ItemKind.STEP, name="restart costs", default=CostModel([]))
    return LearnedModels(observations, profiles, noise_scales, costs)


def _speeds(
    families: Collection[str], isolation: FaultIsolation
) -> tuple[dict[str, tuple[SpeedObservation, ...]], dict[str, Profile], dict[str, float]]:
    """Observations oldest first; the stages of the newest one, a worker's step each; the newest noise scale."""
    found: defaultdict[str, list[SpeedObservation]] = defaultdict(list)
    profiles, noise_scales = dict[str, Profile](), dict[str, float]()

    def read(sample: SpeedSample) -> None:
        observation, profile, noise_scale = _observed(sample)
        found[sample.family].append(observation)
        profiles[sample.family] = profile
        if noise_scale is not None:
            noise_scales[sample.family] = noise_scale

    samples = SpeedSample.objects.filter(family__in=families, n_steps__gt=0).order_by("updated_at", "id")
    isolation.each(samples, read, kind=ItemKind.ATTEMPT, name=lambda sample: sample.attempt_id)
    return {family: tuple(each[-MAX_OBSERVATIONS:]) for family, each in found.items()}, profiles, noise_scales


def _observed(sample: SpeedSample) -> tuple[SpeedObservation, Profile, float | None]:
    """Raises ValueError for a measurement that no model can work with."""
    observation = SpeedObservation(
        mode=Mode(sample.mode),
        n_workers=sample.n_workers,
        n_servers=sample.n_servers,
        n_nodes=sample.n_nodes,
        n_racks=sample.n_racks,
        gpu_type=sample.gpu_type,
        batch_size=sample.batch_size,
        step_s=sample.step_s,
        compute_s=sample.compute_s,
        sync_s=sample.sync_s,
        n_steps=sample.n_steps,
        observed_at_s=sample.updated_at.timestamp(),
    )
    profile = Profile(cpu_io_s=sample.input_s, gpu_s=sample.compute_s, network_s=sample.sync_s)
    noise_scale = sample.measured.get("noise_scale")
    if noise_scale is not None and not is_number(noise_scale, least=0):
        raise ValueError(f"its measured noise_scale is {noise_scale!r}; it must be a finite number")
    return sound_observation(observation), sound_profile(profile), noise_scale


def learned_costs() -> CostModel:
    """Fitted to the newest attempts of all families: how long they took to start and to leave, and what that lost."""
    newest = (
        Attempt.objects.exclude(training_at=None)
        .order_by("-id")
        .annotate(family=F("speed_sample__family"), step_s=F("speed_sample__step_s"))
    )
    columns = (
        "job_id", "family", "step_s", "created_at", "training_at", "stop_asked_at", "ended_at", "outcome", "first_step",
        "last_step",
    )  # fmt: skip
    found, resumed_at = [], dict[UUID, int]()  # by job, the step at which its next attempt went on
    for row in newest.values(*columns)[:LOOKED_AT]:
        family, went_on_at = row["family"] or "", resumed_at.get(row["job_id"])
        resumed_at[row["job_id"]] = row["first_step"]
        found.append(CostObservation(family, CostKind.START, (row["training_at"] - row["created_at"]).total_seconds()))
        if row["outcome"] != "stopped" or not row["stop_asked_at"] or not row["ended_at"]:
            continue
        leave_s = (row["ended_at"] - row["stop_asked_at"]).total_seconds()
        found.append(CostObservation(family, CostKind.LEAVE, max(0.0, leave_s)))
        if went_on_at is not None:
            lost_steps = max(0, row["last_step"] - went_on_at)
            found.append(CostObservation(family, CostKind.LOSS, lost_steps * (row["step_s"] or 0.0)))
    return CostModel(found)
