# SPDX-License-Identifier: Apache-2.0
"""Nodes and racks, as the backend last showed them (written by the control loop), and nodes that people closed."""

from __future__ import annotations

from django.db import models

from mlhub.clusters.querysets import NodeQuerySet
from mlhub.core.ids import new_id
from mlhub.tenants.models import Project, User


class Rack(models.Model):
    name = models.CharField(max_length=100, primary_key=True)
    uplink_bps = models.FloatField()


class Node(models.Model):
    name = models.CharField(max_length=100, primary_key=True)
    rack = models.ForeignKey(Rack, on_delete=models.CASCADE, related_name="nodes")
    gpu_type = models.CharField(max_length=100)
    n_slots = models.PositiveIntegerField()
    cpus = models.FloatField()
    memory_bytes = models.PositiveBigIntegerField()
    nic_bps = models.FloatField()
    is_ready = models.BooleanField(default=True)
    is_schedulable = models.BooleanField(default=True)
    message = models.TextField(blank=True)
    observed_at = models.DateTimeField()
    max_jobs_per_gpu = models.PositiveIntegerField(default=1)
    sharing = models.TextField(blank=True)
    gpu_memory_bytes = models.PositiveBigIntegerField(default=0, db_default=0)  # of one GPU; 0 = not known
    # [fields of mlhub.backends.protocol.GpuStatus]; empty: not known
    gpus = models.JSONField(default=list, db_default=[])
    has_own_cache = models.BooleanField(default=False, db_default=False)  # as in NodeStatus

    objects = NodeQuerySet.as_manager()


class CachedInput(models.Model):
    """A file that a node's cache holds for the pods of a project, as far as is known: what pods reported last.

    fetch_s: how long it took to fetch it, where it was fetched since it is known; null: it was found at once.
    """

    id = models.BigAutoField(primary_key=True)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="cached_inputs", db_index=False)  # see Meta
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    used_at = models.DateTimeField()
    fetch_s = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "project", "sha256"], name="cached_input_of_node_and_project")
        ]


class CacheUse(models.Model):
    """How often pods found an input in the cache of a node, and how often they fetched it. It outlives the node."""

    node = models.CharField(max_length=100, primary_key=True)
    n_found = models.PositiveBigIntegerField(default=0)
    found_bytes = models.PositiveBigIntegerField(default=0)
    n_fetched = models.PositiveBigIntegerField(default=0)
    fetched_bytes = models.PositiveBigIntegerField(default=0)


class LinkKind(models.TextChoices):
    NIC = "nic"  # of a node
    UPLINK = "uplink"  # of a rack


class LinkEstimate(models.Model):
    """What gangs lately got through a link at most, in bit/s. name: of the node or rack.

    slow_since: since when it is clearly less than what was declared; None: it is not, as far as is known.
    """

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=6, choices=LinkKind)
    name = models.CharField(max_length=100)
    bps = models.FloatField()
    n_reports = models.PositiveIntegerField(default=0)
    at = models.DateTimeField()
    slow_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="link_estimate_of_link")]


class SandboxReport(models.Model):
    """Which protections a machine has for uploaded code, as its Celery worker found when it started.

    protections: [{name, is_present, is_separating, detail}]. error: why no sandbox works there at all; "" = one does.
    """

    host = models.CharField(max_length=255, primary_key=True)
    reported_at = models.DateTimeField()
    protections = models.JSONField(default=list)
    error = models.TextField(blank=True, default="")


class Maintenance(models.Model):
    """A node that an administrator closed. It outlives the node's own row: one that comes back is still closed.

    drain_by: None = cordoned only.
    """

    node = models.CharField(max_length=100, primary_key=True)
    drain_by = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)
    asked_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    asked_at = models.DateTimeField()


class Agent(models.Model):
    """A machine whose agent brings it into the cluster, where the backend is `agents`. Its node has its name.

    token_hash: SHA-256 of the token that opens this agent's orders and nothing else; "" = revoked. seen_at, report,
    address, version: of its newest report. problem: why no job may start there; "" = none. is_own: the agent of the
    platform's own machine, which the platform starts itself. instance: of the agent that has the token; "" = none yet.
    caches_clean_at: when its caches last held nothing of deleted projects, by its word; null: it never said so.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=100, unique=True)
    token_hash = models.CharField(max_length=64, blank=True, db_index=True)
    token_made_at = models.DateTimeField()
    made_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    is_own = models.BooleanField(default=False, db_default=False)
    seen_at = models.DateTimeField(null=True)
    report = models.JSONField(default=dict)
    address = models.CharField(max_length=255, blank=True)
    version = models.CharField(max_length=100, blank=True)
    problem = models.TextField(blank=True)
    instance = models.CharField(max_length=64, blank=True, default="", db_default="")
    caches_clean_at = models.DateTimeField(null=True)


class AgentGang(models.Model):
    """A gang that runs, or is to run, on machines with agents: written by the control loop alone.

    spec: a LaunchSpec without secrets. secrets: those, encrypted; empty once every pod has launched. addresses: of its
    pods, once all agents have reserved their ports (released_at). stop: that its pods are to leave.
    """

    attempt_id = models.CharField(max_length=64, primary_key=True)
    spec = models.TextField()
    secrets = models.BinaryField()
    added_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)
    addresses = models.JSONField(default=dict)
    stop_deadline = models.DateTimeField(null=True)
    stop = models.JSONField(default=dict)


class AgentShare(models.Model):
    """The part of a gang that one agent has: written by its reports alone. Fields as in a GangReport."""

    id = models.BigAutoField(primary_key=True)
    gang = models.ForeignKey(AgentGang, on_delete=models.CASCADE, related_name="shares", db_index=False)  # see Meta
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="shares")
    ports = models.JSONField(default=list)
    has_launched = models.BooleanField(default=False)
    problem = models.TextField(blank=True)
    cause = models.CharField(max_length=40, blank=True)
    is_final = models.BooleanField(default=False)
    pods = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["gang", "agent"], name="agent_share_of_gang")]
