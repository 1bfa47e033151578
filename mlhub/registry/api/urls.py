# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.registry.api import views

urlpatterns = [
    path("models", views.ModelsView.as_view()),
    path("models/<uuid:id>", views.ModelView.as_view()),
    path("models/<uuid:id>/versions", views.ModelVersionsView.as_view()),
    path("model-versions/<uuid:id>", views.ModelVersionView.as_view()),
    path("model-versions/<uuid:id>/download", views.DownloadView.as_view()),
]
