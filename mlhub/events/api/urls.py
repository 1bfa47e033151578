# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.events.api import export, views

urlpatterns = [
    path("events", views.EventsView.as_view()),
    path("events/export", export.EventsExportView.as_view()),
    path("events/verify", views.VerifyView.as_view()),
    path("jobs/<named:id>/events", views.JobEventsView.as_view()),
    path("stream", views.EventsStreamView.as_view()),
]
