# SPDX-License-Identifier: Apache-2.0
"""A run with its parameters, tags, datasets, artifacts and curves, and models that were logged, as MLflow's clients
know them."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.jobs.models import Job
from mlhub.storage.models import Blob
from mlhub.tenants.models import Project, User
from mlhub.tracking.querysets import (
    LoggedModelFileQuerySet,
    LoggedModelQuerySet,
    RunPartQuerySet,
    RunPointQuerySet,
    RunQuerySet,
)


class RunStatus(models.TextChoices):
    """MLflow's words. A job's run has the one that follows from the job's state."""

    RUNNING = "RUNNING"
    SCHEDULED = "SCHEDULED"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"


class Run(models.Model):
    """What a program logs. job: of a job's own run, which has the job's id; None of runs from elsewhere.

    A job's own run has only what was logged beyond the job itself: parameters, tags and datasets. Its curves and
    artifacts are the job's. parent_job: the job in whose pods the run was started. Times: milliseconds since the epoch.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="runs", db_index=False)
    job = models.OneToOneField(Job, on_delete=models.CASCADE, null=True, related_name="tracked_run")
    parent_job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="started_runs")
    name = models.CharField(max_length=250)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=9, choices=RunStatus, default=RunStatus.RUNNING)
    started_ms = models.BigIntegerField()
    ended_ms = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True)  # by a client of MLflow, which may restore it

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["project", "-id"], name="runs_of_project")]

    def __str__(self) -> str:
        return self.name


class RunParam(models.Model):
    """A parameter; its value never changes, but by a later attempt of a job, which logs all of its own anew."""

    pk = models.CompositePrimaryKey("run_id", "key")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="params", db_index=False)
    key = models.CharField(max_length=250)
    value = models.TextField()
    attempt_number = models.PositiveIntegerField(default=0)  # of a job's own run: the attempt that logged it

    objects = RunPartQuerySet.as_manager()


class RunTag(models.Model):
    pk = models.CompositePrimaryKey("run_id", "key")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tags", db_index=False)
    key = models.CharField(max_length=250)
    value = models.TextField()

    objects = RunPartQuerySet.as_manager()


class RunDataset(models.Model):
    """A dataset that a run names as its input; MLflow's own description of it."""

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="datasets", db_index=False)
    name = models.CharField(max_length=500)
    digest = models.CharField(max_length=36)
    description = models.JSONField(default=dict)  # source_type, source, schema, profile
    tags = models.JSONField(default=dict)

    objects = RunPartQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name", "digest"], name="dataset_of_run")]


class RunSeries(models.Model):
    """One metric of a run; its newest point is the one with the highest step, then time, then value."""

    id = models.AutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="series", db_index=False)
    key = models.CharField(max_length=250)
    n_points = models.PositiveBigIntegerField(default=0)
    last_step = models.BigIntegerField(default=0)
    last_ms = models.BigIntegerField(default=0)
    last_value = models.FloatField(default=0.0)

    objects = RunPartQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="series_of_run")]


class RunPoint(models.Model):
    """A point is known by all that it is: clients repeat a request without saying so."""

    pk = models.CompositePrimaryKey("series_id", "step", "at_ms", "value")
    # without a constraint, whose check of each point at a commit took longer than storing it: a point is written and a
    # run removed with the run's row locked
    series = models.ForeignKey(
        RunSeries, on_delete=models.CASCADE, related_name="points", db_constraint=False, db_index=False
    )
    step = models.BigIntegerField()
    at_ms = models.BigIntegerField()
    value = models.FloatField()

    objects = RunPointQuerySet.as_manager()


class RunArtifact(models.Model):
    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="artifacts", db_index=False)
    path = models.CharField(max_length=500)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now=True)

    objects = RunPartQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "path"], name="artifact_of_run")]


class LoggedStatus(models.TextChoices):
    """MLflow's words."""

    PENDING = "LOGGED_MODEL_PENDING"
    READY = "LOGGED_MODEL_READY"
    UPLOAD_FAILED = "LOGGED_MODEL_UPLOAD_FAILED"


class LoggedModel(models.Model):
    """A model's files in a project, as clients of MLflow 3 log them; a version of the registry is made of it.

    run: that it was logged in; it outlives it. parent_job: the job whose pods logged it. params, tags: {key: value}.
    metrics: {key: {value, timestamp, step, run_id}}, the newest that was logged about it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="logged_models", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="logged_models")
    parent_job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=250)
    model_type = models.CharField(max_length=250, blank=True)
    status = models.CharField(max_length=26, choices=LoggedStatus, default=LoggedStatus.PENDING)
    params = models.JSONField(default=dict)
    tags = models.JSONField(default=dict)
    metrics = models.JSONField(default=dict)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = LoggedModelQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["project", "-id"], name="logged_models_of_project")]

    def __str__(self) -> str:
        return self.name


class LoggedModelFile(models.Model):
    id = models.BigAutoField(primary_key=True)
    logged_model = models.ForeignKey(LoggedModel, on_delete=models.CASCADE, related_name="files", db_index=False)
    path = models.CharField(max_length=500)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")

    objects = LoggedModelFileQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["logged_model", "path"], name="file_of_logged_model")]


class RunModel(models.Model):
    """That a run has a logged model as an input or an output."""

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="models", db_index=False)
    logged_model = models.ForeignKey(LoggedModel, on_delete=models.CASCADE, related_name="uses")
    is_output = models.BooleanField()
    step = models.BigIntegerField(default=0)

    objects = RunPartQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "logged_model", "is_output"], name="model_of_run")]


class ExperimentTags(models.Model):
    """What MLflow's clients write on an experiment: {key: value} of the project."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="experiment_tags")
    values = models.JSONField(default=dict)

    objects = RunQuerySet.as_manager()
