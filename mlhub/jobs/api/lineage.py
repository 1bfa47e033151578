# SPDX-License-Identifier: Apache-2.0
"""The lineage of a model version as a graph. It is the jobs' route: the registry does not know jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from mlhub.core.api.views import AddressedView
from mlhub.jobs.artifacts.lineage import NodeKind, lineage_of
from mlhub.registry.api.trained import MODEL, VERSION
from mlhub.registry.models import ModelVersion
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request


class LineageNodeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The id of the version or the job.")
    kind = serializers.ChoiceField(choices=[(kind.value, kind.value) for kind in NodeKind], help_text="What it is.")
    name = serializers.CharField(help_text="The name of the dataset, the model or the job.")
    number = serializers.IntegerField(allow_null=True, help_text="The version's number; null: a job.")
    parent_id = serializers.UUIDField(allow_null=True, help_text="The id of the dataset or the model; null: a job.")
    job_kind = serializers.CharField(help_text="train, predict or evaluate; empty: no job.")
    state = serializers.CharField(help_text="The job's state; empty: no job.")


class LineageEdgeSerializer(serializers.Serializer[Any]):
    source = serializers.UUIDField(help_text="The id of what was read, or of the job that made the target.")  # type: ignore[assignment]
    target = serializers.UUIDField(help_text="The id of the job that read it, or of what was made.")


class LineageSerializer(serializers.Serializer[Any]):
    version = serializers.UUIDField(help_text="The id of the version whose lineage it is.")
    nodes = LineageNodeSerializer(many=True, help_text="Versions and jobs, each once.")
    edges = LineageEdgeSerializer(many=True, help_text="What was read by which job, and what each job made.")
    n_left_out = serializers.IntegerField(help_text="How many older jobs used the version and are left out.")


class LineageView(AddressedView):
    @extend_schema(parameters=[MODEL, VERSION], responses=LineageSerializer)
    def get(self, request: Request, id: UUID, version: str, **_: Any) -> Response:
        """What the version was made from and by which job, the newest 50 jobs that used it, and what they made."""
        versions = ModelVersion.objects.select_related("model")
        found = lineage_of(versions.get_of_model(request.user, id, version), user=caller(request))
        shown = {
            "version": found.version,
            "nodes": list(found.nodes.values()),
            "edges": found.edges,
            "n_left_out": found.n_left_out,
        }
        return Response(LineageSerializer(shown).data)
