# SPDX-License-Identifier: Apache-2.0
"""Registers what MLHub ships: its models, and what stands for the code of notebooks."""

from __future__ import annotations

from django.db import transaction

from mlhub.datasets.models import VersionState
from mlhub.registry.builtins import BUILTINS, NOTEBOOK_MODEL, Builtin
from mlhub.registry.models import Kind, Model, ModelVersion


def ensure_builtins() -> int:
    """Registers the models that MLHub ships, each with one ready version; returns how many were missing."""
    n_created = 0
    for builtin in BUILTINS:
        _, created = _ensured(builtin, Kind.BUILTIN)
        n_created += created
    return n_created


def notebook_version() -> ModelVersion:
    """The version that stands for the code of notebooks: to the scheduler they are scripts, of unknown length."""
    return _ensured(NOTEBOOK_MODEL, Kind.SCRIPT)[0]


def _ensured(builtin: Builtin, kind: Kind) -> tuple[ModelVersion, bool]:
    """The version, and whether its model was made just now."""
    with transaction.atomic():
        model, created = Model.objects.get_or_create(
            project=None, name=builtin.name, defaults={"description": builtin.description}
        )
        version, _ = ModelVersion.objects.get_or_create(
            model=model,
            number=1,
            defaults={"source": "upload", "kind": kind, "entry": builtin.name, "state": VersionState.READY},
        )
    return version, created
