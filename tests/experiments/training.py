# SPDX-License-Identifier: Apache-2.0
"""Jobs of trials that train in no time: each pass trains an epoch and reports what a curve says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.experiments.actions import create_study
from mlhub.experiments.models import Study, Trial
from mlhub.experiments.tasks import advance_studies
from mlhub.jobs.lifecycle import advance
from mlhub.jobs.models import Allocation, Attempt, Checkpoint, Job
from mlhub.jobs.states import ENDED, Intent, JobState, Trigger
from mlhub.metrics.models import MetricPoint, Series
from mlhub.registry.models import Model, ModelVersion
from mlhub.usage.models import UsageEntry
from tests.cast import Cast
from tests.jobs.builders import builtin, ready_dataset

METRIC = "eval/accuracy"
SPACE: dict[str, Any] = {"learning_rate": {"log_uniform": [1e-4, 0.1]}, "width": {"int": [4, 64]}}


def trial_of(job: Job, *, study: str) -> Trial:
    """The job becomes the first trial of a study by this name."""
    made = Study.objects.create(
        project=job.project, name=study, created_by=job.created_by, space=SPACE, metric=METRIC, direction="maximize",
        algorithm="random", rungs=[9], max_parallel=1, max_trials=1,
    )  # fmt: skip
    return Trial.objects.create(study=made, number=0, parameters={}, job_id=job.pk)


Curve = Callable[[Job, int], float | None]  # of a job and its epoch; None: it reports nothing


def study_of(cast: Cast, *, epochs: int = 9, **request: Any) -> Study:
    wanted: dict[str, Any] = {
        "space": SPACE, "metric": METRIC, "direction": "maximize", "algorithm": "asha", "eta": 3, "seed": 1,
        "max_parallel": 4, "max_trials": 9,
    }  # fmt: skip
    return create_study(
        cast.project_a,
        **{
            "dataset_version": ready_dataset(cast.project_a, cast.bob),
            "model_version": builtin("mlp"),
            "name": "search",
            "settings": {"epochs": epochs},
            "actor": cast.bob,
            **wanted,
            **request,
        },
    )


def by_width(job: Job, epoch: int) -> float:
    """The wider, the better; more epochs help."""
    return float(job.hyperparameters["width"]) / 64 * (1 - 0.5**epoch)


@dataclass
class Trainer:
    """Stands in for control loop and pods. per_pass: epochs that a running job makes in a pass."""

    curve: Curve = by_width
    metric: str = METRIC
    per_pass: int = 1
    is_script: bool = False  # reports steps, no epochs, and is seen as far as its steps say
    saves: bool = False  # of a script: checkpoints, from which it goes on; else a resumed job begins anew
    failing: set[int] = field(default_factory=set)  # numbers of trials whose jobs fail in their first epoch
    most_live: int = 0

    def train(self) -> None:
        jobs = list(Job.objects.exclude(state__in=[*ENDED, JobState.PAUSED]).order_by("id"))
        self.most_live = max(self.most_live, len(jobs))
        for job in jobs:
            self._train(job)

    def run(self, study: Study, *, passes: int = 200) -> Study:
        """Advances and trains until the study has ended and all its jobs rest."""
        for _ in range(passes):
            advance_studies()
            study.refresh_from_db()
            if study.finished_at is not None and not Trial.objects.filter(study=study, is_settled=False).exists():
                return study
            self.train()
        raise AssertionError(f"the study is {study.state} after {passes} passes")

    def _train(self, job: Job) -> None:
        if job.state == JobState.QUEUED:
            advance(job.pk, trigger=Trigger.LAUNCH)
            advance(job.pk, trigger=Trigger.PODS_RUN)
            number = job.attempts.count() + 1
            attempt = Attempt.objects.create(job=job, number=number, n_workers=1)
            Allocation.objects.create(attempt=attempt, node="node", slots=[0])
            if self.is_script and not self.saves:
                Job.objects.filter(pk=job.pk).update(steps_done=0)
            return
        attempt = job.attempts.get(ended_at=None)
        trial = Trial.objects.filter(job_id=job.pk).first()
        if trial is not None and trial.number in self.failing:
            self._leave(job, attempt, Trigger.GANG_FAILED, failure={"message": "It ran out of memory."})
            return
        for _ in range(self.per_pass):
            self._epoch(job, attempt)
        job.refresh_from_db()
        if self._made(job) >= job.epochs:
            self._leave(job, attempt, Trigger.GANG_SUCCEEDED)
        elif job.intent == Intent.PAUSE:
            self._leave(job, attempt, Trigger.GANG_STOPPED_FOR_PAUSE)
        elif job.intent == Intent.CANCEL:
            self._leave(job, attempt, Trigger.GANG_STOPPED_FOR_CANCEL)

    def _epoch(self, job: Job, attempt: Attempt) -> None:
        epoch = self._made(job) + 1
        if epoch > job.epochs:
            return
        if self.is_script and self.saves:
            about: dict[str, Any] = {"size_bytes": 1, "write_s": 0.0, "stall_s": 0.0, "at": timezone.now()}
            Checkpoint.objects.create(attempt=attempt, step=epoch * 10, name=f"output/checkpoint-{epoch}", **about)
        value = self.curve(job, epoch)
        if value is not None:
            series, _ = Series.objects.get_or_create(job=job, attempt=attempt, key=self.metric)
            MetricPoint.objects.create(
                series=series, step=epoch * 10, epoch=0.0 if self.is_script else epoch, value=value,
                at=timezone.now(), seq=epoch,
            )  # fmt: skip
        Job.objects.filter(pk=job.pk).update(epoch=0.0 if self.is_script else epoch, steps_done=epoch * 10)
        job.refresh_from_db()

    def _made(self, job: Job) -> int:
        return job.steps_done // 10 if self.is_script else int(job.epoch)

    def _leave(self, job: Job, attempt: Attempt, trigger: Trigger, **changes: Any) -> None:
        now = timezone.now()
        Attempt.objects.filter(pk=attempt.pk).update(ended_at=now)
        Allocation.objects.filter(attempt=attempt).update(released_at=now)
        advance(job.pk, trigger=trigger, **changes)


def script(cast: Cast) -> ModelVersion:
    model = Model.objects.create(project=cast.project_a, name="script", created_by=cast.bob)
    return ModelVersion.objects.create(
        model=model, number=1, source="upload", kind="script", entry="train.py", state="ready", created_by=cast.bob
    )


def a_node() -> None:
    Node.objects.create(name="node", n_slots=8)


def steps_of(study: Study) -> list[tuple[int, dict[str, Any], int, list[float]]]:
    """What the study decided: number, parameters, highest rung and results of each trial."""
    rows = Trial.objects.filter(study=study).order_by("number")
    return [(t.number, t.parameters, t.rung, [r["value"] for r in t.results]) for t in rows]


def entered(job: Job, *, gpu_s: float) -> None:
    """The ledger has so much of the job's running attempt."""
    attempt = job.attempts.get()
    allocation = attempt.allocations.get()
    now = attempt.created_at
    UsageEntry.objects.create(
        allocation_id=allocation.pk + 1000, attempt_id=attempt.pk, attempt_number=1, outcome="preempted",
        job_id=job.pk, job=job.name, user_id=job.created_by_id, user="bob", project_id=job.project_id,
        project="vision", team="", organisation_id=job.project.organisation_id, organisation="A", node="node",
        gpu_type="", slots=[0], began_at=now, ended_at=now, gpu_s=gpu_s, startup_gpu_s=0, lost_gpu_s=0,
    )  # fmt: skip
