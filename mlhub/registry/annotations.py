# SPDX-License-Identifier: Apache-2.0
"""Tags and notes of model versions: what people write on them. Notes are Markdown, which the dashboard renders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from mlhub.core.errors import NotAllowedError
from mlhub.core.tags import checked_tags
from mlhub.events.actions import append
from mlhub.registry.models import ModelVersion
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import User
from mlhub.tenants.roles import Role

MAX_NOTES_LENGTH = 50_000


def annotate_version(
    version: ModelVersion, *, actor: User, tags: Iterable[str] | None = None, notes: str | None = None
) -> None:
    """Replaces the tags or the notes, with an audit event; None leaves them. For members of the organisation.

    Raises InvalidInputError for too many tags, NotAllowedError, also for a built-in model.
    """
    model = version.model
    if model.project is None:
        raise NotAllowedError(
            f"{model.name} is one of MLHub's own models.",
            code="built_in",
            remedy="Annotate versions of your own models.",
        )
    require_role(actor, model.project, Role.MEMBER)
    require_open(model.project)
    after: dict[str, Any] = {} if tags is None else {"tags": checked_tags(tags, of="A version")}
    if notes is not None:
        after["notes"] = notes
    with transaction.atomic():
        found = ModelVersion.objects.select_for_update(of=("self",)).get(pk=version.pk)
        before = {name: getattr(found, name) for name in after}
        if after == before:
            return
        ModelVersion.objects.filter(pk=found.pk).update(**after)
        append(
            "model.version_annotated",
            organisation=model.project.organisation,
            subject_kind="model",
            subject_id=model.pk,
            actor=actor,
            name=model.name,
            number=found.number,
            before=_without_notes(before),
            after=_without_notes(after),
            is_noted="notes" in after,
        )


def _without_notes(values: dict[str, Any]) -> dict[str, Any]:
    """An event has no room for notes."""
    return {name: value for name, value in values.items() if name != "notes"}
