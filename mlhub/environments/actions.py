# SPDX-License-Identifier: Apache-2.0
"""Writes to environments: requesting one, what its build finds, and removing those that no code requires any more."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import InvalidInputError
from mlhub.environments import base
from mlhub.environments.archive import pack, packages_in
from mlhub.environments.models import EnvironmentState, PythonEnvironment
from mlhub.events.actions import append
from mlhub.events.changes import ChangeKind, report_change
from mlhub.storage import actions as storage
from mlhub.storage import work_queue
from mlhub.storage.staging import copy_into
from mlhub.storage.stores import blob_store
from mlhub.tenants.models import Organisation, User

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
            environment.state, environment.error, environment.n_builds = EnvironmentState.BUILDING, None, 0
            environment.finished_at, environment.log = None, ""
            environment.save(update_fields=["state", "error", "n_builds", "finished_at", "log"])
            is_new = True
        if is_new:
            _record("environment.requested", environment, actor, origin=origin, n_requirements=len(requirements))
        if environment.state == EnvironmentState.BUILDING:
            work_queue.enqueue(BUILD, environment.id, organisation=organisation, user=actor, is_bulk=True)
    return environment


def is_current(environment: PythonEnvironment) -> bool:
    """Whether it was built on the packages, the Python and the platform that pods have now."""
    return bool(environment.key == base.key_of(environment.requirements))


def begin_build(environment: PythonEnvironment) -> bool:
    """Counts a try. False when there were MAX_TRIES, each of which broke off."""
    left = PythonEnvironment.objects.filter(pk=environment.pk, state=EnvironmentState.BUILDING, n_builds__lt=MAX_TRIES)
    has_begun = bool(left.update(n_builds=F("n_builds") + 1, started_at=timezone.now(), log=""))
    report_change(ChangeKind.BUILD, organisation_id=environment.organisation_id)
    return has_begun


def write_log(environment: PythonEnvironment, text: str) -> None:
    PythonEnvironment.objects.filter(pk=environment.pk).update(log=text)
    report_change(ChangeKind.BUILD, organisation_id=environment.organisation_id)


def finish_build(environment: PythonEnvironment, folder: Path, *, scratch: Path) -> bool:
    """Stores the layer, held by the organisation within its quota: BUILDING becomes READY.

    Returns False when another build was first. Raises QuotaExceededError, TooLargeError, UnavailableError.
    """
    packages = packages_in(folder)
    with blob_store().stage(limit_bytes=settings.MAX_ENVIRONMENT_BYTES) as staging:
        if packages:
            pack(folder, scratch)
            with scratch.open("rb") as packed:
                copy_into(staging, packed)
        with transaction.atomic():
            found = PythonEnvironment.objects.select_for_update().filter(
                pk=environment.pk, state=EnvironmentState.BUILDING
            )
            row = found.select_related("organisation").first()
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
    """BUILDING becomes FAILED with {code, field, message, remedy}. False when another build was first."""
    with transaction.atomic():
        building = PythonEnvironment.objects.filter(pk=environment.pk, state=EnvironmentState.BUILDING)
        if not building.update(state=EnvironmentState.FAILED, error=error, finished_at=timezone.now()):
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
        storage.release(owner_kind=OWNER_KIND, owner_id=environment_id)
        environment.delete()
    return True


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
