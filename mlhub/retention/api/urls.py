# SPDX-License-Identifier: Apache-2.0
"""Addresses of rules of retention, below /api/v1."""

from django.urls import path

from mlhub.retention.api import deletions, organisations, views

urlpatterns = [
    path("organisations/<named:id>/deletion", deletions.OrganisationDataView.as_view()),
    path("organisation-deletions", deletions.OrganisationDeletionsView.as_view()),
    path("organisation-deletions/<uuid:id>", deletions.OrganisationDeletionView.as_view()),
    path("organisations/<named:id>/retention", organisations.OrganisationRetentionView.as_view()),
    path("organisations/<named:id>/retention/preview", organisations.OrganisationRetentionPreviewView.as_view()),
    path("projects/<named:id>/deletion", deletions.ProjectDataView.as_view()),
    path("project-deletions", deletions.ProjectDeletionsView.as_view()),
    path("project-deletions/<uuid:id>", deletions.ProjectDeletionView.as_view()),
    path("projects/<named:id>/retention", views.RetentionView.as_view()),
    path("projects/<named:id>/retention/preview", views.RetentionPreviewView.as_view()),
]
