# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.notebooks.api.views import NotebookView

urlpatterns = [path("jobs/<named:id>/notebook", NotebookView.as_view())]
