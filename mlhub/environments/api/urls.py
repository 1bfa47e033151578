# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.environments.api import builds, views

urlpatterns = [
    path("environments", views.EnvironmentsView.as_view()),
    path("environments/<uuid:id>", builds.EnvironmentView.as_view()),
    path("environments/<uuid:id>/stop", builds.StopView.as_view()),
    path("environments/<uuid:id>/build", builds.BuildView.as_view()),
    path("environments/<uuid:id>/log", views.EnvironmentLogView.as_view()),
    path("projects/<named:id>/secrets", views.SecretsView.as_view()),
    path("projects/<named:id>/secrets/<str:name>", views.SecretView.as_view()),
]
