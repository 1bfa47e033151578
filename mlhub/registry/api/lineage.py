# SPDX-License-Identifier: Apache-2.0
"""What became of a dataset version: the model versions that were trained on it."""

from __future__ import annotations

from django.db.models import QuerySet
from rest_framework import generics

from mlhub.core.api.views import VisibleMixin
from mlhub.datasets.models import DatasetVersion
from mlhub.registry.api import serializers as s
from mlhub.registry.api.views import LINEAGE
from mlhub.registry.models import ModelVersion


class TrainedOnView(VisibleMixin, generics.ListAPIView[ModelVersion]):
    """The model versions that were trained on this dataset version, newest first."""

    queryset = ModelVersion.objects.select_related("model", *LINEAGE).prefetch_related("aliases")
    serializer_class = s.ModelVersionSerializer

    def get_queryset(self) -> QuerySet[ModelVersion]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        trained_on = DatasetVersion.objects.get_visible(self.request.user, self.kwargs["id"])
        return super().get_queryset().filter(dataset_version=trained_on)
