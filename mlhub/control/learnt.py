"""What was learnt of families of jobs, read from rows that outlive every process: speeds, costs, stages."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import F

from mlhub.jobs.models import Attempt
from mlhub.metrics.models import SpeedSample
from scheduler.snapshot import Mode, Profile, SpeedObservation

MAX_OBSERVATIONS = 40  # of a family: the newest
N_ATTEMPTS = 20  # whose times a median is taken of
LOOKED_AT = 1000  # attempts, the newest ones, of all families together
START_S, CHECKPOINT_S = 15.0, 2.0  # until there are attempts to learn from


@dataclass(frozen=True)
class Costs:
    """start_s: from launch to the first step. checkpoint_s: from being asked to leave to having left."""

    start_s: float = START_S
    checkpoint_s: float = CHECKPOINT_S


@dataclass(frozen=True)
class Learnt:
    """By family; families that nothing is known of are absent, but for costs, which are then those of all jobs."""

    observations: Mapping[str, tuple[SpeedObservation, ...]]
    profiles: Mapping[str, Profile]
    noise_scales: Mapping[str, float]  # of the gradient, in examples, as the newest attempt measured it
    costs: Mapping[str, Costs]
    usual: Costs

    def costs_of(self, family: str) -> Costs:
        return self.costs.get(family, self.usual)


def learnt_of(families: Collection[str]) -> Learnt:
    """What is known of these families."""
    observations, profiles, noise_scales = _speeds(families)
    costs, usual = _costs(families)
    return Learnt(observations, profiles, noise_scales, costs, usual)


def _speeds(
    families: Collection[str],
) -> tuple[dict[str, tuple[SpeedObservation, ...]], dict[str, Profile], dict[str, float]]:
    """Observations oldest first; the stages of the newest one, a worker's step each; the newest noise scale."""
    found: defaultdict[str, list[SpeedObservation]] = defaultdict(list)
    profiles, noise_scales = {}, {}
    for sample in SpeedSample.objects.filter(family__in=families, n_steps__gt=0).order_by("updated_at", "id"):
        found[sample.family].append(
            SpeedObservation(
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
        )
        profiles[sample.family] = Profile(cpu_io_s=sample.input_s, gpu_s=sample.compute_s, network_s=sample.sync_s)
        if sample.noise_scale is not None:
            noise_scales[sample.family] = sample.noise_scale
    return {family: tuple(each[-MAX_OBSERVATIONS:]) for family, each in found.items()}, profiles, noise_scales


def _costs(families: Collection[str]) -> tuple[dict[str, Costs], Costs]:
    """Medians of the newest attempts of each family; and of all families, for those without any."""
    newest = Attempt.objects.exclude(training_at=None).order_by("-id").annotate(family=F("speed_sample__family"))
    columns = ("family", "created_at", "training_at", "stop_asked_at", "ended_at", "outcome")
    starts: defaultdict[str | None, list[float]] = defaultdict(list)
    leaves: defaultdict[str | None, list[float]] = defaultdict(list)
    for family, created_at, training_at, asked_at, ended_at, outcome in newest.values_list(*columns)[:LOOKED_AT]:
        for of in {family, None}:
            starts[of].append((training_at - created_at).total_seconds())
            if outcome == "stopped" and asked_at and ended_at:
                leaves[of].append(max(0.0, (ended_at - asked_at).total_seconds()))
    usual = Costs(_median(starts[None], START_S), _median(leaves[None], CHECKPOINT_S))
    known = {
        family: Costs(_median(starts[family], usual.start_s), _median(leaves[family], usual.checkpoint_s))
        for family in families
        if family in starts
    }
    return known, usual


def _median(newest_first: list[float], otherwise: float) -> float:
    return statistics.median(newest_first[:N_ATTEMPTS]) if newest_first else otherwise
