# SPDX-License-Identifier: Apache-2.0
"""On which nodes a dataset's files are cached. It is the jobs' route: datasets do not know nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response

from mlhub.core.api.views import VisibleMixin
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.execution.dataset_caches import MOST_NODES, caches_of

if TYPE_CHECKING:
    from rest_framework.request import Request


class CachingNodeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The node.")
    cached_bytes = serializers.IntegerField(help_text="Bytes of the version in its cache, as far as is known.")
    used_at = serializers.DateTimeField(help_text="When a job last used them there.")


class DatasetCachesSerializer(serializers.Serializer[Any]):
    """What the caches of nodes hold for the jobs of the dataset's project, as pods reported it."""

    has_node_caches = serializers.BooleanField(
        help_text="Whether nodes have caches of their own; false: jobs find the data alike on every node."
    )
    size_bytes = serializers.IntegerField(help_text="Bytes of the version.")
    nodes = CachingNodeSerializer(
        many=True, help_text=f"Nodes with some of it, those with most of it first; {MOST_NODES} at most."
    )
    n_nodes = serializers.IntegerField(help_text="How many nodes have some of it.")
    n_starts = serializers.IntegerField(help_text="Starts of jobs on it whose pods reported their inputs, by node.")
    inputs_bytes = serializers.IntegerField(help_text="Bytes that these starts needed, code included.")
    found_bytes = serializers.IntegerField(help_text="Of them, what was in the nodes' caches.")


class DatasetCachesView(VisibleMixin, generics.GenericAPIView[DatasetVersion]):
    queryset = DatasetVersion.objects.select_related("dataset").defer("preview", "statistics", "schema")
    serializer_class = DatasetCachesSerializer

    @extend_schema(responses=DatasetCachesSerializer)
    def get(self, request: Request, **_: Any) -> Response:  # noqa: ARG002 (the protocol's)
        """The nodes that have the version's files in their caches, and how much of what its jobs needed was there."""
        return Response(DatasetCachesSerializer(caches_of(self.get_object())).data)
