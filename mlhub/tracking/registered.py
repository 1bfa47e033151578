# SPDX-License-Identifier: Apache-2.0
"""MLflow's model registry: registered models are MLHub's models, whose names are unique within a project only.

A client names a model "net", or "project.net" where several projects that it sees have one.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

from django.db.models import QuerySet

from mlhub.core.errors import ConflictError, InvalidInputError, NotAllowedError, NotFoundError
from mlhub.jobs.models import Job
from mlhub.registry.models import Model, ModelVersion
from mlhub.registry.querysets import MAX_DIGITS
from mlhub.storage.models import Blob
from mlhub.tenants.models import Project
from mlhub.tracking import artifacts
from mlhub.tracking.access import Caller, public_id
from mlhub.tracking.artifacts import FOLDER, FileOwner
from mlhub.tracking.models import LoggedModel

MODELS, VERSIONS = "models", "versions"  # in addresses of files: those of logged models and of registered versions
SCHEME = "mlflow-artifacts"


@dataclass(frozen=True)
class ModelOrigin:
    """What a version is made of. facts: of run_id, model_id and job_id those that there are."""

    files: dict[str, Blob]
    facts: dict[str, str]
    metrics: dict[str, float]
    project: Project


def registered(caller: Caller, name: str) -> Model:
    """The model of that name. Raises NotFoundError, InvalidInputError for a name of several."""
    rows = caller.registered_models
    found = list(rows.filter(name=name).order_by("id")[:2]) or list(_dotted(rows, name)[:2])
    if len(found) > 1:
        raise InvalidInputError(
            f"Several models that you see are called {name[:200]}.",
            field="name",
            remedy=f"Write {found[0].project.name}.{found[0].name}, with the project's name before it.",
        )
    if not found:
        raise NotFoundError(f"Registered Model with name={name[:200]} not found.", field="name")
    return found[0]


def version_of(caller: Caller, name: str, number: str) -> ModelVersion:
    """Raises NotFoundError."""
    wanted = int(number) if number.isdecimal() and len(number) < MAX_DIGITS else -1
    found: ModelVersion | None = versions(registered(caller, name)).filter(number=wanted).first()
    if found is None:
        raise NotFoundError(f"Model Version (name={name[:200]}, version={number[:20]}) not found.", field="version")
    return found


def versions(model: Model) -> QuerySet[ModelVersion]:
    return model.versions.select_related("model__project__organisation", "created_by").prefetch_related("aliases")


def place_of(caller: Caller, name: str) -> tuple[Project, str]:
    """Where a model of this name is to be made, and its name there.

    The project that stands before the name; else the pods' own, the only one that the caller sees, or the one where
    they logged last. Raises ConflictError when the name is taken, InvalidInputError.
    """
    rows = caller.projects.filter(archived_at=None).select_related("organisation")
    if caller.attempt is not None:
        return caller.attempt.job.project, name.removeprefix(f"{caller.attempt.job.project.name}.")
    for cut in _cuts(name):
        project = rows.filter(name=name[:cut]).first()
        if project is not None:
            return project, name[cut + 1 :]
    if caller.registered_models.filter(name=name).exists():
        raise ConflictError(f"Registered Model (name={name[:200]}) already exists.", code="name_taken", field="name")
    found = list(rows.order_by("id")[:2])
    last = _logged_last(caller) if len(found) > 1 else None
    if last is not None and rows.filter(pk=last).exists():
        return rows.get(pk=last), name
    if len(found) == 1:
        return found[0], name
    raise InvalidInputError(
        f"You see several projects, or none: it is not said of which {name[:200]} is to be.",
        field="name",
        remedy="Write project.name, log to a run first, or use a token for one project.",
    )


def shown_names(caller: Caller, models: list[Model]) -> dict[UUID, str]:
    """How this caller names each of these models."""
    names = [model.name for model in models]
    found: dict[str, int] = {}
    for name in caller.registered_models.filter(name__in=names).values_list("name", flat=True):
        found[name] = found.get(name, 0) + 1
    return {
        model.pk: model.name if found.get(model.name, 0) < 2 or model.project is None
        else f"{model.project.name}.{model.name}"
        for model in models
    }  # fmt: skip


def require_own(caller: Caller, version: ModelVersion) -> None:
    """Pods change versions of their own job alone. Raises NotAllowedError."""
    origin = version.metadata.get("mlflow", {}) if isinstance(version.metadata, dict) else {}
    if caller.attempt is not None and origin.get("job_id") != str(caller.attempt.job_id):
        raise NotAllowedError("A job changes only versions that it registered itself.")


def require_person(caller: Caller) -> None:
    """Raises NotAllowedError for pods: they add to the registry, and take nothing out of it."""
    if caller.attempt is not None:
        raise NotAllowedError("A job does not change or delete registered models.", remedy="Use a token of your own.")


def origin_of(caller: Caller, source: str) -> ModelOrigin:
    """The files at a version's source: models:/m-..., models:/name/1, runs:/... or mlflow-artifacts:/...

    Raises InvalidInputError for another source, NotFoundError for one that the caller may not see.
    """
    parts = urlsplit(source)
    path = unquote(parts.path).strip("/")
    first, _, rest = path.partition("/")
    if parts.scheme == "models":
        return _described(version_of(caller, first, rest) if rest else caller.logged_model(first), "")
    if parts.scheme == "runs":
        return _described(caller.run(first), rest)
    if parts.scheme == SCHEME:
        return _described(*owner_of(caller, path))
    raise InvalidInputError(
        f"{source[:200]!r} is no place on MLHub.",
        field="source",
        remedy="Log the model to MLHub first, and register models:/m-... or runs:/...",
    )


def owner_of(caller: Caller, path: str) -> tuple[FileOwner, str]:
    """What the address experiment/.../artifacts/path names files of, and the path.

    Raises NotFoundError, InvalidInputError.
    """
    parts = path.strip("/").split("/")
    kind = parts[1] if len(parts) > 1 and parts[1] in (MODELS, VERSIONS) else ""
    n = 4 if kind else 3
    if len(parts) < n or parts[n - 1] != FOLDER or ".." in parts:
        raise InvalidInputError(
            f"{path[:200]!r} names no artifact of a run or a model.",
            field="path",
            remedy="The artifact_uri of a run or a model says how its paths begin.",
        )
    target: FileOwner
    if kind == MODELS:
        target = caller.logged_model(parts[2])
    elif kind == VERSIONS:
        target = _version(caller, parts[2])
    else:
        target = caller.run(parts[1])
    if str(project_of(target).pk) != parts[0]:
        raise NotFoundError(f"The experiment {parts[0][:100]} has no {parts[n - 2][:100]}.")
    return target, "/".join(parts[n:])


def project_of(target: FileOwner) -> Project:
    """Versions that callers reach have one: those that MLHub ships are not in the registry."""
    found: Project | None = target.model.project if isinstance(target, ModelVersion) else target.project
    assert found is not None
    return found


def location_of(version: ModelVersion) -> str:
    """Where clients read its files."""
    return f"{SCHEME}:/{project_of(version).pk}/{VERSIONS}/{version.pk}/{FOLDER}"


def _version(caller: Caller, text: str) -> ModelVersion:
    rows = ModelVersion.objects.select_related("model__project__organisation", "package", "weights")
    found: ModelVersion | None = None
    with contextlib.suppress(ValueError):
        found = rows.filter(pk=UUID(text), model__in=caller.registered_models).first()
    if found is None:
        raise NotFoundError(f"There is no version {text[:100]} that you may see.")
    return found


def _described(target: FileOwner, folder: str) -> ModelOrigin:
    files, project = artifacts.files_below(target, folder), project_of(target)
    if isinstance(target, ModelVersion):
        facts = {key: value for key, value in target.metadata.get("mlflow", {}).items() if key != "source"}
        return ModelOrigin(files, facts, target.metrics, project)
    if isinstance(target, LoggedModel):
        own = target.run.job_id if target.run is not None else None
        facts = {"model_id": public_id(target), "run_id": target.run_id, "job_id": target.parent_job_id or own}
        metrics = {key: found["value"] for key, found in target.metrics.items()}
        return ModelOrigin(files, _written(facts), metrics, project)
    job_id = target.pk if isinstance(target, Job) else target.parent_job_id
    return ModelOrigin(files, _written({"run_id": target.pk, "job_id": job_id}), {}, project)


def _written(facts: dict[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in facts.items() if value is not None}


def _logged_last(caller: Caller) -> UUID | None:
    """The project of the newest run or logged model that this person made."""
    newest = [
        rows.filter(created_by=caller.user).order_by("-id").values_list("created_at", "project").first()
        for rows in (caller.runs, caller.logged_models)
    ]
    found = sorted(one for one in newest if one is not None)
    return found[-1][1] if found else None


def _dotted(rows: QuerySet[Model], name: str) -> QuerySet[Model]:
    """Models whose project's name and own name make this name with a dot between them."""
    found = rows.none()
    for cut in _cuts(name):
        found = found | rows.filter(project__name=name[:cut], name=name[cut + 1 :])
    return found.order_by("id")


def _cuts(name: str) -> list[int]:
    return [place for place, sign in enumerate(name[:250]) if sign == "."][:10]
