# SPDX-License-Identifier: Apache-2.0
"""What a deletion of an organisation or a project would remove, counted, what forbids that now, and its beginning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import ConflictError
from mlhub.datasets.models import Dataset
from mlhub.environments.models import PythonEnvironment
from mlhub.experiments.models import Study
from mlhub.experiments.states import ENDED_STUDIES
from mlhub.jobs.models import Job
from mlhub.jobs.retention.retention_bounds import OrganisationRule
from mlhub.jobs.retention.retention_holds import hold_on
from mlhub.jobs.states import ENDED
from mlhub.registry.models import Model, ModelVersion
from mlhub.retention.models import OrganisationDeletion, TenantDeletion
from mlhub.storage.models import Holding, ResumableUpload
from mlhub.tenants.audit import record
from mlhub.tenants.models import Membership, Organisation, Project, Team, User
from mlhub.tracking.models import LoggedModel, Run

ERASE = "mlhub.retention.tasks.erase_organisations"
MOST_HELD = 500  # jobs that are asked for bounds of retention


@dataclass(frozen=True)
class DeletedContents:
    """What a deletion would remove. counts: by kind. shared_bytes: of n_bytes, those that others hold too, which stay.

    checkpoint_bytes: of a project, as far as known. refusals: why it may not begin now, each with its remedy.
    """

    counts: dict[str, int]
    n_bytes: int
    shared_bytes: int
    refusals: list[ConflictError]
    checkpoint_bytes: int = 0


def bytes_of(deletion: TenantDeletion) -> tuple[int, int]:
    """Returns (bytes that are held, those of them that others hold too)."""
    holdings = Holding.objects.filter(deletion.holdings())
    # of a project, what other projects of its organisation hold stays, too
    others = Holding.objects.exclude(pk__in=holdings.values("pk")).filter(blob__in=holdings.values("blob"))
    sizes = dict(others.values_list("blob_id", "blob__size_bytes"))
    return holdings.size_bytes(), sum(sizes.values())


def counts_of(deletion: TenantDeletion) -> dict[str, int]:
    rows: dict[str, Any] = {
        "jobs": Job.objects.filter(deletion.rows_of()),
        "studies": Study.objects.filter(deletion.rows_of()),
        "runs": Run.objects.filter(deletion.rows_of(), job=None),
        "logged_models": LoggedModel.objects.filter(deletion.rows_of()),
        "models": Model.objects.filter(deletion.rows_of()),
        "datasets": Dataset.objects.filter(deletion.rows_of()),
        "uploads": ResumableUpload.objects.filter(deletion.rows_of()),
    }
    if isinstance(deletion, OrganisationDeletion):
        organisation = deletion.organisation_id
        rows = {
            "projects": Project.objects.filter(deletion.projects()),
            "teams": Team.objects.filter(organisation=organisation),
            **rows,
            "environments": PythonEnvironment.objects.filter(organisation=organisation),
            "members": Membership.objects.filter(organisation=organisation, user__service_of=None),
            "service_accounts": User.objects.filter(service_of=organisation),
        }
    return {kind: found.count() for kind, found in rows.items()}


def n_things(deletion: TenantDeletion, counts: dict[str, int] | None = None) -> int:
    """All that there is of it, blobs among them."""
    mine = Q(owner_kind=deletion.MARK, owner_id=deletion.pk)
    n_blobs = Holding.objects.filter(deletion.holdings() | mine).values("blob").distinct().count()
    return sum((counts or counts_of(deletion)).values()) + n_blobs


def begin(deletion: TenantDeletion, *, actor: User) -> None:
    """Notes what there is now, and has it removed once the transaction is over."""
    deletion.requested_by, deletion.counts = actor, counts_of(deletion)
    deletion.n_total = n_things(deletion, deletion.counts)
    deletion.save(force_insert=True)
    record_deletion("deletion_began", deletion, actor, counts=deletion.counts)
    send_on_commit(ERASE)


def refusals_of(deletion: TenantDeletion, rules: Mapping[str, OrganisationRule]) -> Iterator[ConflictError]:
    """rules: of retention of the organisation."""
    name = deletion.name
    if n := Job.objects.filter(deletion.rows_of()).exclude(state__in=ENDED).count():
        yield ConflictError(
            f"{n} jobs of {name} have not ended." if n > 1 else f"A job of {name} has not ended.",
            code="jobs_live",
            remedy="Cancel them on the page Jobs, and come back when they have ended."
            if n > 1
            else "Cancel it on the page Jobs, and come back when it has ended.",
            n_jobs=n,
        )
    if n := Study.objects.filter(deletion.rows_of()).exclude(state__in=ENDED_STUDIES).count():
        yield ConflictError(
            f"{n} studies of {name} have not ended." if n > 1 else f"A study of {name} has not ended.",
            code="studies_live",
            remedy=f"Stop {'them' if n > 1 else 'it'} on the page Studies.",
        )
    yield from _held(deletion, rules)
    if n := _n_uses_elsewhere(deletion):
        others = "organisation" if isinstance(deletion, OrganisationDeletion) else "project"
        seen_by = "an administrator of the platform sees it" if others == "organisation" else "its lineage names it"
        yield ConflictError(
            f"{n} jobs or models of other {others}s use data or models of {name}."
            if n > 1
            else f"A job or model of another {others} uses data or models of {name}.",
            code="in_use",
            remedy=f"Delete what uses them first; {seen_by}.",
        )


def _held(deletion: TenantDeletion, rules: Mapping[str, OrganisationRule]) -> Iterator[ConflictError]:
    """One refusal, of the first job that bounds of retention still hold."""
    least = max((rule.least_days or 0 for rule in rules.values()), default=0)
    if not least:
        return
    since = timezone.now() - timedelta(days=least)
    young = Job.objects.filter(deletion.rows_of(), finished_at__gt=since).order_by("-finished_at")
    for job in young.select_related("project__organisation")[:MOST_HELD]:
        if (refusal := hold_on(job)) is not None:
            yield refusal
            return


def _n_uses_elsewhere(deletion: TenantDeletion) -> int:
    data, model = "dataset__project", "model__project"
    uses = deletion.rows_of(f"dataset_version__{data}") | deletion.rows_of(f"model_version__{model}")
    uses |= deletion.rows_of(f"further_datasets__dataset_version__{data}")
    jobs = Job.objects.exclude(deletion.rows_of()).filter(uses).distinct().count()
    code = deletion.rows_of(f"code_version__{model}")
    if isinstance(deletion, OrganisationDeletion):
        code |= Q(environment__organisation=deletion.organisation_id)
    return jobs + ModelVersion.objects.exclude(deletion.rows_of(model)).filter(code).count()


def record_deletion(kind: str, deletion: TenantDeletion, actor: User | None, **facts: Any) -> None:
    """kind: what happened. That of an organisation belongs to the platform, whose administrators read it when the
    organisation is gone; that of a project to its organisation.
    """
    is_whole = isinstance(deletion, OrganisationDeletion)
    noun = "organisation" if is_whole else "project"
    found = None if is_whole else Organisation.objects.filter(pk=deletion.organisation_id).first()
    subject = getattr(deletion, f"{noun}_id")
    record(
        f"{noun}.{kind}",
        organisation=found,
        subject_kind=noun,
        subject_id=subject,
        actor=actor,
        name=deletion.name,
        **facts,
    )
