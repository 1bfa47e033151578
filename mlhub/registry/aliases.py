# SPDX-License-Identifier: Apache-2.0
"""Names such as @best and @production for versions of a model: set, move and delete them, each with an audit event."""

from __future__ import annotations

import re
from typing import Any

from django.db import transaction

from mlhub.core.errors import InvalidInputError, NotAllowedError, NotFoundError
from mlhub.datasets.models import VersionState
from mlhub.events.actions import append
from mlhub.registry.models import Model, ModelAlias, ModelVersion
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role

MAX_ALIASES = 50  # of a model
NAME = re.compile(r"[a-z][a-z0-9_.-]{0,49}")


def set_alias(model: Model, name: str, *, number: int, actor: User) -> ModelAlias:
    """Gives a version the name, which no other version of the model has then.

    Raises InvalidInputError for a name or a version that cannot be used, NotAllowedError.
    """
    project = _changeable(model, actor)
    if not NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name[:100]!r} cannot be an alias.",
            field="name",
            remedy="Give at most 50 of a-z, 0-9, _, . and -, beginning with a letter.",
        )
    with transaction.atomic():
        Model.objects.select_for_update().get(pk=model.pk)  # the version is not deleted meanwhile
        version = ModelVersion.objects.filter(model=model, number=number, state=VersionState.READY).first()
        if version is None:
            raise InvalidInputError(
                f"{model.name} has no ready version {number}.", field="version", remedy="Name one that is ready."
            )
        others = ModelAlias.objects.filter(model=model).exclude(name=name)
        if others.count() >= MAX_ALIASES:
            raise InvalidInputError(
                f"{model.name} has {MAX_ALIASES} aliases already.", field="name", remedy="Delete one first."
            )
        before = ModelAlias.objects.filter(model=model, name=name).select_related("version").first()
        alias, _ = ModelAlias.objects.update_or_create(
            model=model, name=name, defaults={"version": version, "set_by": actor}
        )
        if before is None or before.version_id != version.pk:
            moved_from = None if before is None else before.version.number
            _record("model.alias_set", model, project, actor, alias=name, number=number, before=moved_from)
    found: ModelAlias = alias
    return found


def delete_alias(model: Model, name: str, *, actor: User) -> None:
    """Raises NotFoundError, NotAllowedError."""
    project = _changeable(model, actor)
    with transaction.atomic():
        Model.objects.select_for_update().get(pk=model.pk)
        alias = ModelAlias.objects.filter(model=model, name=name).select_related("version").first()
        if alias is None:
            raise NotFoundError(f"{model.name} has no alias {name[:100]}.")
        alias.delete()
        _record("model.alias_deleted", model, project, actor, alias=name, number=alias.version.number)


def _changeable(model: Model, actor: User) -> Project:
    if model.project is None:
        raise NotAllowedError(
            f"{model.name} is one of MLHub's own models.", code="built_in", remedy="Name versions of your own models."
        )
    require_role(actor, model.project, Role.MEMBER)
    require_open(model.project)
    found: Project = model.project
    return found


def _record(kind: str, model: Model, project: Project, actor: User, **facts: Any) -> None:
    append(
        kind,
        organisation=project.organisation,
        subject_kind="model",
        subject_id=model.pk,
        actor=actor,
        name=model.name,
        **facts,
    )
