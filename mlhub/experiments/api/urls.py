# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.experiments.api import views
from mlhub.experiments.api.importance import CompareImportanceView

urlpatterns = [
    path("jobs/compare/importance", CompareImportanceView.as_view()),
    path("studies", views.StudiesView.as_view()),
    path("studies/<uuid:id>", views.StudyView.as_view()),
    path("studies/<uuid:id>/trials", views.TrialsView.as_view()),
    path("studies/<uuid:id>/importance", views.ImportanceView.as_view()),
    path("studies/<uuid:id>/pause", views.PauseStudyView.as_view()),
    path("studies/<uuid:id>/resume", views.ResumeStudyView.as_view()),
    path("studies/<uuid:id>/extend", views.ExtendStudyView.as_view()),
    path("studies/<uuid:id>/clone", views.CloneStudyView.as_view()),
    path("studies/<uuid:id>/stop", views.StopStudyView.as_view()),
]
