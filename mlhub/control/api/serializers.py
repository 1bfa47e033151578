# SPDX-License-Identifier: Apache-2.0
"""The JSON of the cluster, and of quotas and their use."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.clusters.models import LinkKind
from mlhub.control.models import ITEM_KINDS
from mlhub.core.api.described import described
from mlhub.core.api.strict import FiniteFloatField, StrictSerializer
from mlhub.metrics.models import SharedResource
from mlhub.tenants.api.serializers import OrganisationBriefSerializer
from mlhub.tenants.models import Quota, QuotaRules

MAX_COUNT = 2**31 - 1
MAX_BYTES = 2**63 - 1
MAX_HALF_LIFE_S = 366 * 86400


class SlotJobSerializer(serializers.Serializer[Any]):
    """All fields are null for another organisation's job."""

    id = serializers.UUIDField(allow_null=True, help_text="The job's id; null: a job of another organisation.")
    name = serializers.CharField(allow_null=True, help_text="The job's name; null: a job of another organisation.")
    organisation = OrganisationBriefSerializer(allow_null=True, help_text="The job's organisation; null: another one.")


class GpuSerializer(serializers.Serializer[Any]):
    """A GPU as its driver showed it when the node was observed last."""

    name = serializers.CharField(allow_blank=True, help_text="The GPU's name by its driver.")
    memory_bytes = serializers.IntegerField(help_text="Its memory in bytes.")
    used_bytes = serializers.IntegerField(help_text="How much of it is in use, by whatever program.")
    utilisation = serializers.FloatField(
        allow_null=True, help_text="The fraction of the last moments in which it computed; null: not known."
    )
    temperature_c = serializers.FloatField(allow_null=True, help_text="Degrees Celsius; null: not known.")
    problem = serializers.CharField(
        allow_blank=True, help_text="Why no job may start on it, such as what an ended one left there; empty: one may."
    )


class SlotSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text="The index of the GPU on its node.")
    job = SlotJobSerializer(allow_null=True, help_text="null: free.")
    colocated = SlotJobSerializer(many=True, help_text="Jobs that share the GPU with that one.")
    gpu = GpuSerializer(allow_null=True, help_text="The GPU itself; null where the platform cannot ask its driver.")


class ServersSerializer(serializers.Serializer[Any]):
    """Parameter servers of a job on a node."""

    job = SlotJobSerializer(help_text="The job whose servers they are.")
    n = serializers.IntegerField(help_text="The number of servers.")


class MaintenanceSerializer(serializers.Serializer[Any]):
    """A node that an administrator closed. drain_by: when the last job will have left; null = cordoned only."""

    drain_by = serializers.DateTimeField(
        allow_null=True, help_text="When the last job will have left; null: cordoned only."
    )
    reason = serializers.CharField(allow_blank=True, help_text="Why, in the administrator's words.")
    asked_by = serializers.CharField(allow_blank=True, help_text="The administrator's user name.")
    asked_at = serializers.DateTimeField(help_text="When the node was closed.")


class ClosingSerializer(StrictSerializer):
    reason = serializers.CharField(
        required=False, allow_blank=True, max_length=500, help_text="Why, for people who look at the cluster."
    )
    deadline_s = serializers.IntegerField(
        required=False, min_value=0, max_value=30 * 86400, help_text="Of a drain; 600 by default."
    )


class NodeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The node's name.")
    gpu_type = serializers.CharField(help_text="The type of GPU.")
    n_slots = serializers.IntegerField(help_text="The number of GPUs.")
    cpus = serializers.FloatField(help_text="The number of processors.")
    memory_bytes = serializers.IntegerField(help_text="Main memory in bytes.")
    nic_bps = serializers.FloatField(help_text="The network bandwidth, in bits per second.")
    is_ready = serializers.BooleanField(help_text="Whether the node works.")
    is_schedulable = serializers.BooleanField(help_text="Whether new jobs may start there.")
    message = serializers.CharField(allow_blank=True, help_text="Why it does not work; empty when it does.")
    observed_at = serializers.DateTimeField(help_text="When the node was observed last.")
    max_jobs_per_gpu = serializers.IntegerField(help_text="1: GPUs are not shared.")
    sharing = serializers.CharField(allow_blank=True, help_text="How its GPUs may be shared, for people.")
    maintenance = MaintenanceSerializer(allow_null=True, help_text="How an administrator closed it; null: open.")
    slots = SlotSerializer(many=True, help_text="The GPUs, and the jobs on them.")
    servers = ServersSerializer(many=True, help_text="The parameter servers that run on it.")


class RackSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The rack's name.")
    uplink_bps = serializers.FloatField(help_text="The bandwidth of its uplink, in bits per second.")
    nodes = NodeSerializer(many=True, help_text="Its nodes.")


class TotalsSerializer(serializers.Serializer[Any]):
    gpus = serializers.IntegerField(help_text="GPUs of the cluster.")
    free_gpus = serializers.IntegerField(help_text="GPUs that no job holds.")
    running_jobs = serializers.IntegerField(help_text="Jobs that run now.")
    queued_jobs = serializers.IntegerField(help_text="Jobs that wait.")


class BackendStandingSerializer(serializers.Serializer[Any]):
    """away_since: null = the machines can be reached. message: why not, for administrators."""

    away_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when the machines cannot be reached; null: they can."
    )
    message = serializers.CharField(allow_blank=True, help_text="Why not; for platform administrators.")


class QuarantinedJobSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The job's id.")
    name = serializers.CharField(help_text="The job's name.")


class QuarantineRecordSerializer(serializers.Serializer[Any]):
    """Something that the control loop could not read or handle, and left out so that all else was scheduled."""

    kind = serializers.ChoiceField(choices=ITEM_KINDS, help_text="What kind of thing it is.")
    name = serializers.CharField(help_text="The id or name of the thing.")
    reason = serializers.CharField(
        allow_blank=True, help_text="What could not be read or handled; for platform administrators."
    )
    remedy = serializers.CharField(help_text="What to do about it.")
    job = QuarantinedJobSerializer(allow_null=True, help_text="The job that it is or belongs to; null: none.")
    since = serializers.DateTimeField(help_text="Since when it is left out.")
    last_seen_at = serializers.DateTimeField(help_text="When it was last stored as left out, at most a minute late.")
    ended_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was no longer left out; null: it still is. Kept for seven days."
    )


class ProtectionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The protection's name.")
    is_present = serializers.BooleanField(help_text="Whether it is in force on that machine.")
    is_separating = serializers.BooleanField(
        help_text="Whether code of one organisation may reach another's without it."
    )
    detail = serializers.CharField(help_text="What is in force; or why it is missing, and how to get it.")
    consequence = serializers.CharField(
        allow_blank=True, help_text="What its absence allows uploaded code to do; empty while it is in force."
    )


class SandboxReportSerializer(serializers.Serializer[Any]):
    """What one machine's sandbox keeps uploaded code from."""

    host = serializers.CharField(help_text="The machine's host name.")
    reported_at = serializers.DateTimeField(help_text="When its Celery worker reported last, which is at its start.")
    error = serializers.CharField(allow_blank=True, help_text="Why no sandbox works there at all; empty: one does.")
    separates_tenants = serializers.BooleanField(help_text="Whether code of several organisations is kept apart.")
    protections = ProtectionSerializer(many=True, help_text="Each protection, in force or missing.")


class InterferenceSerializer(serializers.Serializer[Any]):
    """How much slower jobs of one kind were while one of another kind used the same hardware."""

    job = serializers.CharField(help_text="Model and dataset of the jobs that were slowed.")
    other = serializers.CharField(
        allow_blank=True, help_text="Model and dataset of those next to them; empty: not the caller's to see."
    )
    resource = serializers.ChoiceField(
        choices=SharedResource.choices, help_text="What both used: the same gpu, nic, node or uplink."
    )
    gpu_type = serializers.CharField(help_text="The type of GPU.")
    slowdown = serializers.FloatField(help_text="The time of a step with the others, divided by that without.")
    error = serializers.FloatField(help_text="The standard error of slowdown.")
    n = serializers.IntegerField(help_text="The number of attempts that measured it.")
    n_steps = serializers.IntegerField(help_text="The steps of all of them.")


class LinkSerializer(serializers.Serializer[Any]):
    """A network link through which gangs were measured."""

    kind = serializers.ChoiceField(choices=LinkKind.choices, help_text="The nic of a node, or the uplink of a rack.")
    name = serializers.CharField(help_text="The node's or the rack's name.")
    declared_bps = serializers.FloatField(help_text="Its bandwidth as declared, in bits per second.")
    measured_bps = serializers.FloatField(help_text="The most that a gang lately got through it, in bits per second.")
    n_reports = serializers.IntegerField(help_text="The number of measurements.")
    at = serializers.DateTimeField(help_text="When it was measured last.")
    slow_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when it is clearly slower than declared; null: it is not."
    )


class ClusterSerializer(serializers.Serializer[Any]):
    racks = RackSerializer(many=True, help_text="The racks with their nodes.")
    totals = TotalsSerializer(help_text="Sums over the whole cluster.")
    backend = BackendStandingSerializer(help_text="Whether the machines can be reached.")
    quarantined = QuarantineRecordSerializer(
        many=True,
        help_text="What the control loop leaves out now, or left out lately: items of jobs that the caller may see; "
        "all of them for platform administrators.",
    )
    interference = InterferenceSerializer(many=True, help_text="Which jobs slow which, the strongest first.")
    links = LinkSerializer(many=True, help_text="Measured network links, the slow ones first.")
    sandbox = SandboxReportSerializer(
        many=True, help_text="What each machine's sandbox keeps uploaded code from; for platform administrators."
    )


class QuotaUsedSerializer(serializers.Serializer[Any]):
    gpus = serializers.IntegerField(help_text="GPUs in use now.")
    running_jobs = serializers.IntegerField(help_text="Jobs that run now.")
    storage_bytes = serializers.IntegerField(help_text="Bytes stored now.")


MAX_PRIORITY = "The highest priority that members may give their jobs; null: what holds above it, 50 if nothing does."
RULES = [
    "max_gpus", "max_running_jobs", "guarantee", "borrow_limit", "lend_limit", "reclaim", "weight", "shares_fairly",
    "half_life_s", "max_priority",
]  # fmt: skip


class QuotaSerializer(serializers.ModelSerializer[Quota]):
    """null = no limit, and no guarantee. Guarantees and limits count GPUs.

    shares_fairly: what none of its parts is guaranteed goes to them by weight, whatever the policy. half_life_s: of
    their use, by which it is their turn; 0 = only what they hold now counts.
    """

    used = QuotaUsedSerializer(read_only=True, help_text="What of the limits is in use.")

    class Meta:
        model = Quota
        fields = [*RULES, "max_storage_bytes", "version", "used"]
        read_only_fields = fields
        extra_kwargs = described(
            max_gpus="The most GPUs that may be in use at a time; null: no limit.",
            max_running_jobs="The most jobs that may run at a time; null: no limit.",
            guarantee="GPUs that are guaranteed; null: none.",
            borrow_limit="The most GPUs that may be borrowed above the guarantee; null: no limit.",
            lend_limit="The most guaranteed GPUs that others may borrow while they are unused; null: no limit.",
            reclaim="From whom lent GPUs may be taken back by preemption.",
            weight="The share of unguaranteed GPUs, relative to siblings.",
            shares_fairly="Whether unguaranteed GPUs are shared by weight, whatever the policy.",
            half_life_s="The half-life of past use, in seconds; 0: only present use counts.",
            max_priority=MAX_PRIORITY,
            max_storage_bytes="The most bytes that may be stored; null: no limit.",
            version="The version of these settings, which rises with every change.",
        )


class QuotaRulesSerializer(StrictSerializer):
    """The rules to change; null lifts a limit or a guarantee."""

    max_gpus = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="The most GPUs that may be in use at a time; null: no limit.",
    )
    max_running_jobs = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="The most jobs that may run at a time; null: no limit.",
    )
    guarantee = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="GPUs that are guaranteed; null: none.",
    )
    borrow_limit = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="The most GPUs that may be borrowed above the guarantee; null: no limit.",
    )
    lend_limit = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="The most guaranteed GPUs that others may borrow while they are unused; null: no limit.",
    )
    reclaim = serializers.ChoiceField(
        choices=QuotaRules.RECLAIM, required=False, help_text="From whom lent GPUs may be taken back by preemption."
    )
    weight = FiniteFloatField(
        min_value=0, max_value=1e9, required=False, help_text="The share of unguaranteed GPUs, relative to siblings."
    )
    shares_fairly = serializers.BooleanField(
        required=False, help_text="Whether unguaranteed GPUs are shared by weight, whatever the policy."
    )
    half_life_s = FiniteFloatField(
        min_value=0, max_value=MAX_HALF_LIFE_S, required=False, help_text="0: past use is no matter."
    )


class QuotaRulesChangeSerializer(QuotaRulesSerializer):
    """version: the one that was seen; 409 when it is stale."""

    max_priority = serializers.IntegerField(
        min_value=0, max_value=100, allow_null=True, required=False, help_text=MAX_PRIORITY
    )
    version = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        required=False,
        help_text="The version that the caller saw; 409 when it is stale.",
    )


class QuotaChangeSerializer(QuotaRulesChangeSerializer):
    max_storage_bytes = serializers.IntegerField(
        min_value=0,
        max_value=MAX_BYTES,
        allow_null=True,
        required=False,
        help_text="The most bytes that may be stored; null: no limit.",
    )


class QuotaOwnerSerializer(serializers.Serializer[Any]):
    """A node of the tree: its rules, and its books now, in GPUs, with all below it.

    guaranteed: guarantee, or the sum of those below if that is more. borrowed: used above it. lent: of it, in use by
    others. queued_gpus: what waiting jobs need at least.
    """

    kind = serializers.CharField(help_text="organisation, team or project.")
    id = serializers.UUIDField(help_text="The id of the organisation, team or project.")
    name = serializers.CharField(help_text="Its name.")
    above = serializers.UUIDField(allow_null=True, help_text="Whose part it is.")
    max_gpus = serializers.IntegerField(
        allow_null=True, help_text="The most GPUs that may be in use at a time; null: no limit."
    )
    max_running_jobs = serializers.IntegerField(
        allow_null=True, help_text="The most jobs that may run at a time; null: no limit."
    )
    guarantee = serializers.IntegerField(allow_null=True, help_text="GPUs that are guaranteed; null: none.")
    borrow_limit = serializers.IntegerField(
        allow_null=True, help_text="The most GPUs that may be borrowed above the guarantee; null: no limit."
    )
    lend_limit = serializers.IntegerField(
        allow_null=True,
        help_text="The most guaranteed GPUs that others may borrow while they are unused; null: no limit.",
    )
    reclaim = serializers.ChoiceField(
        choices=QuotaRules.RECLAIM, help_text="From whom lent GPUs may be taken back by preemption."
    )
    weight = serializers.FloatField(help_text="The share of unguaranteed GPUs, relative to siblings.")
    shares_fairly = serializers.BooleanField(
        help_text="Whether unguaranteed GPUs are shared by weight, whatever the policy."
    )
    half_life_s = serializers.FloatField(help_text="The half-life of past use, in seconds; 0: only present use counts.")
    max_priority = serializers.IntegerField(allow_null=True, help_text=MAX_PRIORITY)
    version = serializers.IntegerField(help_text="The version of these settings, which rises with every change.")
    guaranteed = serializers.IntegerField(
        help_text="GPUs guaranteed: the guarantee, or the sum of those below if that is more."
    )
    used = serializers.IntegerField(help_text="GPUs in use now.")
    borrowed = serializers.IntegerField(help_text="GPUs in use above what is guaranteed.")
    lent = serializers.IntegerField(help_text="Guaranteed GPUs that others use now.")
    running_jobs = serializers.IntegerField(help_text="Jobs that run now.")
    queued_gpus = serializers.IntegerField(help_text="GPUs that waiting jobs need at least.")


class QuotaTreeSerializer(serializers.Serializer[Any]):
    """Parents before children. may_edit: the caller may change quotas of teams and projects."""

    may_edit = serializers.BooleanField(help_text="Whether the caller may change quotas of teams and projects.")
    owners = QuotaOwnerSerializer(
        many=True, help_text="The organisation, its teams and projects; parents before children."
    )
