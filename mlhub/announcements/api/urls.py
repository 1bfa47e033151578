# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.announcements.api import views

urlpatterns = [
    path("announcements", views.AnnouncementsView.as_view()),
    path("announcements/current", views.CurrentAnnouncementsView.as_view()),
    path("announcements/<uuid:id>", views.AnnouncementView.as_view()),
    path("announcements/<uuid:id>/dismissal", views.DismissalView.as_view()),
]
