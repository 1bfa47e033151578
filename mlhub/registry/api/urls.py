# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.registry.api import views
from mlhub.registry.api.aliases import AliasesView, AliasView
from mlhub.registry.api.files import VersionFilesView, VersionFileView
from mlhub.registry.api.lineage import TrainedOnView
from mlhub.registry.api.trained import ExportView, PredictNewestView, PredictView

urlpatterns = [
    path("models", views.ModelsView.as_view()),
    path("models/<named:id>", views.ModelView.as_view()),
    path("models/<named:id>/versions", views.ModelVersionsView.as_view()),
    path("models/<named:id>/predict", PredictNewestView.as_view()),
    path("models/<named:id>/aliases", AliasesView.as_view()),
    path("models/<named:id>/aliases/<str:name>", AliasView.as_view()),
    path("models/<named:id>/versions/<str:version>/export", ExportView.as_view()),
    path("models/<named:id>/versions/<str:version>/predict", PredictView.as_view()),
    path("dataset-versions/<uuid:id>/trained", TrainedOnView.as_view()),
    path("model-versions/<uuid:id>", views.ModelVersionView.as_view()),
    path("model-versions/<uuid:id>/download", views.DownloadView.as_view()),
    path("model-versions/<uuid:id>/files", VersionFilesView.as_view()),
    path("model-versions/<uuid:id>/files/<path:path>", VersionFileView.as_view()),
]
