# SPDX-License-Identifier: Apache-2.0
"""Choosing the columns of a table that is uploaded already: target, ignored columns, types, missing values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.datasets import actions
from mlhub.datasets.models import Dataset, DatasetVersion, VersionState
from mlhub.storage import actions as storage
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import User
from mlhub.tenants.roles import Role
from mlhub.wire.formats import taking

CHOICES = ("target", "ignore", "types", "missing", "numbers")


def choose_columns(version: DatasetVersion, *, actor: User, **choice: Any) -> DatasetVersion:
    """The version by another choice of columns, which is inspected again; what the choice leaves out is automatic.

    A version that waits for its columns takes the choice itself. Of a ready one, which never changes, a new version
    over the same files is created; the same choice gives the version itself. Raises InvalidInputError naming a column
    that is not there, ConflictError while it is inspected or after it was refused, QuotaExceededError.
    """
    dataset = version.dataset
    require_role(actor, dataset.project, Role.MEMBER)
    require_open(dataset.project)
    with transaction.atomic():
        Dataset.objects.select_for_update().get(pk=dataset.pk)
        version = DatasetVersion.objects.select_for_update(of=("self",)).get(pk=version.pk)
        options = {name: choice[name] for name in CHOICES if choice.get(name)}
        _check(version, options)
        if version.state == VersionState.NEEDS_COLUMNS:
            return _choose_again(version, options, actor)
        if options == version.options:
            return version
        return _add_chosen(version, options, actor)


def _choose_again(version: DatasetVersion, options: dict[str, Any], actor: User) -> DatasetVersion:
    version.options, version.manifest_sha256 = options, actions.manifest_sha256(version.files, options)
    version.state, version.error, version.n_inspections = VersionState.INSPECTING, None, 0
    version.save(update_fields=["options", "manifest_sha256", "state", "error", "n_inspections"])
    actions.enqueue_inspection(version, actor)
    _record(version, actor)
    return version


def _add_chosen(version: DatasetVersion, options: dict[str, Any], actor: User) -> DatasetVersion:
    added = actions.create_version(
        version.dataset,
        format=version.format,
        options=options,
        files=version.files,
        actor=actor,
        source=version.source,
    )
    for file in version.files:
        storage.hold(
            version.dataset.project,
            sha256=file["sha256"],
            size_bytes=file["size_bytes"],
            owner_kind=actions.OWNER_KIND,
            owner_id=added.id,
            user=actor,
        )
    actions.enqueue_inspection(added, actor)
    _record(added, actor, chosen_from=str(version.id))
    return added


def _check(version: DatasetVersion, options: Mapping[str, Any]) -> None:
    if version.format not in taking("ignore"):
        raise InvalidInputError(
            f"A dataset of the format {version.format} has no columns to choose.",
            field="target",
            remedy=f"Choose columns of {' and '.join(taking('ignore'))}.",
        )
    if options.get("numbers") and version.format not in taking("numbers"):
        raise InvalidInputError(
            f"A dataset of the format {version.format} stores numbers as such, so that no format has to be chosen.",
            field="numbers",
            remedy=f"Leave numbers out; it is for {' and '.join(taking('numbers'))}.",
        )
    if version.state in (VersionState.FETCHING, VersionState.INSPECTING):
        raise ConflictError("The version is being inspected.", code="not_ready", remedy="Try again when it is ready.")
    if version.state == VersionState.REFUSED:
        remedy = "Upload the file again, once it is repaired."
        raise ConflictError("The version was refused, and its file is not kept.", code="refused", remedy=remedy)
    known = {column["name"] for column in version.statistics.get("columns", [])}
    for name in CHOICES:
        asked = options.get(name) or ()
        unknown = sorted({asked} - known if isinstance(asked, str) else set(asked) - known)
        if unknown and known:
            raise InvalidInputError(
                f"There is no column {', '.join(unknown[:5])}.",
                field=name,
                remedy=f"There are: {', '.join(sorted(known)[:30])}.",
            )


def _record(version: DatasetVersion, actor: User, **facts: Any) -> None:
    actions.record(
        "dataset.columns_chosen",
        version.dataset,
        actor,
        version_id=str(version.id),
        number=version.number,
        options=version.options,
        **facts,
    )
