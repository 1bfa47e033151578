# SPDX-License-Identifier: Apache-2.0
"""Celery's part of the registry: validating uploaded code in the sandbox, and queueing again what was lost."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import shared_task

from mlhub.core.errors import InvalidInputError
from mlhub.core.locks import work_lock
from mlhub.datasets.models import VersionState
from mlhub.environments.models import EnvironmentState
from mlhub.registry import actions
from mlhub.registry.models import ModelVersion
from mlhub.runtime.scripts.arguments import COUNTS, is_count
from mlhub.storage import work_queue
from mlhub.storage.inspection import Verdict, given_up, inspect
from mlhub.storage.models import WorkItem
from mlhub.wire.sandbox import Argument, BlobArgument

STUCK_AFTER_S = 60.0
TIMEOUT_S = 120.0  # to unpack and import it
MAX_OPTIONS, MAX_OPTION_NAME = 500, 100  # of a script, that are kept


@shared_task
def validate_version(version_id: str) -> None:
    """READY with what the code offers, or REFUSED with the reason. Sent twice, it works once.

    What it raises is the platform's fault: the version stays, and it is queued again, MAX_TRIES times in all.
    """
    with work_lock(f"validate:{version_id}") as is_mine:
        inspecting = ModelVersion.objects.filter(pk=version_id, state=VersionState.INSPECTING)
        version = inspecting.select_related("environment").first()
        if not is_mine or version is None or _waits(version):
            return
        if actions.begin_validation(version):
            _validate(version)
        else:
            actions.refuse_version(version.id, error=given_up(version.id))


@shared_task
def sweep_unvalidated() -> int:
    """Queues what has waited too long and is in no queue, as uploads of an earlier release are; returns how many."""
    queued = WorkItem.objects.open().values("subject_id")
    stuck = ModelVersion.objects.stuck_in_validation(for_s=STUCK_AFTER_S).exclude(pk__in=queued)
    stuck = stuck.exclude(environment__state=EnvironmentState.BUILDING)
    found = list(stuck.select_related("model__project__organisation", "created_by")[:500])
    for version in found:
        organisation = version.model.project.organisation
        work_queue.enqueue(actions.VALIDATE, version.id, organisation=organisation, user=version.created_by)
    return len(found)


@shared_task
def continue_with_environment(environment_id: str) -> int:
    """Queues the versions that waited for this environment, which is ready or has failed; returns how many."""
    waiting = ModelVersion.objects.filter(state=VersionState.INSPECTING, environment=UUID(environment_id))
    found = list(waiting.select_related("model__project__organisation", "created_by").order_by("id"))
    for version in found:
        organisation = version.model.project.organisation
        work_queue.enqueue(actions.VALIDATE, version.id, organisation=organisation, user=version.created_by)
    return len(found)


def _waits(version: ModelVersion) -> bool:
    return version.environment is not None and version.environment.state == EnvironmentState.BUILDING


def _validate(version: ModelVersion) -> None:
    """Looks into the code; once its environment is ready, when it declares requirements."""
    version_id = UUID(str(version.id))
    try:
        verdict = _verdict(version)
    except InvalidInputError as error:
        actions.refuse_version(version_id, error=_as_dict(error))
        return
    if verdict is None:
        return
    if verdict.error is not None:
        actions.refuse_version(version_id, error=verdict.error)
        return
    found_out = {name: str(verdict.found.get(name, "")) for name in ("kind", "entry")} if not version.entry else None
    try:
        actions.accept_version(version_id, contract=_contract(verdict.found), found_out=found_out)
    except InvalidInputError as error:  # code that is inspected may write the answer
        actions.refuse_version(version_id, error=_as_dict(error))


def _verdict(version: ModelVersion) -> Verdict | None:
    """Image and requirements come first, by which nothing is imported. None: it waits for its environment.

    Raises InvalidInputError for an image or requirements that it cannot have.
    """
    if version.environment is not None and version.environment.state == EnvironmentState.FAILED:
        return Verdict(error=dict(version.environment.error or {}))
    verdict = _inspected(version)
    if verdict.error is None and "image" in verdict.found:
        actions.bring_image(version, image=str(verdict.found["image"]))
        verdict = _inspected(version)
    if verdict.error is None and "requirements" in verdict.found:
        _require(version, verdict.found)
        if _waits(version):
            return None
        verdict = _inspected(version)
    return verdict


def _require(version: ModelVersion, found: dict[str, Any]) -> None:
    """Raises InvalidInputError for requirements that no environment can have."""
    actions.require_environment(
        version,
        requirements=[str(line) for line in found["requirements"]],
        origin=str(found.get("origin", ""))[:300],
    )


def _as_dict(error: InvalidInputError) -> dict[str, str]:
    return {"code": error.code, "field": error.field or "file", "message": error.message, "remedy": error.remedy}


def _inspected(version: ModelVersion) -> Verdict:
    project, environment = version.model.project, version.environment
    assert version.package is not None, "only code that was uploaded is validated"
    assert project is not None, "models of the platform itself are not uploaded"
    there: list[Argument] = ["--is-image-known"] if version.image else []
    if environment is not None:
        there.append("--is-environment-ready")
    if environment is not None and environment.layer is not None:
        there += ["--environment", BlobArgument(environment.layer.sha256, environment.layer.size_bytes)]
    return inspect(
        "model",
        f"--kind={version.kind}",
        f"--entry={version.entry}",
        "--path",
        BlobArgument(version.package.sha256, version.package.size_bytes),
        *there,
        project=project,
        timeout_s=TIMEOUT_S,
    )


def _contract(found: dict[str, Any]) -> dict[str, Any]:
    """Of what was found, what the dashboard shows; the code that was imported might have written the rest."""
    listed = {key: found.get(key) for key in ("files", "functions", "hints")}
    words = {key: [str(item) for item in value] if isinstance(value, list) else [] for key, value in listed.items()}
    together = {"is_distributed": found["is_distributed"] is not False} if "is_distributed" in found else {}
    counts = found.get("own_counts") if isinstance(found.get("own_counts"), dict) else None
    own: dict[str, Any] = (
        {"own_counts": {name: n for name, n in counts.items() if name in COUNTS and is_count(n)}} if counts else {}
    )
    options = found.get("only_options")
    if isinstance(options, list) and len(options) <= MAX_OPTIONS:
        own["only_options"] = [str(name)[:MAX_OPTION_NAME] for name in options]
    return {**words, **together, **own, "description": str(found.get("description", ""))}
