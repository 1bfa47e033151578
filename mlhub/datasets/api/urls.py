# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.datasets.api import differences, views

urlpatterns = [
    path("datasets", views.DatasetsView.as_view()),
    path("datasets/references", views.DatasetReferencesView.as_view()),
    path("datasets/<named:id>", views.DatasetView.as_view()),
    path("datasets/<named:id>/versions", views.DatasetVersionsView.as_view()),
    path("datasets/<named:id>/references", views.VersionReferencesView.as_view()),
    path("dataset-versions/<uuid:id>", views.DatasetVersionView.as_view()),
    path("dataset-versions/<uuid:id>/columns", views.ColumnChoiceView.as_view()),
    path("dataset-versions/<uuid:id>/difference", differences.VersionDifferenceView.as_view()),
    path("dataset-versions/<uuid:id>/refresh", views.RefreshView.as_view()),
    path("dataset-versions/<uuid:id>/shards", views.ShardsView.as_view()),
    path("dataset-versions/<uuid:id>/clips/<int:number>", views.PreviewClipView.as_view()),
    path("dataset-versions/<uuid:id>/download", views.DatasetDownloadView.as_view()),
]
