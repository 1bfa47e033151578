# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1. Those of the MLflow protocol are in protocol_urls.py."""

from django.urls import path

from mlhub.tracking.api import comparison, run_parts, views

urlpatterns = [
    path("runs", views.RunsView.as_view()),
    path("runs/compare", comparison.CompareRunsView.as_view()),
    path("runs/compare/curves", comparison.CompareRunCurvesView.as_view()),
    path("runs/<uuid:id>", views.RunView.as_view()),
    path("runs/<uuid:id>/metrics", views.RunCurveView.as_view()),
    path("runs/<uuid:id>/metrics/names", run_parts.RunMetricNamesView.as_view()),
    path("runs/<uuid:id>/params", run_parts.RunParamsView.as_view()),
    path("runs/<uuid:id>/tags", run_parts.RunTagsView.as_view()),
    path("runs/<uuid:id>/datasets", run_parts.RunDatasetsView.as_view()),
    path("runs/<uuid:id>/artifacts", run_parts.RunFilesView.as_view()),
    path("runs/<uuid:id>/artifacts/<path:path>", views.RunFileView.as_view()),
]
