# SPDX-License-Identifier: Apache-2.0
"""Points, lines and speeds that pods reported. `seq` numbers a job's rows as they were stored: the live cursor."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.jobs.models import Artifact, Attempt, Job
from mlhub.metrics.log_errors import HOLDS_ERROR
from mlhub.tenants.models import User
from mlhub.wire.profiles import MAX_TEXT, WORKER


class StreamCursor(models.Model):
    """The last seq given out for a job. Locked while a batch is stored, so seq rises in commit order.

    It also counts what the job has stored, and what was dropped by which limit (jobs/limits/ingest_limits.py).
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="stream_cursor")
    last_seq = models.PositiveBigIntegerField(default=0)
    n_points = models.PositiveBigIntegerField(default=0)
    n_log_bytes = models.PositiveBigIntegerField(default=0)
    log_lines_left = models.FloatField(default=0.0)  # that the job might have written at once at log_lines_at
    log_lines_at = models.DateTimeField(null=True)
    dropped = models.JSONField(default=dict)  # lines or points by the limit that they were over

    def count_dropped(self, limit: str, n: int) -> None:
        self.dropped[str(limit)] = self.dropped.get(limit, 0) + n


class PodStream(models.Model):
    """How far one stream of one pod has been stored: `next` is the line number wanted next."""

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="streams", db_index=False)
    role = models.CharField(max_length=10)
    index = models.PositiveIntegerField()
    stream = models.CharField(max_length=10)  # reports | log
    next = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "role", "index", "stream"], name="pod_stream")]


class Series(models.Model):
    """One metric of one attempt; points refer to it by a small integer."""

    id = models.AutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="series")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="series", db_index=False)
    key = models.CharField(max_length=250)
    n_points = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "key"], name="series_key")]


class MetricPoint(models.Model):
    pk = models.CompositePrimaryKey("series_id", "step")
    # no constraint, here and below: rows of what was deleted are removed in pieces (detached.py)
    series = models.ForeignKey(
        Series, on_delete=models.DO_NOTHING, db_constraint=False, related_name="points", db_index=False
    )
    step = models.BigIntegerField()
    epoch = models.FloatField()
    value = models.FloatField()
    at = models.DateTimeField()
    seq = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["series", "seq"])]


class LogLine(models.Model):
    pk = models.CompositePrimaryKey("attempt_id", "role", "index", "number")
    attempt = models.ForeignKey(
        Attempt, on_delete=models.DO_NOTHING, db_constraint=False, related_name="log_lines", db_index=False
    )
    role = models.CharField(max_length=10)
    index = models.PositiveIntegerField()
    number = models.BigIntegerField()
    text = models.TextField()
    at = models.DateTimeField(null=True)  # when it was stored; null: before this column was there
    seq = models.BigIntegerField()
    n_dropped = models.PositiveIntegerField(default=0)  # of a mark in place of lines that were dropped

    class Meta:
        indexes = [
            models.Index(fields=["attempt", "seq"]),
            models.Index(
                fields=["attempt", "seq"],
                condition=HOLDS_ERROR,
                name="log_line_error",
            ),
        ]


class SpeedSample(models.Model):
    """What an attempt measured of itself: a mean step time on a real allocation, for the scheduler's speed model, and
    the newest of everything else. family: see jobs/execution/families.py."""

    id = models.BigAutoField(primary_key=True)
    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="speed_sample")
    family = models.CharField(max_length=80, db_index=True)
    mode = models.CharField(max_length=20)
    n_workers = models.PositiveIntegerField()
    n_servers = models.PositiveIntegerField()
    n_nodes = models.PositiveIntegerField()
    n_racks = models.PositiveIntegerField()
    gpu_type = models.CharField(max_length=100)
    batch_size = models.PositiveIntegerField()
    step_s = models.FloatField()
    compute_s = models.FloatField()
    sync_s = models.FloatField()
    input_s = models.FloatField()
    wait_s = models.FloatField(default=0.0)  # of sync_s
    n_steps = models.PositiveBigIntegerField()
    updated_at = models.DateTimeField()
    measured = models.JSONField(default=dict)  # the newest values, by the names of wire/measurements.py
    # never alone so far: other gangs used its nodes or links, too
    is_shared = models.BooleanField(default=False, db_default=False)
    # on GPUs that another job held, too; not in n_steps
    n_colocated_steps = models.PositiveBigIntegerField(default=0, db_default=0)
    colocated_with = models.CharField(max_length=500, blank=True, default="", db_default="")  # of the newest report
    # of batches that the attempt changed to: {"256": {"n_steps": 40, "step_s": 0.2, ..., "gpu_memory_bytes": 4e9}}
    by_batch = models.JSONField(default=dict, db_default={})
    # [[step, noise scale], ...], ascending, at most MAX_NOISE_POINTS
    noise_curve = models.JSONField(default=list, db_default=[])


class SharedResource(models.TextChoices):
    """What two gangs have in common, the tightest first."""

    GPU = "gpu"
    NIC = "nic"
    NODE = "node"  # its CPUs, memory bandwidth and disk
    UPLINK = "uplink"


class PairSample(models.Model):
    """How fast an attempt's steps were while exactly one other gang used the same resource.

    step_s: mean of the reports there; variance: of these. alone_s: the same attempt's step without others on that
    resource, or its family's on the same layout; slowdown: step_s / alone_s; None while alone_s is not known.
    """

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="pair_samples", db_index=False)
    family = models.CharField(max_length=80)
    other_family = models.CharField(max_length=80)
    resource = models.CharField(max_length=8, choices=SharedResource)
    gpu_type = models.CharField(max_length=100)
    step_s = models.FloatField()
    variance = models.FloatField(default=0.0)
    alone_s = models.FloatField(null=True)
    slowdown = models.FloatField(null=True)
    n_steps = models.PositiveBigIntegerField()
    n_reports = models.PositiveIntegerField()
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["family", "other_family"])]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "other_family", "resource"], name="pair_sample_of_attempt")
        ]


class RefusedMeasurement(models.Model):
    """A value that a pod reported and that cannot be true: nothing is learnt from it. n: how often it came."""

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="refused_measurements", db_index=False)
    field = models.CharField(max_length=60)
    value = models.FloatField()
    reason = models.CharField(max_length=300)
    n = models.PositiveIntegerField(default=1)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "field"], name="refused_measurement_of_attempt")]


class WorkerSteps(models.Model):
    """Of what the newest steps of one worker of a gang were made, as it reported: means in seconds a step.

    wait_s is a part of sync_s. step: how many were done; n_steps: over how many the means go.
    """

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="worker_steps", db_index=False)
    worker = models.PositiveIntegerField()
    step = models.PositiveBigIntegerField()
    n_steps = models.PositiveBigIntegerField()
    step_s = models.FloatField()
    input_s = models.FloatField()
    compute_s = models.FloatField()
    sync_s = models.FloatField()
    wait_s = models.FloatField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "worker"], name="steps_of_worker")]


class Staleness(models.Model):
    """How old pushes were when one shard of an attempt used them; counts as in mlhub/wire/report.py."""

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="staleness", db_index=False)
    shard = models.PositiveIntegerField()
    counts = models.JSONField(default=list)
    n_discarded = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "shard"], name="staleness_of_shard")]


class UsageSample(models.Model):
    """What a pod used of its machine in one interval: a line of its stream "usage" (mlhub/wire/resource_usage.py)."""

    pk = models.CompositePrimaryKey("attempt_id", "role", "index", "number")
    attempt = models.ForeignKey(
        Attempt, on_delete=models.DO_NOTHING, db_constraint=False, related_name="usage_samples", db_index=False
    )
    role = models.CharField(max_length=10)
    index = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    at = models.DateTimeField()  # the interval's end
    interval_s = models.FloatField()
    values = models.JSONField()  # by the names of RESOURCES


class GpuBusyTime(models.Model):
    """For how many seconds a worker's samples say how busy its GPU was, and these seconds weighted by it.

    Added up as samples come, so that no report reads the samples, and it outlives them.
    """

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="gpu_busy_times", db_index=False)
    worker = models.PositiveIntegerField()
    measured_s = models.FloatField()
    busy_s = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "worker"], name="gpu_busy_time_of_worker")]


class DetachedKind(models.TextChoices):
    POINTS = "points"
    LINES = "lines"
    USAGE = "usage"


class DetachedRows(models.Model):
    """A series or an attempt was deleted whose points, lines or samples may be there yet; written by triggers alone."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=6, choices=DetachedKind)
    series_id = models.BigIntegerField(null=True)  # of points
    attempt_id = models.UUIDField(null=True)  # of lines and usage


class StallRecord(models.Model):
    """A worker that has made no step for a while, as its launcher reported; deleted when it moves again."""

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="stall_records", db_index=False)
    worker = models.PositiveIntegerField()
    step = models.PositiveBigIntegerField()
    doing = models.CharField(max_length=10)  # input | compute | sync (it waits for others) | start
    since = models.DateTimeField()
    reported_at = models.DateTimeField()  # lately: reported again every minute

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "worker"], name="stall_record_of_worker")]


class RecordingState(models.TextChoices):
    """Where a recording of torch's profiler, or the trace of one rank of it, stands."""

    WAITING = "waiting"
    RECORDING = "recording"
    DONE = "done"
    FAILED = "failed"


class ProfileRecording(models.Model):
    """A request to record torch's profiler on some ranks of an attempt, and how it ended.

    reason: why there is no trace at all. expires_at: when it fails if its workers have not answered.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="profile_recordings")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="profile_recordings")
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    steps = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=RecordingState, default=RecordingState.WAITING)
    reason = models.CharField(max_length=MAX_TEXT, blank=True)
    requested_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["job"], condition=models.Q(ended_at=None), name="one_open_recording_per_job"
            )
        ]
        indexes = [models.Index(fields=["ended_at"], name="profile_recordings_by_age")]


class ProfileTrace(models.Model):
    """What one pod recorded, a worker by its rank or a parameter server by its index: a summary
    (mlhub/wire/profiles.py), and the trace as an artifact of the attempt.
    """

    id = models.BigAutoField(primary_key=True)
    recording = models.ForeignKey(ProfileRecording, on_delete=models.CASCADE, related_name="traces", db_index=False)
    role = models.CharField(max_length=10, default=WORKER, db_default=WORKER)
    rank = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=RecordingState, default=RecordingState.WAITING)
    reason = models.CharField(max_length=MAX_TEXT, blank=True)
    note = models.CharField(max_length=MAX_TEXT, blank=True)
    first_step = models.PositiveBigIntegerField(null=True, blank=True)  # the first recorded step comes after so many
    n_steps = models.PositiveIntegerField(default=0)
    summary = models.JSONField(default=dict)
    artifact = models.ForeignKey(Artifact, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["recording", "role", "rank"], name="profile_trace_of_pod")]
