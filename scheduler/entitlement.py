"""What a round has settled about quota before its policy is asked; the budget asks it for every grant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from scheduler.decisions import Explanation, Reason
from scheduler.lending import Lending
from scheduler.snapshot import JobSnapshot, Phase


@dataclass(frozen=True)
class Cap:
    """The most workers that a borrower's running job may keep (0: it leaves), and why."""

    n_workers: int
    why: Explanation


@dataclass(frozen=True)
class Claimant:
    """A waiting job within the guarantee of an owner: its own tenant, or a parent of that."""

    n_workers: int
    gpu_type: str
    why: Explanation


@dataclass
class Entitlement:
    """caps: by running job, what owners take back from it. claims: by GPU type, then tenant: GPUs that jobs within a
    guarantee are to have: free ones, or such as come free, that waiting jobs claim, and those that guarded jobs hold.
    claimants: these waiting jobs, with what each is to have; guarded: the running ones. lent_out: waiting jobs whose
    guaranteed GPUs others keep until they end, with the reason. strict: the books with all that runs and all such
    claims, in which nobody may borrow anew what they wait for; None = nobody waits for lent GPUs.
    """

    caps: Mapping[str, Cap] = field(default_factory=dict)
    claims: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    claimants: Mapping[str, Claimant] = field(default_factory=dict)
    lent_out: Mapping[str, Explanation] = field(default_factory=dict)
    strict: Lending | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    guarded: Collection[str] = frozenset()
    _served: dict[tuple[str, str], int] = field(default_factory=dict)
    _unserved: dict[str, int] = field(default_factory=dict)  # by type, of all tenants

    def __post_init__(self) -> None:
        if not self._unserved:
            self._unserved.update({gpu_type: sum(parts.values()) for gpu_type, parts in self.claims.items()})

    def copy(self) -> Entitlement:
        strict = None if self.strict is None else self.strict.copy()
        twin = replace(self, strict=strict)
        twin._served, twin._unserved = dict(self._served), dict(self._unserved)
        return twin

    def unserved(self, tenant: str, gpu_type: str) -> int:
        """GPUs of the type that are the tenant's jobs' own, and were not granted to any of them yet."""
        claimed = self.claims.get(gpu_type, {}).get(tenant, 0)
        return max(0, claimed - self._served.get((tenant, gpu_type), 0))

    def refusal(self, job: JobSnapshot, n_workers: int, *, had: int) -> Explanation | None:
        """Why it may not have so many: its GPUs are taken back, or it would borrow what an owner waits for."""
        cap = self.caps.get(job.id)
        if cap is not None and n_workers > cap.n_workers:
            return cap.why
        if self.strict is not None:
            return self.strict.refusal(job.tenant, _new(job, n_workers) - _new(job, had))
        return None

    def kept(self, tenant: str, gpu_type: str) -> int:
        """GPUs of the type that are other tenants' jobs' own."""
        return self._unserved.get(gpu_type, 0) - self.unserved(tenant, gpu_type)

    def about_kept(self, job: JobSnapshot, n_workers: int, left: Mapping[str, int]) -> Explanation | None:
        """Why a job gets none of the GPUs that are left; None if claims of others are not the cause."""
        for gpu_type, n_left in left.items():
            kept = self.kept(job.tenant, gpu_type)
            if kept and n_left >= n_workers and (not job.gpu_types or gpu_type in job.gpu_types):
                facts = {"tenant": self.names.get(job.tenant, job.tenant), "kept": min(kept, n_left), "need": n_workers}
                return Explanation(Reason.KEPT_FOR_OWNER, facts)
        return self.lent_out.get(job.id)

    def take(self, job: JobSnapshot, n_workers: int, gpu_type: str) -> None:
        """Note a whole grant to a job that had none; negative: all of it is given back."""
        if gpu_type in self.claims and (job.phase is Phase.WAITING or job.id in self.guarded):
            key, before = (job.tenant, gpu_type), self.unserved(job.tenant, gpu_type)
            self._served[key] = self._served.get(key, 0) + n_workers
            self._unserved[gpu_type] += self.unserved(job.tenant, gpu_type) - before
        if self.strict is not None:
            new = _new(job, abs(n_workers))
            self.strict.take(job.tenant, new if n_workers > 0 else -new)


def _new(job: JobSnapshot, n_workers: int) -> int:
    """Of so many workers, those that the job does not hold yet."""
    held = job.allocation.n_workers if job.phase is not Phase.WAITING and job.allocation else 0
    return max(0, n_workers - held)
