"""Rounds, as they were decided, and the scheduler's settings, as administrators left them."""

from __future__ import annotations

from django.db import models


class SchedulerSettings(models.Model):
    """One row. A change takes effect in the next round."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    policy = models.CharField(max_length=50, default="mlhub")
    parameters = models.JSONField(default=dict)
    memory = models.JSONField(default=dict)  # the policy's memory between rounds
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
    error = models.TextField(blank=True)
