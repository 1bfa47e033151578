# SPDX-License-Identifier: Apache-2.0
"""Registers what MLHub ships: its models, and what stands for the code of notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from mlhub.datasets.models import VersionState
from mlhub.registry.builtins import BUILTINS, NOTEBOOK_MODEL, Builtin
from mlhub.registry.models import Kind, Model, ModelVersion


def ensure_builtins() -> int:
    """Registers the models that MLHub ships, each with one ready version; returns how many were missing."""
    return _ensure(BUILTINS, Kind.BUILTIN)


def notebook_version() -> ModelVersion:
    """The version that stands for the code of notebooks: to the scheduler they are scripts, of unknown length."""
    versions = ModelVersion.objects.filter(model__project=None, model__name=NOTEBOOK_MODEL.name, number=1)
    found = versions.first()
    if found is None:
        _ensure([NOTEBOOK_MODEL], Kind.SCRIPT)
        found = versions.get()
    return found


def _ensure(builtins: Sequence[Builtin], kind: Kind) -> int:
    """Adds the models and versions that are missing, though another process may do so at the same time."""
    registered = Model.objects.filter(project=None, name__in=[builtin.name for builtin in builtins])
    n_before = registered.count()
    with transaction.atomic():
        Model.objects.bulk_create(
            [Model(name=builtin.name, description=builtin.description) for builtin in builtins], ignore_conflicts=True
        )
        ModelVersion.objects.bulk_create(
            [
                ModelVersion(
                    model=model, number=1, source="upload", kind=kind, entry=model.name, state=VersionState.READY
                )
                for model in registered
            ],
            ignore_conflicts=True,
        )
    return len(builtins) - n_before
