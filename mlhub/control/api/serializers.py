"""The JSON of the cluster, and of quotas and their use."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.strict import FiniteFloatField, StrictSerializer
from mlhub.tenants.api.serializers import OrganisationBriefSerializer
from mlhub.tenants.models import Quota, QuotaRules

MAX_COUNT = 2**31 - 1
MAX_BYTES = 2**63 - 1
MAX_HALF_LIFE_S = 366 * 86400


class SlotJobSerializer(serializers.Serializer[Any]):
    """All null: somebody else's."""

    id = serializers.UUIDField(allow_null=True)
    name = serializers.CharField(allow_null=True)
    organisation = OrganisationBriefSerializer(allow_null=True)


class SlotSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    job = SlotJobSerializer(allow_null=True, help_text="null: free.")
    beside = SlotJobSerializer(many=True, help_text="Jobs that share it with that one.")


class ServersSerializer(serializers.Serializer[Any]):
    """Parameter servers of a job on a node."""

    job = SlotJobSerializer()
    n = serializers.IntegerField()


class MaintenanceSerializer(serializers.Serializer[Any]):
    """A node that an administrator closed. drain_by: when the last job will have left; null = cordoned only."""

    drain_by = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    asked_by = serializers.CharField(allow_blank=True)
    asked_at = serializers.DateTimeField()


class ClosingSerializer(StrictSerializer):
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500)
    deadline_s = serializers.IntegerField(
        required=False, min_value=0, max_value=30 * 86400, help_text="Of a drain; 600 when nothing is said."
    )


class NodeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    gpu_type = serializers.CharField()
    n_slots = serializers.IntegerField()
    cpus = serializers.FloatField()
    memory_bytes = serializers.IntegerField()
    nic_bps = serializers.FloatField()
    is_ready = serializers.BooleanField()
    is_schedulable = serializers.BooleanField()
    message = serializers.CharField(allow_blank=True)
    observed_at = serializers.DateTimeField()
    max_jobs_per_gpu = serializers.IntegerField(help_text="1: GPUs are not shared.")
    sharing = serializers.CharField(allow_blank=True, help_text="How its GPUs may be shared, for people.")
    maintenance = MaintenanceSerializer(allow_null=True)
    slots = SlotSerializer(many=True)
    servers = ServersSerializer(many=True)


class RackSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    uplink_bps = serializers.FloatField()
    nodes = NodeSerializer(many=True)


class TotalsSerializer(serializers.Serializer[Any]):
    gpus = serializers.IntegerField()
    free_gpus = serializers.IntegerField()
    running_jobs = serializers.IntegerField()
    queued_jobs = serializers.IntegerField()


class BackendStandingSerializer(serializers.Serializer[Any]):
    """away_since: null = the machines can be reached. message: why not, for administrators."""

    away_since = serializers.DateTimeField(allow_null=True)
    message = serializers.CharField(allow_blank=True)


class ClusterSerializer(serializers.Serializer[Any]):
    racks = RackSerializer(many=True)
    totals = TotalsSerializer()
    backend = BackendStandingSerializer()


class QuotaUsedSerializer(serializers.Serializer[Any]):
    gpus = serializers.IntegerField()
    running_jobs = serializers.IntegerField()
    storage_bytes = serializers.IntegerField()


RULES = [
    "max_gpus", "max_running_jobs", "guarantee", "borrow_limit", "lend_limit", "reclaim", "weight", "shares_fairly",
    "half_life_s",
]  # fmt: skip


class QuotaSerializer(serializers.ModelSerializer[Quota]):
    """null = no limit, and no guarantee. Guarantees and limits count GPUs.

    shares_fairly: what none of its parts is guaranteed goes to them by weight, whatever the policy. half_life_s: of
    their use, by which it is their turn; 0 = only what they hold now counts.
    """

    used = QuotaUsedSerializer(read_only=True)

    class Meta:
        model = Quota
        fields = [*RULES, "max_storage_bytes", "version", "used"]
        read_only_fields = fields


class QuotaRulesSerializer(StrictSerializer):
    """The rules to change; null lifts a limit or a guarantee."""

    max_gpus = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, allow_null=True, required=False)
    max_running_jobs = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, allow_null=True, required=False)
    guarantee = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, allow_null=True, required=False)
    borrow_limit = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, allow_null=True, required=False)
    lend_limit = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, allow_null=True, required=False)
    reclaim = serializers.ChoiceField(choices=QuotaRules.RECLAIM, required=False)
    weight = FiniteFloatField(min_value=0, max_value=1e9, required=False)
    shares_fairly = serializers.BooleanField(required=False)
    half_life_s = FiniteFloatField(
        min_value=0, max_value=MAX_HALF_LIFE_S, required=False, help_text="0: past use is no matter."
    )


class QuotaRulesChangeSerializer(QuotaRulesSerializer):
    """version: the one that was seen; 409 when it is stale."""

    version = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, required=False)


class QuotaChangeSerializer(QuotaRulesChangeSerializer):
    max_storage_bytes = serializers.IntegerField(min_value=0, max_value=MAX_BYTES, allow_null=True, required=False)


class QuotaOwnerSerializer(serializers.Serializer[Any]):
    """A node of the tree: its rules, and its books now, in GPUs, with all below it.

    guaranteed: guarantee, or the sum of those below if that is more. borrowed: used above it. lent: of it, in use by
    others. queued_gpus: what waiting jobs need at least.
    """

    kind = serializers.CharField(help_text="organisation, team or project.")
    id = serializers.UUIDField()
    name = serializers.CharField()
    above = serializers.UUIDField(allow_null=True, help_text="Whose part it is.")
    max_gpus = serializers.IntegerField(allow_null=True)
    max_running_jobs = serializers.IntegerField(allow_null=True)
    guarantee = serializers.IntegerField(allow_null=True)
    borrow_limit = serializers.IntegerField(allow_null=True)
    lend_limit = serializers.IntegerField(allow_null=True)
    reclaim = serializers.ChoiceField(choices=QuotaRules.RECLAIM)
    weight = serializers.FloatField()
    shares_fairly = serializers.BooleanField()
    half_life_s = serializers.FloatField()
    version = serializers.IntegerField()
    guaranteed = serializers.IntegerField()
    used = serializers.IntegerField()
    borrowed = serializers.IntegerField()
    lent = serializers.IntegerField()
    running_jobs = serializers.IntegerField()
    queued_gpus = serializers.IntegerField()


class QuotaTreeSerializer(serializers.Serializer[Any]):
    """Parents before children. may_edit: the caller may change quotas of teams and projects."""

    may_edit = serializers.BooleanField()
    owners = QuotaOwnerSerializer(many=True)
