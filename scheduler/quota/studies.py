# SPDX-License-Identifier: Apache-2.0
"""The trials of a study count as one: next to the other jobs of their tenant they have one equal part together.

Words. party: a study, or all jobs of a tenant that belong to none. A study's part is what an equal split of the
tenant's GPUs among its parties gives it, and at least its largest trial. It is a limit and no right: whose turn it is
remains the policy's choice. It holds while another party's job waits that has at least the priority of its trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, Phase, TenantSnapshot
from scheduler.quota.fair_sharing import fair_parts
from scheduler.quota.ledger import name_of

_Party = tuple[str, str]  # tenant, study ("": its jobs that belong to none)


@dataclass(frozen=True)
class StudyPart:
    """Holds what a study may have. n_gpus: its part; held: GPUs of its running trials.

    rivals: waiting jobs of the other parties of its tenant, for which the part holds.
    """

    study: str
    name: str
    tenant: str
    n_gpus: int
    held: int
    rivals: tuple[JobSnapshot, ...]


@dataclass
class StudyLimits:
    """Holds the most GPUs of each study that has rivals, and what its trials were granted.

    most: by study, in GPUs. refused: studies that it kept from more.
    """

    parts: Mapping[str, StudyPart]
    most: dict[str, int]
    used: dict[str, int] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    def copy(self) -> StudyLimits:
        """Returns a copy that is granted from independently."""
        return replace(self, most=dict(self.most), used=dict(self.used), refused=set(self.refused))

    def refusal(self, job: JobSnapshot, more: int, *, is_request: bool = True) -> Explanation | None:
        """Returns why the job may not have so many GPUs more; None if it may."""
        most = self.most.get(job.study)
        if most is None or more <= 0 or self.used.get(job.study, 0) + more <= most:
            return None
        if is_request:
            self.refused.add(job.study)
        part = self.parts[job.study]
        facts = {"study": part.name, "tenant": part.tenant, "part": most, "rivals": len(part.rivals)}
        return Explanation(Reason.STUDY_SHARE_REACHED, facts)

    def record(self, job: JobSnapshot, more: int) -> None:
        """Books what a trial was granted; negative: it is given back."""
        if job.study in self.most:
            self.used[job.study] = self.used.get(job.study, 0) + more


def study_limits(
    tenants: Iterable[TenantSnapshot],
    candidates: Iterable[JobSnapshot],
    *,
    settled: Iterable[JobSnapshot],
    n_left: int,
    is_elastic: bool,
    ceilings: Mapping[str, int] | None = None,
) -> StudyLimits | None:
    """Returns the limits of studies that have rivals; None where no study has any.

    settled: jobs on which nothing is decided, of which those that hold GPUs count. n_left: GPUs that are free, or that
    candidates hold. ceilings: by tenant, GPUs that fair shares leave it. No running trial is stopped by these limits:
    they are the larger of part and present size (StudyPart.n_gpus is the part itself).
    """
    by_id, everyone = {tenant.id: tenant for tenant in tenants}, list(candidates)
    with_studies = {job.tenant for job in everyone if job.study}
    if not with_studies:
        return None
    parties: dict[_Party, list[JobSnapshot]] = {}
    for job in everyone:
        if job.tenant in with_studies:
            parties.setdefault((job.tenant, job.study), []).append(job)
    held_by_candidates: dict[str, int] = {}
    for job in everyone:
        held_by_candidates[job.tenant] = held_by_candidates.get(job.tenant, 0) + _held(job)
    fixed: dict[_Party, int] = {}
    for job in settled:
        if job.phase is not Phase.STOPPING and job.tenant in with_studies:
            fixed[job.tenant, job.study] = fixed.get((job.tenant, job.study), 0) + _held(job)
    parts: dict[str, StudyPart] = {}
    for tenant_id in sorted(with_studies):
        others = sum(held_by_candidates.values()) - held_by_candidates[tenant_id]
        own = {party: jobs for party, jobs in parties.items() if party[0] == tenant_id}
        total = n_left - others + sum(n for (tenant, _), n in fixed.items() if tenant == tenant_id)
        total = min(total, _limit(tenant_id, by_id), (ceilings or {}).get(tenant_id, total))
        parts |= _parts_of(by_id[tenant_id], own, fixed, total=max(0, total), is_elastic=is_elastic)
    if not parts:
        return None
    used = {study: fixed.get((tenant, study), 0) for tenant, study in parties if study in parts}
    return StudyLimits(parts, {study: max(part.n_gpus, part.held) for study, part in parts.items()}, used)


def _parts_of(
    tenant: TenantSnapshot,
    parties: Mapping[_Party, list[JobSnapshot]],
    fixed: Mapping[_Party, int],
    *,
    total: int,
    is_elastic: bool,
) -> dict[str, StudyPart]:
    """The parts of the tenant's studies that have rivals."""
    keys = sorted(parties)
    demands = [
        fixed.get(key, 0) + sum(job.max_workers if is_elastic else _size(job) for job in parties[key]) for key in keys
    ]
    floors = [fixed.get(key, 0) for key in keys]
    no_guarantee = [0] * len(keys)
    split = fair_parts(total, weights_C=[1.0] * len(keys), nominal_C=no_guarantee, floors_C=floors, demands_C=demands)
    found: dict[str, StudyPart] = {}
    for key, n_gpus in zip(keys, split, strict=True):
        study, trials = key[1], parties[key]
        if not study:
            continue
        least = min(job.priority for job in trials)
        rivals = tuple(
            job
            for other in keys
            if other != key
            for job in parties[other]
            if job.phase is Phase.WAITING and job.priority >= least and job.min_workers <= total
        )
        if rivals:
            one = max(job.min_workers for job in trials)
            held = fixed.get(key, 0) + sum(map(_held, trials))
            n_gpus = min(n_gpus, total - _starved(keys, key, parties, fixed, rivals))
            name = next((job.study_name for job in trials if job.study_name), study)
            found[study] = StudyPart(study, name, name_of(tenant), max(n_gpus, one), held, rivals)
    return found


def _starved(
    keys: Iterable[_Party],
    own: _Party,
    parties: Mapping[_Party, list[JobSnapshot]],
    fixed: Mapping[_Party, int],
    rivals: Iterable[JobSnapshot],
) -> int:
    """GPUs of the smallest job of a party that has none: a gang may need more than its party's part."""
    idle = {key for key in keys if key != own and not fixed.get(key, 0) + sum(map(_held, parties[key]))}
    return min((job.min_workers for job in rivals if (job.tenant, job.study) in idle), default=0)


def _limit(tenant_id: str | None, tenants: Mapping[str, TenantSnapshot]) -> int:
    """The hard limit of the tenant and of all above it."""
    least = 1 << 40
    while tenant_id is not None:
        tenant = tenants[tenant_id]
        least = least if tenant.max_gpus is None else min(least, tenant.max_gpus)
        tenant_id = tenant.parent
    return least


def _held(job: JobSnapshot) -> int:
    return job.held.n_workers if job.held is not None else 0


def _size(job: JobSnapshot) -> int:
    return _held(job) or job.fixed_workers
