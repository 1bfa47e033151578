# SPDX-License-Identifier: Apache-2.0
"""Addresses of rules of retention, below /api/v1."""

from django.urls import path

from mlhub.retention.api import views

urlpatterns = [
    path("projects/<uuid:id>/retention", views.RetentionView.as_view()),
    path("projects/<uuid:id>/retention/preview", views.RetentionPreviewView.as_view()),
]
