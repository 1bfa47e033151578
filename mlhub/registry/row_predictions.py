# SPDX-License-Identifier: Apache-2.0
"""Trying a trained version out with single rows: who may, where it can be done, and the turn of each organisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from mlhub.core.errors import ConflictError
from mlhub.registry.export.archive import check_exportable
from mlhub.registry.models import ModelVersion
from mlhub.registry.predictors.pool import prediction_seats, predictor_pool
from mlhub.storage.inspection import refusal_of_weak_sandbox
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import User
from mlhub.tenants.roles import Role

MAX_ROWS = 256


def predict_rows(version: ModelVersion, rows: Sequence[Any], *, actor: User) -> list[Any]:
    """A prediction for each row. version: with everything that an export needs.

    Raises NotAllowedError, ConflictError or InvalidInputError with the reason, RateLimitedError, UnavailableError.
    """
    project = version.model.project
    if project is not None:
        require_role(actor, project, Role.SUBMITTER)
    check_exportable(version)
    _check_installation()
    flow = str(actor.pk if project is None else project.organisation_id)
    with prediction_seats().taken(flow):
        return predictor_pool().predict(version, rows)


def _check_installation() -> None:
    if not settings.PREDICTORS or settings.SANDBOX != "local":
        raise ConflictError(
            "Models cannot be tried out on this installation.",
            code="no_predictors",
            remedy="Start a prediction job, or export the model and run predict.py.",
        )
    refusal = refusal_of_weak_sandbox()
    if refusal is not None:
        raise ConflictError(refusal["message"], code=refusal["code"], remedy=refusal["remedy"])
