# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1. A job's metrics, log and stream are metrics', its reasons control's."""

from django.urls import path

from mlhub.jobs.api import checkpoints as c
from mlhub.jobs.api import views
from mlhub.jobs.api.artifacts import JobArtifactsView, JobArtifactView
from mlhub.jobs.api.bulk import BulkView, TagsView
from mlhub.jobs.api.dataset_caches import DatasetCachesView
from mlhub.jobs.api.differences import DifferenceView
from mlhub.jobs.api.lineage import LineageView
from mlhub.jobs.api.startup import StartupView

urlpatterns = [
    path("jobs", views.JobsView.as_view()),
    path("jobs/bulk", BulkView.as_view()),
    path("job-tags", TagsView.as_view()),
    path("strategies", views.StrategiesView.as_view()),
    path("jobs/<named:id>", views.JobView.as_view()),
    path("jobs/<named:id>/cancel", views.CancelView.as_view()),
    path("jobs/<named:id>/pause", views.PauseView.as_view()),
    path("jobs/<named:id>/resume", views.ResumeView.as_view()),
    path("jobs/<named:id>/clone", views.CloneView.as_view()),
    path("jobs/<named:id>/fork", c.ForkView.as_view()),
    path("jobs/<named:id>/checkpoints", c.CheckpointsView.as_view()),
    path("jobs/<named:id>/checkpoints/delete", c.CheckpointDeletionView.as_view()),
    path("jobs/<named:id>/checkpoints/<int:checkpoint>", c.CheckpointView.as_view()),
    path("jobs/<named:id>/checkpoints/<int:checkpoint>/weights", c.CheckpointWeightsView.as_view()),
    path("jobs/<named:id>/difference", DifferenceView.as_view()),
    path("jobs/<named:id>/startup", StartupView.as_view()),
    path("jobs/<named:id>/deletion", views.DeletionView.as_view()),
    path("jobs/<named:id>/artifacts", JobArtifactsView.as_view()),
    path("jobs/<named:id>/artifacts/<path:name>", JobArtifactView.as_view()),
    path("jobs/<named:id>/result", views.ResultView.as_view()),
    path("dataset-versions/<uuid:id>/caches", DatasetCachesView.as_view()),
    path("models/<named:id>/versions/<str:version>/lineage", LineageView.as_view()),
]
