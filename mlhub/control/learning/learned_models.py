# SPDX-License-Identifier: Apache-2.0
"""What was learned of families of jobs, read from rows that outlive every process: speeds, costs, stages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db.models import F, Q

from mlhub.backends.protocol import ItemKind
from mlhub.clusters.models import Node
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.fault_isolation.soundness import is_number, sound_observation, sound_profile
from mlhub.control.learning.learned_pairs import learned_pairs
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import SpeedSample
from mlhub.registry.models import Kind
from scheduler.api.sharing_measurements import PairObservation, Profile
from scheduler.api.snapshot import Mode, SpeedObservation
from scheduler.models.cost import CostKind, CostModel, CostObservation

MAX_OBSERVATIONS = 40  # of a family: the newest
LOOKED_AT = 1000  # attempts, the newest ones, of all families together
NO_SLOWDOWN = 1.05  # a step that others make longer by less counts as measured alone
UNKNOWN_SHARE = 0.9  # of its speed that a gang has with others on its nodes or links, where that was never compared
LEAST_SHARE = 0.05


NoiseCurve = tuple[tuple[float, float], ...]  # (examples seen, noise scale then), ascending


@dataclass(frozen=True)
class LearnedModels:
    """By family; families that nothing is known of are absent, but for costs, of which the model has an idea always.

    noise_scales: of the gradient, in examples, as the newest attempt measured it; noise_curves: as the longest one did.
    memory_by_example: (bytes of a GPU that do not depend on the batch, bytes an example), where attempts had batches
    of several sizes on a worker. pairs: of all families.
    """

    observations: Mapping[str, tuple[SpeedObservation, ...]]
    profiles: Mapping[str, Profile]
    noise_scales: Mapping[str, float]
    costs: CostModel
    noise_curves: Mapping[str, NoiseCurve] = field(default_factory=dict)
    memory_by_example: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    pairs: tuple[PairObservation, ...] = ()


def learned_models_of(families: Collection[str], *, isolation: FaultIsolation | None = None) -> LearnedModels:
    """Returns what is known of these families. isolation: gets the attempts whose measurements cannot be read."""
    isolation = FaultIsolation() if isolation is None else isolation
    costs = isolation.attempt(learned_costs, kind=ItemKind.STEP, name="restart costs", default=CostModel([]))
    pairs = isolation.attempt(learned_pairs, kind=ItemKind.STEP, name="pairs", default=())
    found = _SpeedReader(isolation)
    found.read(families)
    return LearnedModels(
        {family: tuple(each[-MAX_OBSERVATIONS:]) for family, each in found.observations.items()},
        found.profiles,
        found.noise_scales,
        costs,
        found.noise_curves,
        {family: fit for family, points in found.memory.items() if (fit := _memory_line(points)) is not None},
        pairs,
    )


class _SpeedReader:
    """Reads all samples of families: observations oldest first, everything else as the newest one has it."""

    def __init__(self, isolation: FaultIsolation) -> None:
        self.isolation = isolation
        self.with_memory = set(Node.objects.filter(gpu_memory_bytes__gt=0).values_list("gpu_type", flat=True))
        self.observations: defaultdict[str, list[SpeedObservation]] = defaultdict(list)
        self.profiles: dict[str, Profile] = {}
        self.noise_scales: dict[str, float] = {}
        self.noise_curves: dict[str, NoiseCurve] = {}
        self.memory: defaultdict[str, dict[int, float]] = defaultdict(dict)  # bytes by examples on a worker

    def read(self, families: Collection[str]) -> None:
        measured = Q(n_steps__gt=0) | ~Q(by_batch={})
        samples = SpeedSample.objects.filter(measured, family__in=families).prefetch_related("attempt__pair_samples")
        samples = samples.select_related("attempt__job")
        self.isolation.each(
            samples.order_by("updated_at", "id"),
            self._read,
            kind=ItemKind.ATTEMPT,
            name=lambda sample: sample.attempt_id,
        )

    def _read(self, sample: SpeedSample) -> None:
        """Raises ValueError for a measurement that no model can work with."""
        family = sample.family
        has_gpu_memory = sample.gpu_type in self.with_memory
        observation, profile, noise_scale = _observed(sample, self.profiles.get(family), has_gpu_memory=has_gpu_memory)
        # steps are counted in declared batches, whatever the batch has grown to
        curve = tuple((float(step) * sample.attempt.job.batch_size, float(noise)) for step, noise in sample.noise_curve)
        if sample.n_steps:
            self.observations[family].append(observation)
        self.observations[family].extend(_of_other_batches(observation, sample.by_batch))
        self.profiles[family] = profile
        if noise_scale is not None:
            self.noise_scales[family] = noise_scale
        if curve and curve[-1][0] >= max((at for at, _ in self.noise_curves.get(family, ())), default=0.0):
            self.noise_curves[family] = curve
        if memory_bytes := sample.measured.get("gpu_memory_bytes"):
            self.memory[family][sample.batch_size // sample.n_workers] = float(memory_bytes)
        for size, found in sample.by_batch.items():
            if of_size := found.get("gpu_memory_bytes"):
                self.memory[family][int(size) // sample.n_workers] = float(of_size)


def _of_other_batches(observation: SpeedObservation, by_batch: Mapping[str, Any]) -> list[SpeedObservation]:
    """Of the batches that the attempt changed to. Raises ValueError for a measurement that no model can work with."""
    names = ("step_s", "compute_s", "sync_s", "n_steps")
    return [
        sound_observation(
            replace(observation, batch_size=int(size), share=1.0, **{name: found[name] for name in names})
        )
        for size, found in by_batch.items()
        if found.get("n_steps")
    ]


def _observed(
    sample: SpeedSample, before: Profile | None, *, has_gpu_memory: bool
) -> tuple[SpeedObservation, Profile, float | None]:
    """before: of the family's earlier samples. has_gpu_memory: its nodes' GPUs report how much they have.

    Raises ValueError for a measurement that no model can work with.
    """
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
        share=_share(sample),
    )
    noise_scale = sample.measured.get("noise_scale")
    if noise_scale is not None and not is_number(noise_scale, least=0):
        raise ValueError(f"its measured noise_scale is {noise_scale!r}; it must be a finite number")
    profile = _profile(sample, before, has_gpu_memory=has_gpu_memory)
    return sound_observation(observation), sound_profile(profile), noise_scale


def _share(sample: SpeedSample) -> float:
    """1 where it was measured alone; else what the slowdown by others left of its speed, as far as that is known."""
    if not sample.is_shared:
        return 1.0
    known = [pair.slowdown for pair in sample.attempt.pair_samples.all() if pair.slowdown and pair.resource != "gpu"]
    slowest = max(known, default=1 / UNKNOWN_SHARE)
    return 1.0 if slowest < NO_SLOWDOWN else max(LEAST_SHARE, min(UNKNOWN_SHARE, 1 / slowest))


def _profile(sample: SpeedSample, before: Profile | None, *, has_gpu_memory: bool) -> Profile:
    """A worker's step by its stages; of memory the most that the family ever held.

    Where GPUs have no memory of their own, a worker's memory and CPUs stand for a GPU's.
    """
    measured = sample.measured
    before = before or Profile()
    used = measured.get("gpu_utilisation", measured.get("cpus_used", before.gpu_utilisation))
    of_worker = None if has_gpu_memory else measured.get("peak_memory_bytes")
    held = [n for n in (measured.get("gpu_memory_bytes", of_worker), before.gpu_memory_bytes) if n is not None]
    return Profile(
        cpu_io_s=sample.input_s,
        gpu_s=sample.compute_s,
        network_s=sample.sync_s,
        gpu_utilisation=None if used is None else min(1.0, used),
        memory_bandwidth=measured.get("memory_bandwidth", before.memory_bandwidth),
        gpu_memory_bytes=int(max(held)) if held else None,
    )


def _memory_line(points: Mapping[int, float]) -> tuple[float, float] | None:
    """Least squares over bytes by examples on a worker; None unless memory grows with the examples."""
    if len(points) < 2:
        return None
    mean_x, mean_y = sum(points) / len(points), sum(points.values()) / len(points)
    spread = sum((x - mean_x) ** 2 for x in points)
    each = sum((x - mean_x) * (y - mean_y) for x, y in points.items()) / spread
    return (max(0.0, mean_y - each * mean_x), each) if each > 0 else None


def learned_costs() -> CostModel:
    """Fitted to the newest attempts of all families: how long they took to start and to leave, and what that lost.

    A start counts without fetching inputs into the cache of a node: whether the next one fetches depends on its nodes.
    What a script would lose is no matter of its family: unsaved_work.py.
    """
    newest = (
        Attempt.objects.exclude(training_at=None)
        .order_by("-id")
        .annotate(
            family=F("speed_sample__family"), step_s=F("speed_sample__step_s"), kind=F("job__model_version__kind")
        )
    )
    columns = (
        "job_id", "kind", "family", "step_s", "created_at", "training_at", "stop_asked_at", "ended_at", "outcome",
        "first_step", "last_step", "inputs",
    )  # fmt: skip
    caching = set(Node.objects.filter(has_own_cache=True).values_list("name", flat=True))
    found, resumed_at = [], dict[UUID, int]()  # by job, the step at which its next attempt went on
    for row in newest.values(*columns)[:LOOKED_AT]:
        family, went_on_at = row["family"] or "", resumed_at.get(row["job_id"])
        resumed_at[row["job_id"]] = row["first_step"]
        fetch_s = max((use["fetch_s"] for node, use in row["inputs"].items() if node in caching), default=0.0)
        start_s = (row["training_at"] - row["created_at"]).total_seconds() - fetch_s
        found.append(CostObservation(family, CostKind.START, max(0.0, start_s)))
        if row["outcome"] != "stopped" or not row["stop_asked_at"] or not row["ended_at"]:
            continue
        leave_s = (row["ended_at"] - row["stop_asked_at"]).total_seconds()
        found.append(CostObservation(family, CostKind.LEAVE, max(0.0, leave_s)))
        if went_on_at is not None and row["kind"] != Kind.SCRIPT:  # which step a script went on from is not known
            lost_steps = max(0, row["last_step"] - went_on_at)
            found.append(CostObservation(family, CostKind.LOSS, lost_steps * (row["step_s"] or 0.0)))
    return CostModel(found)
