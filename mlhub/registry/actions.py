# SPDX-License-Identifier: Apache-2.0
"""Writes to the registry: what validation finds, built-ins, deletions, and the results of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any
from uuid import UUID

from django.db import models, transaction

from mlhub.core.errors import ConflictError, NotAllowedError
from mlhub.core.references import refuses_while_used
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.environments.actions import request_environment
from mlhub.environments.images import check_image
from mlhub.environments.models import PythonEnvironment
from mlhub.events.actions import append
from mlhub.registry.models import Kind, Model, ModelVersion, name_of_trained
from mlhub.registry.packages import entry_of
from mlhub.registry.trained_on import kept_of
from mlhub.storage import actions as storage
from mlhub.storage import work_queue
from mlhub.storage.inspection import MAX_TRIES
from mlhub.storage.models import Blob
from mlhub.storage.stores import StagedBytes
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role

OWNER_KIND = "model_version"
VALIDATE = "mlhub.registry.tasks.validate_version"


def delete_model(model: Model, *, actor: User) -> None:
    """For who made it, and admins. Raises ConflictError while jobs use a version of it."""
    require_role(actor, own_project(model), Role.MEMBER if model.created_by_id == actor.id else Role.ADMIN)
    with transaction.atomic():
        version_ids = list(model.versions.values_list("id", flat=True))
        for version_id in version_ids:
            storage.release(owner_kind=OWNER_KIND, owner_id=version_id)
        work_queue.withdraw(version_ids)
        with _refuses_while_used(model.name):
            model.versions.exclude(source="upload").delete()
            Model.objects.filter(pk=model.pk).delete()
        record("model.deleted", model, actor, name=model.name)


def delete_version(version: ModelVersion, *, actor: User, may_be_last: bool = False) -> None:
    """For who made it, and admins. Raises ConflictError while jobs, trained models or aliases use it, or when it
    is the only version (unless it may be), and NotAllowedError for built-in models."""
    model = version.model
    require_role(actor, own_project(model), Role.MEMBER if version.created_by_id == actor.id else Role.ADMIN)
    with transaction.atomic():
        Model.objects.select_for_update().get(pk=model.pk)
        if model.versions.count() == 1 and not may_be_last:
            raise ConflictError(
                f"{model.name} has no other version.", code="only_version", remedy="Delete the model as a whole."
            )
        _refuse_named(version)
        storage.release(owner_kind=OWNER_KIND, owner_id=version.pk)
        work_queue.withdraw([version.pk])
        with _refuses_while_used(f"version {version.number} of {model.name}"):
            ModelVersion.objects.filter(pk=version.pk).delete()
        record("model.version_deleted", model, actor, name=model.name, number=version.number)


def _refuse_named(version: ModelVersion) -> None:
    """Raises ConflictError for a version that has an alias, by which people and programs name it."""
    names = [f"@{name}" for name in version.aliases.order_by("name").values_list("name", flat=True)]
    if names:
        raise ConflictError(
            f"Version {version.number} of {version.model.name} is called {', '.join(names)}.",
            code="has_alias",
            remedy="Move or delete the alias first.",
            aliases=names,
        )


def _refuses_while_used(what: str) -> AbstractContextManager[None]:
    remedy = "Delete those jobs and trained models first; jobs that run are cancelled before."
    return refuses_while_used(
        what, by_one="job or trained model", by_several="jobs or trained models", remedy=remedy, fact="n_users"
    )


def begin_validation(version: ModelVersion) -> bool:
    """Counts a try. False when there were MAX_TRIES, each of which broke off with no verdict."""
    left = ModelVersion.objects.filter(pk=version.pk, n_inspections__lt=MAX_TRIES)
    return bool(left.update(n_inspections=models.F("n_inspections") + 1))


def require_environment(version: ModelVersion, *, requirements: Sequence[str], origin: str) -> None:
    """Gives the version the environment of these requirements, which it waits for until it is built.

    In one transaction: a build that ends meanwhile finds the version. Raises InvalidInputError.
    """
    project = own_project(version.model)
    with transaction.atomic():
        version.environment = request_environment(
            project.organisation, requirements=requirements, origin=origin, actor=version.created_by
        )
        version.n_inspections = 0  # those so far looked for requirements only
        version.save(update_fields=["environment", "n_inspections"])


def bring_image(version: ModelVersion, *, image: str) -> None:
    """Notes the container image that the code brings for its workers. Raises InvalidInputError for one that may not."""
    check_image(image, origin="pyproject.toml")
    version.image = image
    version.n_inspections = 0  # those so far looked for an image only
    version.save(update_fields=["image", "n_inspections"])


def change_environment(code: ModelVersion, environment: PythonEnvironment) -> None:
    """The same requirements, built anew for the platform's present packages."""
    with transaction.atomic():
        before = code.environment
        code.environment = environment
        code.save(update_fields=["environment"])
        if before is not None and before.layer_id not in (None, environment.layer_id):
            storage.release(owner_kind=OWNER_KIND, owner_id=code.id, sha256=before.layer_id)
        _hold_environment(code)


def accept_version(version_id: UUID, *, contract: dict[str, Any], found_out: Mapping[str, str] | None = None) -> bool:
    """INSPECTING becomes READY. False when another validation was first.

    found_out: kind and entry of code that was uploaded without them. Raises InvalidInputError for what is no entry.
    """
    if found_out is not None:
        kind = Kind.SCRIPT if found_out["kind"] == Kind.SCRIPT else Kind.PACKAGE
        entry = entry_of(found_out["entry"][:200], kind=kind, filename="", is_single_file=False)
        ModelVersion.objects.filter(pk=version_id, entry="").update(kind=kind, entry=entry)
    return _conclude(version_id, state=VersionState.READY, kind="model.ready", contract=contract)


def refuse_version(version_id: UUID, *, error: dict[str, str]) -> bool:
    """INSPECTING becomes REFUSED with {field, message, remedy}, and its bytes are released."""
    return _conclude(version_id, state=VersionState.REFUSED, kind="model.refused", error=error)


def register_trained(
    job_id: UUID,
    *,
    code_version: ModelVersion,
    dataset_version: DatasetVersion | None,
    weights_blob: Blob,
    metadata: dict[str, Any],
    metrics: dict[str, Any],
    created_by: User | None,
    project: Project | None = None,
) -> ModelVersion:
    """The result of a job as a model version with its lineage. Registering the same job again returns the same.

    dataset_version: None for what a script trained without one; then the project is given.
    It joins the line of its code's model when that is in `project`'s organisation (by default: the dataset's project).
    Otherwise, and for built-in models, which all users see, it begins a line of its own there. Never refused for
    storage: the bytes are there, and a finished training must not be lost.
    """
    if project is None:
        if dataset_version is None:
            raise ValueError("what was trained without a dataset needs a project")
        project = dataset_version.dataset.project
    with transaction.atomic():
        model = _line_of(code_version, project, created_by)
        Model.objects.select_for_update().get(pk=model.pk)
        found: ModelVersion | None = ModelVersion.objects.filter(job_id=job_id).first()
        if found is not None:
            return found
        version: ModelVersion = ModelVersion.objects.create(
            model=model,
            number=next_number(model),
            source="training",
            kind=code_version.kind,
            entry=code_version.entry,
            state=VersionState.READY,
            weights=weights_blob,
            size_bytes=weights_blob.size_bytes,
            metadata=metadata,
            metrics=metrics,
            code_version=code_version,
            dataset_version=dataset_version,
            trained_on=kept_of(dataset_version),
            job_id=job_id,
            created_by=created_by,
        )
        storage.hold(
            project,
            sha256=weights_blob.sha256,
            size_bytes=weights_blob.size_bytes,
            owner_kind=OWNER_KIND,
            owner_id=version.id,
            user=created_by,
            within_quota=False,
        )
        record("model.trained", model, created_by, version_id=str(version.id), job_id=str(job_id), metrics=metrics)
    return version


def register_checkpoint(
    *,
    code_version: ModelVersion,
    dataset_version: DatasetVersion | None,
    staging: StagedBytes,
    metadata: dict[str, Any],
    metrics: dict[str, Any],
    created_by: User,
    project: Project,
) -> ModelVersion:
    """The weights of a checkpoint as a model version, to start from. The same checkpoint again gives the same version.

    metadata: holds under "checkpoint" what it is of. Raises QuotaExceededError.
    """
    with transaction.atomic():
        model = _line_of(code_version, project, created_by)
        Model.objects.select_for_update().get(pk=model.pk)
        sha256 = staging.finish().sha256
        same = ModelVersion.objects.filter(model=model, weights_id=sha256)
        found: ModelVersion | None = same.filter(metadata__checkpoint=metadata["checkpoint"]).first()
        if found is not None:
            return found
        version: ModelVersion = ModelVersion.objects.create(
            model=model,
            number=next_number(model),
            source="training",
            kind=code_version.kind,
            entry=code_version.entry,
            state=VersionState.READY,
            size_bytes=staging.size_bytes,
            metadata=metadata,
            metrics=metrics,
            code_version=code_version,
            dataset_version=dataset_version,
            trained_on=kept_of(dataset_version),
            created_by=created_by,
        )
        version.weights = storage.keep(
            staging, place=project, owner_kind=OWNER_KIND, owner_id=version.id, user=created_by
        )
        version.save(update_fields=["weights"])
        record("model.checkpoint_registered", model, created_by, version_id=str(version.id), metrics=metrics)
    return version


def _line_of(code_version: ModelVersion, project: Project, created_by: User | None) -> Model:
    own = code_version.model
    if own.project is not None and own.project.organisation_id == project.organisation_id:
        return own
    line, _ = Model.objects.get_or_create(
        project=project,
        name=name_of_trained(own.name),
        defaults={"description": f"Trained versions of {own.name}.", "created_by": created_by},
    )
    return line


def next_number(model: Model) -> int:
    """Of the version that is made now."""
    return (model.versions.aggregate(newest=models.Max("number"))["newest"] or 0) + 1


def own_project(model: Model) -> Project:
    """The project that the model belongs to. Raises NotAllowedError for a built-in model."""
    if model.project is None:
        raise NotAllowedError(
            f"{model.name} is one of MLHub's own models.",
            code="built_in",
            remedy="Upload a model of your own to change it.",
        )
    return model.project


def _conclude(version_id: UUID, *, state: VersionState, kind: str, **found: Any) -> bool:
    with transaction.atomic():
        # a refused version releases its zip, which no owner holds from now on
        let_go = {"package": None} if state == VersionState.REFUSED else {}
        moved = ModelVersion.objects.filter(pk=version_id, state=VersionState.INSPECTING).update(
            state=state, **let_go, **found
        )
        if not moved:
            return False
        related = ("model__project__organisation", "environment__layer")
        version = ModelVersion.objects.select_related(*related).get(pk=version_id)
        if state == VersionState.REFUSED:
            storage.release(owner_kind=OWNER_KIND, owner_id=version_id)
        else:
            _hold_environment(version)
        facts = {"error": {k: v for k, v in found["error"].items() if k != "traceback"}} if "error" in found else {}
        record(
            kind,
            version.model,
            None,
            name=version.model.name,
            version_id=str(version_id),
            number=version.number,
            **facts,
        )
    return True


def _hold_environment(version: ModelVersion) -> None:
    """Counts the layer that the version requires in the storage of its project, once however many versions require it.

    Never refused there: the layer is in the organisation's store already, where its quota was asked.
    """
    layer = None if version.environment is None else version.environment.layer
    if layer is not None:
        storage.hold(
            own_project(version.model),
            sha256=layer.sha256,
            size_bytes=layer.size_bytes,
            owner_kind=OWNER_KIND,
            owner_id=version.id,
            within_quota=False,
        )


def record(kind: str, model: Model, actor: User | None, **facts: Any) -> None:
    """An event of the model."""
    append(
        kind,
        organisation=None if model.project is None else model.project.organisation,
        subject_kind="model",
        subject_id=model.id,
        actor=actor,
        **facts,
    )
