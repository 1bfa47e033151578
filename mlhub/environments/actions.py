# SPDX-License-Identifier: Apache-2.0
"""Writes to environments: requesting one, what its build finds, and removing those that no code requires any more."""

from __future__ import annotations

import re
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError
from mlhub.environments import base
from mlhub.environments.archive import pack, packages_in
from mlhub.environments.failures import STOPPED, BuildStoppedError, stopped_by
from mlhub.environments.models import EnvironmentState, PythonEnvironment
from mlhub.environments.querysets import MOST_SHOWN, EnvironmentQuerySet, n_jobs_of, usable_versions
from mlhub.events.actions import append
from mlhub.events.changes import ChangeKind, report_change
from mlhub.storage import actions as storage
from mlhub.storage import work_queue
from mlhub.storage.staging import copy_into
from mlhub.storage.stores import blob_store
from mlhub.tenants.access_control.assignments import allows, role_assignments
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Organisation, Project, User
from mlhub.tenants.roles import Role

OWNER_KIND = "environment"
BUILD = "mlhub.environments.tasks.build_environment"
# by name, since those who wait stand above this app
WAITING = ("mlhub.registry.tasks.continue_with_environment", "mlhub.jobs.tasks.continue_with_environment")
# clauses are separated by commas, and no version contains "=", "<", ">" or "~": a line can be read in one way only, so
# that matching it takes time in proportion to its length
_CLAUSE = r"(?:===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9.*+!_-]+"
PLAIN = re.compile(rf"[a-z0-9][a-z0-9._-]*(?:\[[A-Za-z0-9._,-]+\])?(?:{_CLAUSE}(?:,{_CLAUSE})*)?")
MAX_LINE = 500  # characters of a requirement
MAX_TRIES = 3  # of a build that the platform itself broke off
LOOKS_EVERY_S = 0.5  # whether a build was stopped
MAX_PROJECTS = 200  # that are looked through for a role


def request_environment(
    organisation: Organisation, *, requirements: Sequence[str], origin: str, actor: User | None
) -> PythonEnvironment:
    """The organisation's environment of these requirements, which is built unless it exists; a failed one again.

    Raises InvalidInputError for a requirement that is more than a name with versions.
    """
    _check_plain(requirements)
    with transaction.atomic():
        found, is_new = PythonEnvironment.objects.select_for_update().get_or_create(
            organisation=organisation,
            key=base.key_of(requirements),
            defaults={
                "origin": origin,
                "requirements": list(requirements),
                "python": base.python_version(),
                "platform": sysconfig.get_platform(),
                "created_by": actor,
            },
        )
        environment: PythonEnvironment = found
        if environment.state == EnvironmentState.FAILED:
            _begin_anew(environment)
            is_new = True
        if is_new:
            _record("environment.requested", environment, actor, origin=origin, n_requirements=len(requirements))
        if environment.state == EnvironmentState.BUILDING:
            work_queue.enqueue(BUILD, environment.id, organisation=organisation, user=actor, is_bulk=True)
    return environment


def build_again(environment: PythonEnvironment, *, actor: User) -> PythonEnvironment:
    """Of a build that failed or was stopped; one that waits or runs already goes on.

    For those who may upload code that requires it. Raises NotAllowedError, and ConflictError for one that is ready.
    """
    require_uploader(environment, actor)
    with transaction.atomic():
        found: PythonEnvironment = _locked(environment)
        if found.state == EnvironmentState.READY:
            raise ConflictError(
                "The environment is built already.",
                code="ended",
                remedy="Delete it first, if its packages are to be chosen anew.",
                state=found.state,
            )
        if found.state == EnvironmentState.FAILED:
            if not is_current(found):
                raise ConflictError(
                    "The environment is of packages or of a Python that the platform has no longer.",
                    code="outdated",
                    remedy="Upload the code or submit the job again: what it requires is built as the platform is now.",
                )
            _begin_anew(found)
            _record("environment.requested", found, actor, origin=found.origin, n_requirements=len(found.requirements))
        work_queue.enqueue(BUILD, found.id, organisation=found.organisation, user=actor, is_bulk=True)
    return found


def stop_build(environment: PythonEnvironment, *, actor: User) -> PythonEnvironment:
    """Ends a build that waits or runs: BUILDING becomes FAILED at once, and the worker leaves within seconds.

    What waits for it is refused with that cause. Stopped once more nothing changes. For those who may upload code that
    requires it. Raises NotAllowedError, and ConflictError for a build that has ended by itself.
    """
    require_uploader(environment, actor)
    with transaction.atomic():
        found: PythonEnvironment = _locked(environment)
        if found.state != EnvironmentState.BUILDING:
            if (found.error or {}).get("code") == STOPPED:
                return found
            raise ConflictError(
                "The build has succeeded already."
                if found.state == EnvironmentState.READY
                else "The build has failed already.",
                code="ended",
                remedy="An environment that no code requires can be deleted.",
                state=found.state,
            )
        found.state, found.error, found.finished_at = (
            EnvironmentState.FAILED, stopped_by(actor.username).as_dict(), timezone.now()
        )  # fmt: skip
        found.save(update_fields=["state", "error", "finished_at"])
        work_queue.withdraw([found.pk])
        _record("environment.stopped", found, actor)
        _wake(found)
    report_change(ChangeKind.BUILD, organisation_id=found.organisation_id)
    return found


def delete_environment(environment: PythonEnvironment, *, actor: User) -> None:
    """Deletes an environment that no code requires, and releases its layer; refused versions do not count.

    For those who may upload code that requires it. Raises NotAllowedError, and ConflictError while it is built, or
    while code that can be used requires it.
    """
    require_uploader(environment, actor)
    with transaction.atomic():
        found: PythonEnvironment = _locked(environment)
        if found.state == EnvironmentState.BUILDING:
            raise ConflictError("The environment is being built.", code="being_built", remedy="Stop its build first.")
        _refuse_required(found)
        found.versions.update(environment=None)  # refused ones keep their own error
        _remove(found)
        _record("environment.deleted", found, actor, origin=found.origin, size_bytes=found.size_bytes)


def is_current(environment: PythonEnvironment) -> bool:
    """Whether it was built on the packages, the Python and the platform that pods have now."""
    return bool(environment.key == base.key_of(environment.requirements))


def begin_build(environment: PythonEnvironment) -> bool:
    """Counts a try. False when there were MAX_TRIES, each of which broke off."""
    left = PythonEnvironment.objects.filter(pk=environment.pk, state=EnvironmentState.BUILDING, n_builds__lt=MAX_TRIES)
    now = timezone.now()
    has_begun = bool(left.update(n_builds=F("n_builds") + 1, started_at=now, log=""))
    if has_begun:
        environment.started_at = now
    report_change(ChangeKind.BUILD, organisation_id=environment.organisation_id)
    return has_begun


def check_wanted(environment: PythonEnvironment) -> Callable[[], None]:
    """What a build calls as often as it likes: it raises BuildStoppedError once the try is no longer wanted."""
    looked_at = time.monotonic()

    def check() -> None:
        nonlocal looked_at
        if time.monotonic() - looked_at < LOOKS_EVERY_S:
            return
        if not _of_try(environment).exists():
            raise BuildStoppedError
        looked_at = time.monotonic()

    return check


def write_log(environment: PythonEnvironment, text: str) -> None:
    PythonEnvironment.objects.filter(pk=environment.pk, started_at=environment.started_at).update(log=text)
    report_change(ChangeKind.BUILD, organisation_id=environment.organisation_id)


def finish_build(environment: PythonEnvironment, folder: Path, *, scratch: Path) -> bool:
    """Stores the layer, held by the organisation within its quota: BUILDING becomes READY.

    Returns False when another build was first, or it was stopped. Raises QuotaExceededError, TooLargeError,
    UnavailableError; BuildStoppedError as soon as it is noticed.
    """
    packages, check = packages_in(folder), check_wanted(environment)
    with blob_store().stage(limit_bytes=settings.MAX_ENVIRONMENT_BYTES) as staging:
        if packages:
            pack(folder, scratch, check=check)
            with scratch.open("rb") as packed:
                copy_into(staging, packed)
        with transaction.atomic():
            row = _of_try(environment).select_for_update(of=("self",)).select_related("organisation").first()
            if row is None:
                return False
            if packages:
                row.layer = storage.keep(staging, place=row.organisation, owner_kind=OWNER_KIND, owner_id=row.id)
                row.size_bytes = row.layer.size_bytes
            row.packages, row.state, row.finished_at = packages, EnvironmentState.READY, timezone.now()
            row.save(update_fields=["layer", "size_bytes", "packages", "state", "finished_at"])
            _record("environment.ready", row, None, size_bytes=row.size_bytes, n_packages=len(packages))
            _wake(row)
    return True


def fail_build(environment: PythonEnvironment, *, error: dict[str, str]) -> bool:
    """BUILDING becomes FAILED with {code, field, message, remedy}. False when it was stopped, or another was first."""
    with transaction.atomic():
        if not _of_try(environment).update(state=EnvironmentState.FAILED, error=error, finished_at=timezone.now()):
            return False
        _record("environment.failed", environment, None, error=error)
        _wake(environment)
    return True


def remove_environment(environment_id: UUID) -> bool:
    """Deletes an environment that no version of code requires, and releases its layer. False when one does."""
    with transaction.atomic():
        unused = PythonEnvironment.objects.select_for_update(of=("self",)).filter(pk=environment_id)
        environment = unused.exclude(state=EnvironmentState.BUILDING).first()
        if environment is None or environment.versions.exists():
            return False
        _remove(environment)
    return True


def require_uploader(environment: PythonEnvironment, actor: User) -> None:
    """Raises NotAllowedError for people who may upload code neither in all projects of its organisation, nor in one
    whose code requires it."""
    requiring = Project.objects.filter(models__versions__environment=environment).distinct()
    if not any(allows(role_assignments(actor, project), Role.MEMBER) for project in requiring[:MAX_PROJECTS]):
        require_role(actor, environment.organisation, Role.MEMBER)


def _locked(environment: PythonEnvironment) -> PythonEnvironment:
    """The row, until the transaction ends. Raises NotFoundError where it was deleted meanwhile."""
    rows = PythonEnvironment.objects.select_for_update(of=("self",)).select_related("organisation")
    found: PythonEnvironment | None = rows.filter(pk=environment.pk).first()
    if found is None:
        raise NotFoundError("This environment was deleted.")
    return found


def _begin_anew(environment: PythonEnvironment) -> None:
    environment.state, environment.error, environment.n_builds = EnvironmentState.BUILDING, None, 0
    environment.started_at = environment.finished_at = None
    environment.log = ""
    environment.save(update_fields=["state", "error", "n_builds", "started_at", "finished_at", "log"])


def _of_try(environment: PythonEnvironment) -> EnvironmentQuerySet:
    """The row, while the try that this object began is wanted: not stopped, nor stopped and begun anew."""
    found: EnvironmentQuerySet = PythonEnvironment.objects.filter(
        pk=environment.pk, state=EnvironmentState.BUILDING, started_at=environment.started_at
    )
    return found


def _remove(environment: PythonEnvironment) -> None:
    pk = environment.pk
    storage.release(owner_kind=OWNER_KIND, owner_id=pk)
    PythonEnvironment.objects.filter(pk=pk).delete()


def _refuse_required(environment: PythonEnvironment) -> None:
    """Raises ConflictError naming the newest versions of code that require it, and how many jobs these have."""
    versions = usable_versions(environment)
    n, newest = versions.count(), list(versions[:MOST_SHOWN])
    if not n:
        return
    names = [f"{version.model.name} v{version.number}" for version in newest]
    n_jobs = n_jobs_of(versions)
    raise ConflictError(
        f"Versions of code that require this environment: {n}, the newest {', '.join(names)}. Their jobs: {n_jobs}.",
        code="in_use",
        remedy="Delete these versions of code first, and before them their jobs.",
        versions=[{"id": str(version.pk), "name": name} for version, name in zip(newest, names, strict=True)],
        n_versions=n,
        n_jobs=n_jobs,
    )


def _check_plain(requirements: Sequence[str]) -> None:
    """Names and versions only, whatever the sandbox answered: options and addresses would reach other hosts."""
    for line in requirements:
        if len(line) > MAX_LINE:
            raise InvalidInputError(
                f"The requirement {line[:200]!r}... has {len(line):,} characters.",
                field="file",
                remedy=f"Name a package with versions in at most {MAX_LINE} characters.",
            )
        if not PLAIN.fullmatch(line):
            raise InvalidInputError(
                f"{line[:200]!r} is no name with versions.", field="file", remedy="Name packages of the index only."
            )


def _wake(environment: PythonEnvironment) -> None:
    for task in WAITING:
        send_on_commit(task, str(environment.id))


def _record(kind: str, environment: PythonEnvironment, actor: User | None, **facts: Any) -> None:
    append(
        kind,
        organisation=environment.organisation,
        subject_kind="environment",
        subject_id=environment.id,
        actor=actor,
        **facts,
    )
