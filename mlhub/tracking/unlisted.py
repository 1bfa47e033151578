# SPDX-License-Identifier: Apache-2.0
"""Runs and logged models that no list shows: they keep no project, and go with it.

A client of MLflow deletes a run by hiding it, and a logged model outlives its run.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Model, Q, QuerySet

from mlhub.storage import actions as storage
from mlhub.tenants.parts import UNLISTED, UnlistedRows, of_projects
from mlhub.tracking.actions import remove_run
from mlhub.tracking.artifacts import LOGGED_OWNER_KIND
from mlhub.tracking.models import LoggedModel, Run


def connect() -> None:
    """Called once, when the apps are ready."""
    UNLISTED[Run] = UnlistedRows(_hidden_runs, _remove_runs)
    UNLISTED[LoggedModel] = UnlistedRows(_models_without_run, _remove_models)


def _hidden_runs(owner: Model) -> QuerySet[Any]:
    return Run.objects.filter(job=None, **of_projects(owner)).exclude(deleted_at=None)


def _remove_runs(project: Model) -> None:
    for run in _hidden_runs(project).select_related("project__organisation"):
        remove_run(run, actor=None)


def _models_without_run(owner: Model) -> QuerySet[Any]:
    """Those of shown runs are on the page of the run."""
    return LoggedModel.objects.filter(Q(run=None) | ~Q(run__deleted_at=None), **of_projects(owner))


def _remove_models(project: Model) -> None:
    for pk in _models_without_run(project).values_list("pk", flat=True):
        storage.release(owner_kind=LOGGED_OWNER_KIND, owner_id=pk)
    _models_without_run(project).delete()
