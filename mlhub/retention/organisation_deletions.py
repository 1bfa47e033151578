# SPDX-License-Identifier: Apache-2.0
"""Deleting an organisation with all its data: what would go, what forbids it, and the beginning. erasure.py goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Model as Table
from django.db.models import Q
from django.utils import timezone

from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.datasets.models import Dataset
from mlhub.environments.models import PythonEnvironment
from mlhub.experiments.models import Study
from mlhub.experiments.states import ENDED_STUDIES
from mlhub.jobs.models import Job
from mlhub.jobs.retention.retention_holds import hold_on
from mlhub.jobs.retention.retention_rules import organisation_rules
from mlhub.jobs.states import ENDED
from mlhub.registry.models import Model, ModelVersion
from mlhub.retention.models import OrganisationDeletion
from mlhub.storage.models import Holding, ResumableUpload
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.audit import record
from mlhub.tenants.models import Membership, Organisation, Project, Team, User
from mlhub.tenants.roles import Role
from mlhub.tracking.models import LoggedModel, Run

ERASE = "mlhub.retention.tasks.erase_organisations"
MOST_HELD = 500  # jobs that are asked for bounds of retention


@dataclass(frozen=True)
class OrganisationContents:
    """What a deletion would remove. counts: by kind. shared_bytes: of n_bytes, those that other organisations hold too.

    refusals: why it may not begin now, each with its remedy.
    """

    counts: dict[str, int]
    n_bytes: int
    shared_bytes: int
    refusals: list[ConflictError]


def contents_to_delete(organisation: Organisation, *, actor: User) -> OrganisationContents:
    """For owners and administrators of the platform. Raises NotAllowedError."""
    require_role(actor, organisation, Role.OWNER)
    held = Holding.objects.filter(organisation=organisation).values("blob")
    others = Holding.objects.exclude(organisation=organisation).filter(blob__in=held)
    sizes = dict(others.values_list("blob_id", "blob__size_bytes"))
    return OrganisationContents(
        counts=_counts(organisation),
        n_bytes=Holding.objects.used_bytes(organisation),
        shared_bytes=sum(sizes.values()),
        refusals=list(_refusals(organisation)),
    )


def begin_deletion(organisation: Organisation, *, name: str, actor: User) -> OrganisationDeletion:
    """From now on it cannot be opened again; what it holds is removed in the background.

    name: as typed by who deletes it. Raises InvalidInputError for another name, ConflictError for what forbids it,
    NotAllowedError.
    """
    require_role(actor, organisation, Role.OWNER)
    if name != organisation.name:
        raise InvalidInputError(
            "This is not the organisation's name.", field="name", remedy=f"Type {organisation.name} to confirm."
        )
    with transaction.atomic():
        found = Organisation.objects.select_for_update().get(pk=organisation.pk)
        for refusal in _refusals(found):
            raise refusal
        counts = _counts(found)
        deletion = OrganisationDeletion.objects.create(
            organisation_id=found.pk,
            name=found.name,
            requested_by=actor,
            counts=counts,
            n_total=n_things(found, counts),
        )
        record_deletion("organisation.deletion_began", deletion, actor, counts=counts)
        send_on_commit(ERASE)
    return deletion


def require_no_deletion(organisation: Table) -> None:
    """Raises ConflictError while the organisation is being deleted."""
    if OrganisationDeletion.objects.running().filter(organisation_id=organisation.pk).exists():
        raise ConflictError(
            f"{organisation} is being deleted.", code="deletion_under_way", remedy="Make another organisation."
        )


def record_deletion(kind: str, deletion: OrganisationDeletion, actor: User | None, **facts: Any) -> None:
    """Of the platform, whose administrators read it when the organisation is gone."""
    record(
        kind,
        organisation=None,
        subject_kind="organisation",
        subject_id=deletion.organisation_id,
        actor=actor,
        name=deletion.name,
        **facts,
    )


def n_things(organisation: Organisation, counts: dict[str, int] | None = None) -> int:
    """All that there is of it, blobs among them."""
    n_blobs = Holding.objects.filter(organisation=organisation).values("blob").distinct().count()
    return sum((counts or _counts(organisation)).values()) + n_blobs


def _counts(organisation: Organisation) -> dict[str, int]:
    of_project = {"project__organisation": organisation}
    rows = {
        "projects": Project.objects.filter(organisation=organisation),
        "teams": Team.objects.filter(organisation=organisation),
        "jobs": Job.objects.filter(**of_project),
        "studies": Study.objects.filter(**of_project),
        "runs": Run.objects.filter(job=None, **of_project),
        "logged_models": LoggedModel.objects.filter(**of_project),
        "models": Model.objects.filter(**of_project),
        "datasets": Dataset.objects.filter(**of_project),
        "environments": PythonEnvironment.objects.filter(organisation=organisation),
        "uploads": ResumableUpload.objects.filter(**of_project),
        "members": Membership.objects.filter(organisation=organisation, user__service_of=None),
        "service_accounts": User.objects.filter(service_of=organisation),
    }
    return {kind: found.count() for kind, found in rows.items()}


def _refusals(organisation: Organisation) -> Iterator[ConflictError]:
    name = organisation.name
    try:
        require_no_deletion(organisation)
    except ConflictError as error:
        yield error
    if organisation.archived_at is None:
        yield ConflictError(
            f"{name} is open.", code="organisation_open", remedy="Archive it first: then nothing new begins in it."
        )
    live = Job.objects.filter(project__organisation=organisation).exclude(state__in=ENDED)
    if n := live.count():
        yield ConflictError(
            f"{n} jobs of {name} have not ended." if n > 1 else f"A job of {name} has not ended.",
            code="jobs_live",
            remedy="Cancel them on the page Jobs, and come back when they have ended."
            if n > 1
            else "Cancel it on the page Jobs, and come back when it has ended.",
            n_jobs=n,
        )
    if n := Study.objects.filter(project__organisation=organisation).exclude(state__in=ENDED_STUDIES).count():
        yield ConflictError(
            f"{n} studies of {name} have not ended." if n > 1 else f"A study of {name} has not ended.",
            code="studies_live",
            remedy=f"Stop {'them' if n > 1 else 'it'} on the page Studies.",
        )
    yield from _held(organisation)
    if n := _n_uses_elsewhere(organisation):
        yield ConflictError(
            f"{n} jobs or models of other organisations use data or models of {name}."
            if n > 1
            else f"A job or model of another organisation uses data or models of {name}.",
            code="in_use",
            remedy="Delete what uses them first; an administrator of the platform sees it.",
        )


def _held(organisation: Organisation) -> Iterator[ConflictError]:
    """One refusal, of the first job that bounds of retention still hold."""
    least = max((rule.least_days or 0 for rule in organisation_rules(organisation).values()), default=0)
    if not least:
        return
    since = timezone.now() - timedelta(days=least)
    young = Job.objects.filter(project__organisation=organisation, finished_at__gt=since).order_by("-finished_at")
    for job in young.select_related("project__organisation")[:MOST_HELD]:
        if (refusal := hold_on(job)) is not None:
            yield refusal
            return


def _n_uses_elsewhere(organisation: Organisation) -> int:
    data, model = "dataset__project__organisation", "model__project__organisation"
    uses = Q(**{f"dataset_version__{data}": organisation}) | Q(**{f"model_version__{model}": organisation})
    uses |= Q(**{f"further_datasets__dataset_version__{data}": organisation})
    jobs = Job.objects.exclude(project__organisation=organisation).filter(uses).distinct().count()
    code = Q(**{f"code_version__{model}": organisation}) | Q(environment__organisation=organisation)
    return jobs + ModelVersion.objects.exclude(model__project__organisation=organisation).filter(code).count()
