# SPDX-License-Identifier: Apache-2.0
"""Rounds, the decisions on each job, the scheduler's settings and state, and forecasts to hold against the truth."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.db import models

from mlhub.backends.protocol import ItemKind
from mlhub.control.querysets import JobOwnedQuerySet
from mlhub.core.ids import new_id
from mlhub.jobs.models import Attempt, Job
from mlhub.tenants.models import Organisation, Project, Team, User
from mlhub.tenants.querysets import OfOwnerQuerySet


class SchedulerSettings(models.Model):
    """One row, an administrator's. A change takes effect in the next round. shadow_policy: "" = none.

    budget_s: how long a policy may take for a round. shares_fairly, half_life_s: how organisations share what none of
    them is guaranteed, as QuotaRules does for their parts.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    policy = models.CharField(max_length=50, default="mlhub")
    parameters = models.JSONField(default=dict)
    budget_s = models.FloatField(default=10.0)
    shadow_policy = models.CharField(max_length=50, blank=True, default="")
    shadow_parameters = models.JSONField(default=dict)
    shares_fairly = models.BooleanField(default=False)
    half_life_s = models.FloatField(default=0.0)
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(auto_now=True)


class SchedulerState(models.Model):
    """One row, the loop's: how it goes. failure: {at, policy, kind, message, round}, the newest one.

    fallback_since: since when the fallback policy decides, because the chosen policy failed again and again.
    order: waiting jobs, the one that gets the next GPUs first. backend_away_since: None = it can be reached.
    attempted_at: when the newest round began; round_at: when the newest one began that was finished. error: why the
    newest attempt was not finished; "" = it was. stopped_since: since when no round was finished, once that was
    published as an event.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    round_at = models.DateTimeField(null=True)
    round_ms = models.FloatField(default=0)
    decide_ms = models.FloatField(default=0)
    n_failures = models.PositiveIntegerField(default=0)  # in a row
    failure = models.JSONField(null=True)
    settings_version = models.PositiveIntegerField(default=0)  # that the failures are of
    fallback_since = models.DateTimeField(null=True)
    order = models.JSONField(default=list)
    backend_away_since = models.DateTimeField(null=True)
    backend_message = models.TextField(blank=True)
    attempted_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True, default="")
    stopped_since = models.DateTimeField(null=True)


class AdmissionPause(models.Model):
    """One row while admission of jobs is paused, none otherwise. until: None = until an administrator resumes it.

    version: the number of the event in the audit that made it so, by which two administrators notice each other.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    reason = models.CharField(max_length=200)
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    paused_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    version = models.PositiveBigIntegerField(default=1, db_default=1)


ITEM_KINDS = [(kind.value, kind.value) for kind in ItemKind]


class QuarantineRecord(models.Model):
    """An item that rounds left out because it could not be read or handled. ended_at: None = it still is.

    kind, name, reason: as in the backends' QuarantinedItem. job: where the item is a job, or an attempt or gang of one.
    """

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, choices=ITEM_KINDS)
    name = models.CharField(max_length=300)
    reason = models.TextField()
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, related_name="quarantine_records")
    since = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, db_index=True)

    objects = JobOwnedQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="quarantine_record_of_item")]


class NodeFailure(models.Model):
    """An attempt that ended by a cause that lies with a node, not with the job. Kept for some days.

    gpu: the index of the GPU that failed, where it is known. began_at: when the attempt was launched. is_judged:
    whether it was looked at if the node is to be excluded for it; a version without the column did so at once.
    """

    id = models.BigAutoField(primary_key=True)
    node = models.CharField(max_length=100)
    gpu = models.PositiveIntegerField(null=True)
    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="node_failure")
    cause = models.CharField(max_length=30)
    began_at = models.DateTimeField()
    at = models.DateTimeField()
    is_judged = models.BooleanField(default=False, db_default=True)

    class Meta:
        indexes = [
            models.Index(fields=["node", "at"], name="node_failure_of_node"),
            models.Index(fields=["at"], condition=models.Q(is_judged=False), name="node_failure_to_judge"),
        ]


class NodeExclusion(models.Model):
    """A node, or one GPU of it, that takes no new jobs until a time, because attempts failed there in a row.

    gpu: its index; None: the whole node. counted_from: failures before it do not count, since an administrator opened
    the node again then. n_times: how often in a row it was excluded, which doubles the time. cause: of the last
    failure; n_failures: of how many attempts; n_jobs: of how many jobs.
    """

    id = models.BigAutoField(primary_key=True)
    node = models.CharField(max_length=100)
    gpu = models.PositiveIntegerField(null=True)
    counted_from = models.DateTimeField(null=True)
    since = models.DateTimeField(null=True)
    until = models.DateTimeField(null=True)
    n_times = models.PositiveIntegerField(default=0)
    cause = models.CharField(max_length=30, blank=True, default="")
    n_failures = models.PositiveIntegerField(default=0)
    n_jobs = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node"], condition=models.Q(gpu=None), name="exclusion_of_node"),
            models.UniqueConstraint(fields=["node", "gpu"], name="exclusion_of_gpu"),
        ]


class SchedulerMemory(models.Model):
    """What one round hands to the next: a row for the policy in use, and one for the shadow policy.

    version: the form of value (scheduler.RoundMemory reads this form and the one before it).
    """

    class MemoryOwner(models.TextChoices):
        POLICY = "policy"
        SHADOW = "shadow"

    owner = models.CharField(primary_key=True, max_length=10, choices=MemoryOwner.choices)
    version = models.PositiveSmallIntegerField()
    value = models.JSONField(default=dict)
    updated_at = models.DateTimeField(auto_now=True)


class Round(models.Model):
    """One pass of decide: what it saw, answered, and how long it took. `python -m scheduler replay` re-decides it."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_index=True)
    policy = models.CharField(max_length=50)
    parameters = models.JSONField(default=dict)
    snapshot = models.JSONField()
    plan = models.JSONField(null=True)
    applied = models.JSONField(default=list)  # [{job, decision, outcome}]
    decide_ms = models.FloatField(default=0)
    round_ms = models.FloatField(default=0)  # from looking at the backend to the last change
    n_jobs = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        indexes = [GinIndex(fields=["applied"], name="round_applied", opclasses=["jsonb_path_ops"])]


DECISIONS = [(kind, kind) for kind in ("launch", "resize", "preempt", "keep", "wait")]


class JobDecision(models.Model):
    """A decision on a job that was another than the one before. round_id: where it was stored, if it was."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="decisions", db_index=False)
    at = models.DateTimeField()
    round_id = models.BigIntegerField(null=True)
    policy = models.CharField(max_length=50)
    decision = models.CharField(max_length=10)  # of DECISIONS
    explanations = models.JSONField(default=list)  # [{reason, sentence, facts}]
    mode = models.CharField(max_length=20, blank=True)
    n_workers = models.PositiveIntegerField(default=0)  # from then on
    n_servers = models.PositiveIntegerField(default=0)
    nodes = models.JSONField(default=list)
    predicted_start_at = models.DateTimeField(null=True)
    predicted_finish_at = models.DateTimeField(null=True)

    objects = JobOwnedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["job", "-id"])]


class ShadowDecision(models.Model):
    """What a second policy would have done in a round. differences: [{job, real, shadow}], the first ones only.

    mean_finish_s, real_mean_finish_s: mean predicted time to the end, over jobs for which both have a prediction.
    """

    round = models.OneToOneField(Round, on_delete=models.CASCADE, primary_key=True, related_name="shadow")
    policy = models.CharField(max_length=50)
    parameters = models.JSONField(default=dict)
    decide_ms = models.FloatField(default=0)
    n_jobs = models.PositiveIntegerField(default=0)
    n_different = models.PositiveIntegerField(default=0)
    differences = models.JSONField(default=list)
    mean_finish_s = models.FloatField(null=True)
    real_mean_finish_s = models.FloatField(null=True)
    error = models.TextField(blank=True)


class ForecastMoment(models.TextChoices):
    """When a forecast was made: by the first round that saw the job, or when it was first launched."""

    SUBMISSION = "submission"
    LAUNCH = "launch"


class Forecast(models.Model):
    """When a job was expected to start and to end, and when it did. outcome: the state it ended in.

    cause: the first reason for which it waited when the forecast was made; empty where it started at once.
    started_at: when it first got its GPUs.
    """

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="forecasts", db_index=False)
    moment = models.CharField(max_length=10, choices=ForecastMoment)
    made_at = models.DateTimeField()
    policy = models.CharField(max_length=50)
    cause = models.CharField(max_length=40, blank=True, default="", db_default="")
    start_at = models.DateTimeField(null=True)  # P50
    start_p90_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finish_at = models.DateTimeField()  # P50
    finish_p90_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True, db_index=True)
    outcome = models.CharField(max_length=12, blank=True)

    objects = JobOwnedQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "moment"], name="forecast_of_job_at_moment")]


class ReplayState(models.TextChoices):
    """Where a replay stands."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class PolicyReplay(models.Model):
    """A history or a trace that was simulated under several policies. For platform administrators.

    since, until: the period of the history; null of a trace. trace: its text. policies: [{name, parameters}], those
    that were asked for. progress: {policy, n_done, n_jobs} while it runs. result: figures; job_rows: of every job, for
    the export.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    name = models.CharField(max_length=100, blank=True)
    since = models.DateTimeField(null=True)
    until = models.DateTimeField(null=True)
    trace_name = models.CharField(max_length=200, blank=True)
    trace = models.TextField(blank=True)
    policies = models.JSONField(default=list)
    state = models.CharField(max_length=10, choices=ReplayState, default=ReplayState.QUEUED)
    progress = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    result = models.JSONField(null=True)
    job_rows = models.JSONField(default=list)
    cancel_asked_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["state", "id"], name="replays_by_state")]


class UserBudgetAlerts(models.Model):
    """The newest alert of each budget of GPU-hours that one user has of an organisation, or of its team or project.

    Kept by user, and not with the limits: these may be those of every user. budget_alerts: as a quota's.
    """

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+", db_index=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, related_name="+")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    budget_alerts = models.JSONField(default=dict)

    objects = OfOwnerQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "team", "project", "user"], nulls_distinct=False, name="one_row_of_user_alerts"
            )
        ]
