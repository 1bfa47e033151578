# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1: for pods that run strangers' code once."""

from django.urls import path

from mlhub.storage.api import sandbox_runs

urlpatterns = [
    path("ingest/sandbox-runs/<uuid:id>", sandbox_runs.SandboxTaskView.as_view()),
    path("ingest/sandbox-runs/<uuid:id>/blobs/<str:sha256>", sandbox_runs.SandboxBlobView.as_view()),
    path("ingest/sandbox-runs/<uuid:id>/outcome", sandbox_runs.SandboxOutcomeView.as_view()),
]
