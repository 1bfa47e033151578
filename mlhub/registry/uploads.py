# SPDX-License-Identifier: Apache-2.0
"""Uploading code: a model with its first version, and further versions."""

from __future__ import annotations

from django.conf import settings
from django.db import IntegrityError, transaction

from mlhub.core.errors import ConflictError
from mlhub.registry.actions import OWNER_KIND, VALIDATE, next_number, own_project, record
from mlhub.registry.models import Model, ModelVersion
from mlhub.registry.packages import as_zip, entry_of, is_made_elsewhere, is_zip, kind_of
from mlhub.storage import actions as storage
from mlhub.storage import work_queue
from mlhub.storage.stores import StagedBytes, blob_store
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role


def upload_model(
    project: Project,
    *,
    name: str,
    description: str = "",
    staging: StagedBytes,
    filename: str,
    kind: str | None = None,
    entry: str | None = None,
    actor: User,
) -> Model:
    """A model with its first version of code, which Celery validates; all of it or nothing.

    Raises ConflictError when the name is taken, QuotaExceededError, InvalidInputError for a wrong file or entry.
    """
    require_role(actor, project, Role.MEMBER)
    require_open(project)
    with transaction.atomic():
        try:
            with transaction.atomic():
                model = Model.objects.create(project=project, name=name, description=description, created_by=actor)
        except IntegrityError as error:
            raise ConflictError(
                f"There is already a model called {name} in {project.name}.",
                code="name_taken",
                field="name",
                remedy="Choose another name, or upload a new version of that model.",
            ) from error
        _add_version(model, project, staging=staging, filename=filename, kind=kind, entry=entry, actor=actor)
        record("model.created", model, actor, name=name, project_id=str(project.id))
    return model


def upload_version(
    model: Model,
    *,
    staging: StagedBytes,
    filename: str,
    kind: str | None = None,
    entry: str | None = None,
    actor: User,
) -> ModelVersion:
    """Another version of the code. Raises what upload_model raises, and NotAllowedError for a built-in model."""
    project = own_project(model)
    require_role(actor, project, Role.MEMBER)
    require_open(project)
    with transaction.atomic():
        Model.objects.select_for_update().get(pk=model.pk)  # versions are numbered one after the other
        version = _add_version(model, project, staging=staging, filename=filename, kind=kind, entry=entry, actor=actor)
        record("model.version_created", model, actor, version_id=str(version.id), number=version.number)
    return version


def _add_version(
    model: Model,
    project: Project,
    *,
    staging: StagedBytes,
    filename: str,
    kind: str | None,
    entry: str | None,
    actor: User,
) -> ModelVersion:
    """kind None: found out by the entry, or from the code once it is inspected; its entry is "" until then."""
    store = blob_store()
    staging.finish()
    is_single_file = not is_zip(filename, staging)
    is_code = not (is_single_file and is_made_elsewhere(filename, staging))
    written_as, is_open = kind_of(kind, entry, is_code=is_code)
    found_entry = (
        ""
        if is_open
        else entry_of(entry, kind=written_as, filename=filename, is_single_file=is_single_file, is_code=is_code)
    )
    with store.stage(limit_bytes=settings.MAX_UPLOAD_BYTES) as wrapped:
        package = as_zip(staging, wrapped, filename=filename)
        version: ModelVersion = ModelVersion.objects.create(
            model=model,
            number=next_number(model),
            source="upload",
            kind=written_as,
            entry=found_entry,
            size_bytes=package.finish().size_bytes,
            created_by=actor,
        )
        version.package = storage.keep(package, place=project, owner_kind=OWNER_KIND, owner_id=version.id, user=actor)
        version.save(update_fields=["package"])
    work_queue.enqueue(
        VALIDATE, version.id, organisation=project.organisation, user=actor, size_bytes=version.size_bytes
    )
    return version
