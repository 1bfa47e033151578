# SPDX-License-Identifier: Apache-2.0
"""UsageEntry: what an attempt held on one node, from its launch to its release."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from mlhub.usage.querysets import UsageEntryQuerySet


class UsageEntry(models.Model):
    """One row of the ledger. The database refuses to change or to delete rows (migration 0002).

    It has ids and names as they were, and no foreign keys: the bill outlives the job, the project and the person.
    gpu_s: GPU-seconds held; the time of a GPU is divided equally among the attempts that hold it at that time, so that
    the entries add up to what GPUs were held. startup_gpu_s: of it, before the attempt's first step. lost_gpu_s: of it,
    after the last checkpoint of an attempt that was preempted or failed, so that the work was done again or never.
    measured_gpu_s: of it, for which workers measured how busy their GPUs were; busy_gpu_s: that weighted by how busy.
    slots: indices of the GPUs on the node. teams_above: the teams that the team was a part of, the nearest first.
    """

    id = models.BigAutoField(primary_key=True)
    allocation_id = models.BigIntegerField(unique=True)
    attempt_id = models.UUIDField()
    attempt_number = models.PositiveIntegerField()
    outcome = models.CharField(max_length=12)  # of the attempt
    job_id = models.UUIDField()
    job = models.CharField(max_length=200)
    user_id = models.UUIDField()
    user = models.CharField(max_length=150)
    project_id = models.UUIDField()
    project = models.CharField(max_length=100)
    team_id = models.UUIDField(null=True)
    team = models.CharField(max_length=100)
    teams_above = ArrayField(models.UUIDField(), default=list, db_default=models.Value([]))
    organisation_id = models.UUIDField()
    organisation = models.CharField(max_length=100)
    node = models.CharField(max_length=100)
    gpu_type = models.CharField(max_length=100)
    slots = models.JSONField(default=list)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    gpu_s = models.FloatField()
    startup_gpu_s = models.FloatField()
    lost_gpu_s = models.FloatField()
    measured_gpu_s = models.FloatField(default=0.0, db_default=0.0)
    busy_gpu_s = models.FloatField(default=0.0, db_default=0.0)

    objects = UsageEntryQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(ended_at__gte=models.F("began_at")), name="usage_order")
        ]
        indexes = [
            models.Index(fields=["organisation_id", "ended_at"]),
            models.Index(fields=["node", "ended_at"]),
            models.Index(fields=["ended_at"]),
        ]


class LedgerCheck(models.Model):
    """The newest comparison of the ledger with the attempts, in one row. failing_since: None while they agree.

    allocations: ids of some that disagree.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    at = models.DateTimeField()
    failing_since = models.DateTimeField(null=True, blank=True)
    allocations = models.JSONField(default=list)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_check_of_the_ledger")]
