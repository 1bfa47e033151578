# SPDX-License-Identifier: Apache-2.0
"""A job (a request to train) and its attempts (one incarnation each), with the GPUs that an attempt holds."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.contrib.postgres.indexes import GinIndex
from django.db import models

from mlhub.core.ids import new_id
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.querysets import ArtifactQuerySet, AttemptQuerySet, FurtherDatasetQuerySet, JobQuerySet
from mlhub.jobs.states import Intent, JobState
from mlhub.registry.models import ModelVersion
from mlhub.storage.models import Blob
from mlhub.tenants.models import Organisation, Project, User
from mlhub.tenants.querysets import ProjectOwnedQuerySet, TenantOwnedQuerySet


class ModeChoice(models.TextChoices):
    """What the user may pin; auto lets MLHub choose."""

    AUTO = "auto"
    ALL_REDUCE = "all_reduce"
    PARAMETER_SERVER = "parameter_server"


class JobKind(models.TextChoices):
    """What a job does. predict and evaluate ask a trained model; a notebook is for people to work in."""

    TRAIN = "train"
    PREDICT = "predict"
    EVALUATE = "evaluate"
    NOTEBOOK = "notebook"


class Preflight(models.TextChoices):
    """The dry run of model and data that Celery makes before a job may be scheduled."""

    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"


# what the scheduler predicts of a job that has not ended
PREDICTIONS = ("predicted_start_at", "predicted_start_p90_at", "predicted_finish_at", "predicted_finish_p90_at")


class Job(models.Model):
    """state is written by lifecycle.py alone, intent by the API, progress by ingest, explanations by control."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="jobs", db_index=False)
    name = models.CharField(max_length=100)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    cloned_from = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="clones")

    # what the user asked for
    kind = models.CharField(max_length=8, choices=JobKind, default=JobKind.TRAIN)
    prediction = models.JSONField(default=dict)  # of other kinds: features, output, examples, combine
    # null: of a script that reads none
    dataset_version = models.ForeignKey(
        DatasetVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="jobs"
    )
    # what a script reads besides: {name: {dataset, version, number, files}}; rows of FurtherDataset protect them
    datasets = models.JSONField(default=dict, db_default={})
    model_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="jobs")
    epochs = models.PositiveIntegerField()
    batch_size = models.PositiveIntegerField()
    hyperparameters = models.JSONField(default=dict)
    seed = models.IntegerField(default=0)
    mode = models.CharField(max_length=20, choices=ModeChoice, default=ModeChoice.AUTO)
    strategy = models.JSONField(default=dict)  # how workers keep in step; {} = MLHub's choice
    min_workers = models.PositiveIntegerField(default=1)
    max_workers = models.PositiveIntegerField(default=64)
    priority = models.SmallIntegerField(default=0)
    resources = models.JSONField(
        default=dict
    )  # what pods get, where the user asked for it: cpus, memory_gib, n_servers, ...
    limits = models.JSONField(default=dict)  # when the platform ends the job: stall_s
    environment = models.JSONField(default=dict, db_default={})  # environment variables of its pods, by name
    # names of the project's secrets that its pods get as variables
    secrets = models.JSONField(default=list, db_default=[])
    # of its workers' containers; "": the platform's
    image = models.CharField(max_length=512, blank=True, default="", db_default="")
    target_metric = models.CharField(max_length=100, blank=True)
    target_value = models.FloatField(null=True, blank=True)

    # what people write on it; annotations.py
    tags = models.JSONField(default=list, db_default=[])
    notes = models.TextField(blank=True, default="", db_default="")

    # where it stands
    state = models.CharField(max_length=12, choices=[(s.value, s.value) for s in JobState], default=JobState.QUEUED)
    version = models.PositiveIntegerField(default=1)
    intent = models.CharField(max_length=8, choices=[(i.value, i.value) for i in Intent], default=Intent.RUN)
    reason = models.CharField(max_length=40, blank=True)  # code of the last transition or decision
    explanations = models.JSONField(default=list)  # [{reason, sentence, facts}], the newest round's
    preflight = models.CharField(max_length=8, choices=Preflight, default=Preflight.PENDING)
    profile = models.JSONField(default=dict)  # what preflight measured: parameters_bytes, example_s, steps_total ...
    # of validations.py; "" = not worked out yet
    validation_key = models.CharField(max_length=64, blank=True, default="", db_default="")
    validation = models.ForeignKey(
        "PassedValidation", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    not_before = models.DateTimeField(null=True, blank=True)  # back-off after a failure of the platform
    n_platform_failures = models.PositiveIntegerField(default=0)
    failure = models.JSONField(null=True, blank=True)  # {cause, fault, message, remedy, traceback}

    # marks of startup.py up to the launch: seconds since the epoch, by name
    startup = models.JSONField(default=dict, db_default={})

    # how far it is
    steps_done = models.PositiveBigIntegerField(default=0)
    steps_total = models.PositiveBigIntegerField(default=0)
    epoch = models.FloatField(default=0)
    progress_at = models.DateTimeField(null=True, blank=True)
    step_s = models.FloatField(null=True, blank=True)
    # GPU-seconds that its ended attempts held; a shared GPU counts whole
    gpu_s = models.FloatField(default=0, db_default=0)
    result_metrics = models.JSONField(default=dict)
    result_version = models.ForeignKey(ModelVersion, on_delete=models.SET_NULL, null=True, related_name="+")

    # when
    submitted_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)  # first attempt's training
    finished_at = models.DateTimeField(null=True, blank=True)
    predicted_start_at = models.DateTimeField(null=True, blank=True)  # P50
    predicted_start_p90_at = models.DateTimeField(null=True, blank=True)
    predicted_finish_at = models.DateTimeField(null=True, blank=True)  # P50
    predicted_finish_p90_at = models.DateTimeField(null=True, blank=True)
    first_predicted_finish_at = models.DateTimeField(null=True, blank=True)  # stored, to be compared with the truth

    objects = JobQuerySet.as_manager()

    is_as_stored = False  # of this object: it was just submitted, and nothing was changed or added to it since

    @property
    def further(self) -> list[dict[str, Any]]:
        """The further datasets of its script: [{name, dataset: {id, name}, version, number, files}]."""
        return [{"name": name, **one} for name, one in self.datasets.items()]

    class Meta:
        indexes = [
            models.Index(fields=["state"]),
            models.Index(fields=["started_at"], name="jobs_by_start", condition=models.Q(started_at__isnull=False)),
            models.Index(fields=["project", "-id"]),
            models.Index(fields=["created_by", "-id"], name="jobs_of_owner"),
            # namesakes of other organisations are passed over without a look at their rows
            models.Index(fields=["name", "project", "-id"], name="jobs_of_name"),
            GinIndex(fields=["tags"], name="job_tags"),
            models.Index(
                fields=["validation_key"], condition=models.Q(preflight=Preflight.PENDING), name="jobs_to_validate"
            ),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(epochs__gte=1), name="job_epochs_positive"),
            models.CheckConstraint(condition=models.Q(batch_size__gte=1), name="job_batch_size_positive"),
            models.CheckConstraint(
                condition=models.Q(kind__in=[JobKind.TRAIN, JobKind.NOTEBOOK])
                | models.Q(dataset_version__isnull=False),
                name="job_without_dataset",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class FurtherDataset(models.Model):
    """A dataset version that a script reads besides its own, under a name; it is not deleted while the job is there."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="further_datasets", db_index=False)
    name = models.CharField(max_length=40)
    dataset_version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="further_jobs")

    objects = FurtherDatasetQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="further_dataset_name")]


class PassedValidation(models.Model):
    """A dry run that passed: the evidence by which jobs of the same content and settings need none of their own."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64)  # of validations.py
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, related_name="+")  # whose dry run it was
    profile = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now=True)

    objects = TenantOwnedQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "key"], name="one_validation_per_key")]
        indexes = [models.Index(fields=["at"])]


class AttemptPlacement(NamedTuple):
    """workers: node and GPU of each rank. servers: the node of each shard."""

    workers: list[tuple[str, int]]
    servers: list[str]


class Attempt(models.Model):
    """One incarnation of a job. Its id is idempotency key and fencing token everywhere below."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    number = models.PositiveIntegerField()
    mode = models.CharField(max_length=20)
    n_workers = models.PositiveIntegerField()
    n_servers = models.PositiveIntegerField(default=0)
    token_hash = models.CharField(max_length=64)
    predicted_step_s = models.FloatField(null=True, blank=True)
    measured_step_s = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)  # all pods run
    training_at = models.DateTimeField(null=True, blank=True)  # first step
    # marks of startup.py in its pods: seconds since the epoch, by name
    startup = models.JSONField(default=dict, db_default={})
    # by node: {inputs_bytes, fetched_bytes, fetch_s}, what its pods found in its cache and what they fetched
    inputs = models.JSONField(default=dict, db_default={})
    stop_asked_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    is_fenced = models.BooleanField(default=False)  # nothing it reports counts any more
    outcome = models.CharField(max_length=12, blank=True)  # succeeded | preempted | failed | stopped
    cause = models.CharField(max_length=30, blank=True)
    message = models.TextField(blank=True)
    traceback = models.TextField(blank=True)
    first_step = models.PositiveBigIntegerField(default=0)  # where it resumed
    last_step = models.PositiveBigIntegerField(default=0)
    result_metadata = models.JSONField(default=dict)  # of trained weights, as the pod wrote it
    # the newest BatchDecision (mlhub/wire/launch.py) on a job whose batch may change; {} where it is fixed
    batch_decision = models.JSONField(default=dict, db_default={})
    batch_size = models.PositiveIntegerField(null=True, blank=True)  # that its trainer uses; null: the job's
    # the ProfileRequest (mlhub/wire/profiles.py) that its workers have not answered yet; {} where there is none
    profile_request = models.JSONField(default=dict, db_default={})

    objects = AttemptQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="attempt_number"),
            models.UniqueConstraint(fields=["job"], condition=models.Q(ended_at=None), name="one_live_attempt_per_job"),
        ]

    def placement(self) -> AttemptPlacement:
        """Ranks and shards are numbered along the allocations, so that neighbours in the ring share a node."""
        held = sorted(self.allocations.all(), key=lambda allocation: allocation.id)
        return AttemptPlacement(
            workers=[(allocation.node, slot) for allocation in held for slot in allocation.slots],
            servers=[allocation.node for allocation in held for _ in range(allocation.n_servers)],
        )


class NotebookActivity(models.Model):
    """When something was last done in the notebook of an attempt, as its pod reports every few seconds."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, primary_key=True, related_name="notebook")
    active_at = models.DateTimeField()
    reported_at = models.DateTimeField()
    warned_at = models.DateTimeField(null=True, blank=True)  # of the present idle time
    reclaimed_at = models.DateTimeField(null=True, blank=True)


class Allocation(models.Model):
    """What an attempt holds on one node, until released_at. Slots are GPU indices."""

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="allocations")
    node = models.CharField(max_length=100)
    slots = models.JSONField(default=list)
    n_servers = models.PositiveIntegerField(default=0)
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["released_at"])]


BEST = "best-"  # begins the names of weights that are kept for being among the best


class Checkpoint(models.Model):
    """A complete checkpoint under the job's folder, as its pods reported it; newer ones may have replaced its files."""

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="checkpoints", db_index=False)
    step = models.PositiveBigIntegerField()
    name = models.CharField(max_length=200)
    size_bytes = models.PositiveBigIntegerField()
    write_s = models.FloatField()
    stall_s = models.FloatField()
    at = models.DateTimeField()
    # of its evaluation, where it is kept for being among the best
    metrics = models.JSONField(default=dict, db_default={})
    is_pinned = models.BooleanField(default=False, db_default=False)  # the mark in its folder is what trainings go by

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "name"], name="checkpoint_name")]


RESULTS = ("predictions.parquet", "predictions.npz")  # artifacts that people download from the job


class Artifact(models.Model):
    """A file that an attempt uploaded: the trained weights and their metadata, or a job's predictions."""

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="artifacts", db_index=False)
    name = models.CharField(max_length=200)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    objects = ArtifactQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "name"], name="artifact_name")]


class Submission(models.Model):
    """An Idempotency-Key that was used: the same key and body give the same job; another body is refused."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="submissions", db_index=False)
    key = models.CharField(max_length=255)
    body_sha256 = models.CharField(max_length=64)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_per_user")]


class DeletedJob(models.Model):
    """A deleted job: distinguishes its checkpoints from those of jobs that a restored database does not know."""

    id = models.UUIDField(primary_key=True)  # the job's
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    deleted_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectOwnedQuerySet.as_manager()


class RemovedPart(models.Model):
    """What retention removed of a job. before: all of that kind that ended, or happened, before this time."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="removed_parts", db_index=False)
    kind = models.CharField(max_length=12)  # logs | metrics | events | results
    before = models.DateTimeField()
    kept_days = models.FloatField()
    n_removed = models.PositiveBigIntegerField(default=0)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "kind"], name="removed_part_of_job")]


class ProjectRetention(models.Model):
    """How many days a project keeps what its jobs leave, by kind, where it differs from the installation; 0 = for good.

    version guards concurrent edits. Kinds as in retention_rules.py.
    """

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="retention")
    days = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ProjectOwnedQuerySet.as_manager()


class OrganisationRetention(models.Model):
    """Bounds and defaults of retention for all projects of an organisation: {kind: {least_days, most_days,
    default_days}}, each only where it is given.

    version guards concurrent edits. Kinds as in retention_rules.py.
    """

    organisation = models.OneToOneField(
        Organisation, on_delete=models.CASCADE, primary_key=True, related_name="retention"
    )
    rules = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(auto_now=True)

    objects = TenantOwnedQuerySet.as_manager()
