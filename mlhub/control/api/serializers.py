# SPDX-License-Identifier: Apache-2.0
"""The JSON of the cluster."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.clusters.models import LinkKind
from mlhub.control.models import ITEM_KINDS
from mlhub.core.api.fields import TranslatedField
from mlhub.core.api.strict import StrictSerializer
from mlhub.jobs.api.attempt_serializers import CAUSES
from mlhub.jobs.api.live_members import JobSlowdownSerializer
from mlhub.metrics.models import SharedResource
from mlhub.tenants.api.serializers import OrganisationBriefSerializer

MAX_COUNT = 2**31 - 1
MAX_BYTES = 2**63 - 1
MAX_HALF_LIFE_S = 366 * 86400


class SlotJobSerializer(serializers.Serializer[Any]):
    """All fields are null for another organisation's job."""

    id = serializers.UUIDField(allow_null=True, help_text="The job's id; null: a job of another organisation.")
    name = serializers.CharField(allow_null=True, help_text="The job's name; null: a job of another organisation.")
    organisation = OrganisationBriefSerializer(allow_null=True, help_text="The job's organisation; null: another one.")
    slowdown = JobSlowdownSerializer(
        allow_null=True,
        help_text="What the others on its hardware cost it; null: not measured, or not the caller's to see.",
    )


class GpuSerializer(serializers.Serializer[Any]):
    """A GPU as its driver showed it when the node was observed last."""

    name = serializers.CharField(allow_blank=True, help_text="The GPU's name by its driver.")
    memory_bytes = serializers.IntegerField(help_text="Its memory in bytes.")
    used_bytes = serializers.IntegerField(help_text="How much of it is in use, by whatever program.")
    utilisation = serializers.FloatField(
        allow_null=True, help_text="The fraction of the last moments in which it computed; null: not known."
    )
    temperature_c = serializers.FloatField(allow_null=True, help_text="Degrees Celsius; null: not known.")
    problem = TranslatedField(
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


class NodeExclusionSerializer(serializers.Serializer[Any]):
    """A node, or GPUs of it, that take no new jobs for a while, since attempts failed there in a row."""

    gpus = serializers.ListField(
        child=serializers.IntegerField(), help_text="The indices of the excluded GPUs; empty: the whole node."
    )
    since = serializers.DateTimeField(help_text="When the last of these attempts failed.")
    until = serializers.DateTimeField(help_text="When the node is tried again.")
    cause = serializers.ChoiceField(choices=CAUSES, help_text="Why the last attempt failed.")
    n_failures = serializers.IntegerField(help_text="The number of attempts.")
    n_jobs = serializers.IntegerField(help_text="The number of jobs whose attempts they were.")
    n_times = serializers.IntegerField(help_text="How often in a row it was excluded; each time is twice as long.")


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
    message = TranslatedField(allow_blank=True, help_text="Why it does not work; empty when it does.")
    observed_at = serializers.DateTimeField(help_text="When the node was observed last.")
    max_jobs_per_gpu = serializers.IntegerField(help_text="1: GPUs are not shared.")
    sharing = serializers.CharField(allow_blank=True, help_text="How its GPUs may be shared, for people.")
    maintenance = MaintenanceSerializer(allow_null=True, help_text="How an administrator closed it; null: open.")
    exclusion = NodeExclusionSerializer(
        allow_null=True, help_text="Why it takes no new jobs although no one closed it; null: it is not excluded."
    )
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


class BackendStatusSerializer(serializers.Serializer[Any]):
    """away_since: null = the machines can be reached. message: why not, for administrators."""

    name = serializers.CharField(help_text="What runs pods: local, agents or kubernetes.")
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
    reason = TranslatedField(
        allow_blank=True, help_text="What could not be read or handled; for platform administrators."
    )
    remedy = TranslatedField(help_text="What to do about it.")
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
    detail = TranslatedField(help_text="What is in force; or why it is missing, and how to get it.")
    consequence = TranslatedField(
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


class LinkLoadSerializer(serializers.Serializer[Any]):
    """What gangs send over a network link now, by the bytes of their steps and their measured rate."""

    kind = serializers.ChoiceField(choices=LinkKind.choices, help_text="The nic of a node, or the uplink of a rack.")
    name = serializers.CharField(help_text="The node's or the rack's name.")
    capacity_bps = serializers.FloatField(
        help_text="Its bandwidth, in bits per second: as declared, or as measured where that is clearly less."
    )
    bps = serializers.FloatField(
        allow_null=True,
        help_text="Bits per second in the busier direction, of all measured gangs together; null: none is measured.",
    )
    n_gangs = serializers.IntegerField(help_text="Gangs whose traffic is in bps.")
    n_unknown = serializers.IntegerField(help_text="Gangs that cross it, and whose traffic is not measured.")


class LinkFlowSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=LinkKind.choices, help_text="The nic of a node, or the uplink of a rack.")
    name = serializers.CharField(help_text="The node's or the rack's name.")
    bytes_per_step = serializers.FloatField(help_text="Bytes of one step, in the busier direction.")
    bps = serializers.FloatField(help_text="Bits per second, on average over a step.")


class GangTrafficSerializer(serializers.Serializer[Any]):
    """What a job on several nodes sends over links now."""

    job = serializers.UUIDField(source="job_id", help_text="The job's id.")
    mode = serializers.CharField(help_text="all_reduce: a ring; parameter_server: workers and servers.")
    nodes = serializers.ListField(child=serializers.CharField(), help_text="Its nodes, in the order of its ranks.")
    server_nodes = serializers.ListField(
        child=serializers.CharField(), help_text="The nodes that have its parameter servers; empty for a ring."
    )
    step_s = serializers.FloatField(help_text="Seconds of a step of one worker, as measured.")
    is_counted = serializers.BooleanField(
        help_text="Whether the bytes are those that its pods counted; else those of the whole model in this mode."
    )
    measured_at = serializers.DateTimeField(help_text="When it was measured last.")
    links = LinkFlowSerializer(many=True, help_text="The links that its traffic crosses.")


class OvercommitmentSerializer(serializers.Serializer[Any]):
    """Guarantees of organisations that are more in sum than the cluster has: not all can be honoured at once."""

    gpu_type = serializers.CharField(allow_blank=True, help_text="The GPU type; empty: GPUs of any type, in all.")
    guaranteed = serializers.IntegerField(
        allow_null=True,
        help_text="GPUs guaranteed to all organisations, with their boosts; null: only platform administrators see it.",
    )
    gpus = serializers.IntegerField(help_text="GPUs that the cluster has, nodes that are away or closed included.")


class ClusterSerializer(serializers.Serializer[Any]):
    racks = RackSerializer(many=True, help_text="The racks with their nodes.")
    totals = TotalsSerializer(help_text="Sums over the whole cluster.")
    backend = BackendStatusSerializer(help_text="Whether the machines can be reached.")
    quarantined = QuarantineRecordSerializer(
        many=True,
        help_text="What the control loop leaves out now, or left out lately: items of jobs that the caller may see; "
        "all of them for platform administrators.",
    )
    interference = InterferenceSerializer(many=True, help_text="Which jobs slow which, the strongest first.")
    links = LinkSerializer(many=True, help_text="Measured network links, the slow ones first.")
    link_loads = LinkLoadSerializer(many=True, help_text="What gangs send over links now; other links carry no gang.")
    traffic = GangTrafficSerializer(
        many=True, help_text="What each job that the caller may see sends over links now, where it is measured."
    )
    sandbox = SandboxReportSerializer(
        many=True, help_text="What each machine's sandbox keeps uploaded code from; for platform administrators."
    )
    ledger_failing_since = serializers.DateTimeField(
        allow_null=True,
        help_text="Since when entries of the ledger of GPU-hours disagree with their attempts; null: they agree, or "
        "the caller is no platform administrator.",
    )
    overcommitted = OvercommitmentSerializer(
        many=True,
        help_text="Guarantees of organisations that are more in sum than the cluster has; for platform administrators.",
    )
