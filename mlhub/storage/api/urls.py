# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1: resumable uploads, and what pods need that run strangers' code once."""

from django.urls import path

from mlhub.storage.api import sandbox_runs, tus

urlpatterns = [
    path("uploads", tus.UploadsView.as_view()),
    path("uploads/<uuid:id>", tus.UploadView.as_view()),
    path("ingest/sandbox-runs/<uuid:id>", sandbox_runs.SandboxTaskView.as_view()),
    path("ingest/sandbox-runs/<uuid:id>/blobs/<str:sha256>", sandbox_runs.SandboxBlobView.as_view()),
    path("ingest/sandbox-runs/<uuid:id>/outcome", sandbox_runs.SandboxOutcomeView.as_view()),
]
