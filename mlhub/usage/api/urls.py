# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.usage.api import views

urlpatterns = [
    path("usage", views.UsageView.as_view()),
    path("usage/export", views.UsageExportView.as_view()),
]
