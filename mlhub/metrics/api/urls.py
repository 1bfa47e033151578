# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1: for people, for browsers that listen, and for pods."""

from django.urls import path

from mlhub.metrics.api import comparison, curves, ingest, logs, profiles, stream, usage, views

urlpatterns = [
    path("jobs/compare/curves", comparison.CompareCurvesView.as_view()),
    path("jobs/compare/metrics", comparison.CompareMetricsView.as_view()),
    path("jobs/<named:id>/metrics", curves.MetricsView.as_view()),
    path("jobs/<named:id>/metrics/names", curves.MetricNamesView.as_view()),
    path("jobs/<named:id>/logs", logs.LogsView.as_view()),
    path("jobs/<named:id>/logs/overview", logs.LogOverviewView.as_view()),
    path("jobs/<named:id>/logs/download", logs.LogDownloadView.as_view()),
    path("jobs/<named:id>/speed", views.SpeedView.as_view()),
    path("jobs/<named:id>/usage", usage.JobUsageView.as_view()),
    path("jobs/<named:id>/profiles", profiles.ProfilesView.as_view()),
    path("jobs/<named:id>/profiles/<uuid:profile>", profiles.ProfileView.as_view()),
    path("jobs/<named:id>/profiles/<uuid:profile>/traces/<int:rank>", profiles.ProfileTraceView.as_view()),
    path("jobs/<named:id>/profiles/<uuid:profile>/server-traces/<int:rank>", profiles.ProfileServerTraceView.as_view()),
    path("jobs/<named:id>/stream", stream.JobStreamView.as_view()),
    path("ingest/attempts/<uuid:id>/reports", ingest.ReportsView.as_view()),
    path("ingest/attempts/<uuid:id>/artifacts/<path:name>", ingest.ArtifactView.as_view()),
    path("ingest/attempts/<uuid:id>/deleted-inputs", ingest.DeletedInputsView.as_view()),
    path("ingest/attempts/<uuid:id>/blobs/<str:sha256>", ingest.InputView.as_view()),
]
