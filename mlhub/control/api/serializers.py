"""The JSON of the cluster, and of quotas and their use."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.tenants.api.serializers import OrganisationBriefSerializer
from mlhub.tenants.models import Quota


class SlotJobSerializer(serializers.Serializer[Any]):
    """All null: somebody else's."""

    id = serializers.UUIDField(allow_null=True)
    name = serializers.CharField(allow_null=True)
    organisation = OrganisationBriefSerializer(allow_null=True)


class SlotSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    job = SlotJobSerializer(allow_null=True, help_text="null: free.")


class ServersSerializer(serializers.Serializer[Any]):
    """Parameter servers of a job on a node."""

    job = SlotJobSerializer()
    n = serializers.IntegerField()


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


class QuotaSerializer(serializers.ModelSerializer[Quota]):
    """null = no limit."""

    used = QuotaUsedSerializer(read_only=True)

    class Meta:
        model = Quota
        fields = ["max_gpus", "max_running_jobs", "max_storage_bytes", "version", "used"]
        read_only_fields = fields


class QuotaChangeSerializer(serializers.Serializer[None]):
    """The limits to change; null lifts one. version: the one that was seen; 409 when it is stale."""

    max_gpus = serializers.IntegerField(min_value=0, allow_null=True, required=False)
    max_running_jobs = serializers.IntegerField(min_value=0, allow_null=True, required=False)
    max_storage_bytes = serializers.IntegerField(min_value=0, allow_null=True, required=False)
    version = serializers.IntegerField(required=False)
