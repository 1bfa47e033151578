# SPDX-License-Identifier: Apache-2.0
"""Study: a search for hyperparameters. Trial: one point of its space, trained by one job."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.datasets.models import DatasetVersion
from mlhub.experiments.algorithms.search import Algorithm, TrialStatus
from mlhub.experiments.querysets import StudyQuerySet, TrialQuerySet
from mlhub.experiments.states import StudyState
from mlhub.registry.models import ModelVersion
from mlhub.tenants.models import Project, User

MOST_TRIALS = 1000  # of a study


class Direction(models.TextChoices):
    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


class Unit(models.TextChoices):
    """What rungs count: epochs of MLHub's own loop, or what a script reports as its steps."""

    EPOCHS = "epochs"
    STEPS = "steps"


class Study(models.Model):
    """settings: of the jobs, as POST /jobs takes them, without dataset, model and project. rungs: of the unit, rising.
    has_dataset: False for a script that reads none; with it, a study without dataset_version has lost it.

    Each max_*: the budget; null = no limit. reason: why it ended, in a sentence; problem: what keeps it from going on
    now. steered_by: who last paused, resumed, extended or stopped it, and in whose name its jobs are resumed since.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="studies", db_index=False)
    name = models.CharField(max_length=80)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    steered_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    dataset_version = models.ForeignKey(DatasetVersion, on_delete=models.SET_NULL, null=True, related_name="+")
    model_version = models.ForeignKey(ModelVersion, on_delete=models.SET_NULL, null=True, related_name="+")
    has_dataset = models.BooleanField(default=True)
    settings = models.JSONField(default=dict)
    space = models.JSONField()
    metric = models.CharField(max_length=250)
    direction = models.CharField(max_length=8, choices=Direction)
    algorithm = models.CharField(max_length=8, choices=[(a.value, a.value) for a in Algorithm])
    rungs = models.JSONField()
    unit = models.CharField(max_length=6, choices=Unit, default=Unit.EPOCHS)
    eta = models.PositiveSmallIntegerField(default=3)
    seed = models.PositiveIntegerField(default=0)
    max_parallel = models.PositiveSmallIntegerField()
    max_trials = models.PositiveSmallIntegerField()
    max_epochs = models.PositiveIntegerField(null=True, blank=True)
    max_gpu_hours = models.FloatField(null=True, blank=True)

    state = models.CharField(
        max_length=10, choices=[(s.value, s.value) for s in StudyState], default=StudyState.RUNNING
    )
    reason = models.TextField(blank=True)
    problem = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "studies"
        indexes = [models.Index(fields=["state"]), models.Index(fields=["project", "-id"])]

    def __str__(self) -> str:
        return self.name

    @property
    def is_bereft(self) -> bool:
        """Whether its dataset or its model was deleted."""
        return self.model_version_id is None or (self.has_dataset and self.dataset_version_id is None)


class Trial(models.Model):
    """rung: that its job has reached or is trained to. results: {epochs, step, value} of each rung that it reached, and
    {at, study_gpu_s}: when it was reported, and what all trials of the study had used when it was recorded.

    job_id is no foreign key: the trial outlives its job. epochs, gpu_s: what the job has used, as of the last advance;
    epochs are of the study's unit.
    is_settled: nothing has to be done about its job until the study promotes, pauses, resumes or ends.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="trials", db_index=False)
    number = models.PositiveIntegerField()
    parameters = models.JSONField()
    status = models.CharField(
        max_length=10, choices=[(s.value, s.value) for s in TrialStatus], default=TrialStatus.RUNNING
    )
    rung = models.PositiveSmallIntegerField(default=0)
    results = models.JSONField(default=list)
    job_id = models.UUIDField(null=True, blank=True, unique=True)
    epochs = models.FloatField(default=0)
    gpu_s = models.FloatField(default=0)
    code = models.CharField(max_length=40, blank=True)  # why it failed or was stopped, for programs
    message = models.TextField(blank=True)  # and for people
    is_settled = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TrialQuerySet.as_manager()

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="trial_number_in_study")]
        indexes = [models.Index(fields=["study"], condition=models.Q(is_settled=False), name="unsettled_trials")]
