# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.experiments.api import views
from mlhub.experiments.api.importance import CompareImportanceView

urlpatterns = [
    path("jobs/compare/importance", CompareImportanceView.as_view()),
    path("studies", views.StudiesView.as_view()),
    path("studies/<named:id>", views.StudyView.as_view()),
    path("studies/<named:id>/trials", views.TrialsView.as_view()),
    path("studies/<named:id>/importance", views.ImportanceView.as_view()),
    path("studies/<named:id>/pause", views.PauseStudyView.as_view()),
    path("studies/<named:id>/resume", views.ResumeStudyView.as_view()),
    path("studies/<named:id>/extend", views.ExtendStudyView.as_view()),
    path("studies/<named:id>/clone", views.CloneStudyView.as_view()),
    path("studies/<named:id>/stop", views.StopStudyView.as_view()),
]
