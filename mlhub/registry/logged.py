# SPDX-License-Identifier: Apache-2.0
"""Models that MLflow's clients register: a line of versions, each of which holds the files of a logged model.

A version has the files as they were when it was registered: what its run or its logged model loses later stays here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, models, transaction

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.datasets.models import VersionState
from mlhub.events.actions import append
from mlhub.registry.actions import OWNER_KIND, own_project
from mlhub.registry.models import Kind, Model, ModelFile, ModelVersion
from mlhub.storage import actions as storage
from mlhub.storage.models import Blob
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role

LOGGED = "logged"  # the source of such versions
MAX_NAME = 100
MAX_LABELS = 100  # of a model, and of a version
MAX_LABEL_KEY, MAX_LABEL_VALUE = 250, 8000
MAX_DESCRIPTION = 10_000


def create_line(
    project: Project, *, name: str, description: str = "", labels: Mapping[str, str] | None = None, actor: User
) -> Model:
    """A model without versions. Raises ConflictError when the name is taken, InvalidInputError, NotAllowedError."""
    require_role(actor, project, Role.MEMBER)
    require_open(project)
    check_name(name)
    _check_description(description)
    checked = _checked(labels or {})
    with transaction.atomic():
        try:
            with transaction.atomic():
                model = Model.objects.create(
                    project=project, name=name, description=description, labels=checked, created_by=actor
                )
        except IntegrityError as error:
            raise _taken(name, project) from error
        _record("model.created", model, actor, project_id=str(project.pk))
    return model


def register_files(
    model: Model,
    files: Mapping[str, Blob],
    *,
    origin: Mapping[str, str],
    metrics: Mapping[str, float],
    notes: str = "",
    labels: Mapping[str, str] | None = None,
    actor: User,
) -> ModelVersion:
    """The next version, which holds these files. origin: {source, run_id, model_id}, where they come from.

    Raises InvalidInputError without files, QuotaExceededError, NotAllowedError, ConflictError for an archived project.
    """
    project = own_project(model)
    require_role(actor, project, Role.MEMBER)
    require_open(project)
    _check_description(notes)
    if not files:
        raise InvalidInputError(
            "There are no files at the source.", field="source", remedy="Log the model before it is registered."
        )
    with transaction.atomic():
        Model.objects.select_for_update().get(pk=model.pk)  # versions are numbered one after the other
        newest = model.versions.aggregate(newest=models.Max("number"))["newest"] or 0
        version: ModelVersion = ModelVersion.objects.create(
            model=model,
            number=newest + 1,
            source=LOGGED,
            kind=Kind.MLFLOW,
            entry="",
            state=VersionState.READY,
            size_bytes=sum(blob.size_bytes for blob in files.values()),
            metadata={"mlflow": dict(origin)},
            metrics=dict(metrics),
            notes=notes,
            labels=_checked(labels or {}),
            created_by=actor,
        )
        for blob in {blob.pk: blob for blob in files.values()}.values():
            storage.hold(
                project,
                sha256=blob.sha256,
                size_bytes=blob.size_bytes,
                owner_kind=OWNER_KIND,
                owner_id=version.pk,
            )
        rows = [ModelFile(version=version, path=path, blob=blob) for path, blob in sorted(files.items())]
        ModelFile.objects.bulk_create(rows)
        _record("model.registered", model, actor, version_id=str(version.pk), number=version.number, **origin)
    return version


def describe_line(model: Model, *, name: str | None = None, description: str | None = None, actor: User) -> None:
    """Renames a model, or describes it: for who made it, and admins. Raises ConflictError, NotAllowedError."""
    project = own_project(model)
    require_role(actor, project, Role.MEMBER if model.created_by_id == actor.pk else Role.ADMIN)
    require_open(project)
    if name is not None:
        check_name(name)
        model.name = name
    if description is not None:
        _check_description(description)
        model.description = description
    with transaction.atomic():
        try:
            with transaction.atomic():
                model.save(update_fields=["name", "description"])
        except IntegrityError as error:
            raise _taken(model.name, project) from error
        _record("model.described", model, actor)


def set_label(target: Model | ModelVersion, key: str, value: str | None, *, actor: User) -> bool:
    """Writes one, or takes it away (None): for members. Returns whether there was one of that key.

    Raises InvalidInputError, NotAllowedError.
    """
    model = target.model if isinstance(target, ModelVersion) else target
    project = own_project(model)
    require_role(actor, project, Role.MEMBER)
    require_open(project)
    with transaction.atomic():
        found = type(target)._default_manager.select_for_update(of=("self",)).get(pk=target.pk)
        had = key in found.labels
        labels = {name: text for name, text in found.labels.items() if name != key}
        if value is not None:
            labels = _checked({**labels, key: value})
        type(target)._default_manager.filter(pk=target.pk).update(labels=labels)
    return had


def check_name(name: str) -> None:
    """Raises InvalidInputError for what cannot be written in models:/name/1 and models:/name@alias."""
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or set("/:@") & set(name) or name in (".", ".."):
        raise InvalidInputError(
            f"{name[:100]!r} is no name of a model.",
            field="name",
            remedy=f"Give 1 to {MAX_NAME} printable characters, without /, : and @.",
        )


def _checked(labels: Mapping[str, str]) -> dict[str, str]:
    if len(labels) > MAX_LABELS:
        raise InvalidInputError(f"It may have {MAX_LABELS} tags.", field="tags", remedy="Delete one first.")
    for key, value in labels.items():
        if not 0 < len(key) <= MAX_LABEL_KEY or not key.isprintable() or len(value) > MAX_LABEL_VALUE:
            raise InvalidInputError(
                f"The tag {key[:100]!r} is too long, or has no printable name.",
                field="tags",
                remedy=f"Give at most {MAX_LABEL_KEY} characters of name and {MAX_LABEL_VALUE:,} of value.",
            )
    return dict(labels)


def _check_description(text: str) -> None:
    if len(text) > MAX_DESCRIPTION:
        raise InvalidInputError(
            f"The description has {len(text):,} characters.",
            field="description",
            remedy=f"Give at most {MAX_DESCRIPTION:,}.",
        )


def _taken(name: str, project: Project) -> ConflictError:
    return ConflictError(f"There is already a model called {name} in {project.name}.", code="name_taken", field="name")


def _record(kind: str, model: Model, actor: User, **facts: Any) -> None:
    append(
        kind,
        organisation=own_project(model).organisation,
        subject_kind="model",
        subject_id=model.pk,
        actor=actor,
        name=model.name,
        **facts,
    )
