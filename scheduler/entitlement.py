"""What a round has settled about quota before its policy is asked; the budget asks it for every grant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    """caps: by running job, what owners take back from it. claims: by GPU type, then tenant: free GPUs, or such as come
    free, that waiting jobs within a guarantee are to have; claimants: these jobs, with what each is to have. lent_out:
    waiting jobs whose guaranteed GPUs others keep until they end, with the reason. strict: the books with all that runs
    and all such claims, in which nobody may borrow anew what they wait for; None = nobody waits for lent GPUs.
    """

    caps: Mapping[str, Cap] = field(default_factory=dict)
    claims: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    claimants: Mapping[str, Claimant] = field(default_factory=dict)
    lent_out: Mapping[str, Explanation] = field(default_factory=dict)
    strict: Lending | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    _served: dict[tuple[str, str], int] = field(default_factory=dict)

    def copy(self) -> Entitlement:
        strict = None if self.strict is None else self.strict.copy()
        return Entitlement(
            self.caps, self.claims, self.claimants, self.lent_out, strict, self.names, dict(self._served)
        )

    def unserved(self, tenant: str, gpu_type: str) -> int:
        """GPUs of the type that the tenant's waiting jobs claim and were not granted yet."""
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
        """GPUs of the type that other tenants' waiting jobs are to have."""
        return sum(self.unserved(t, gpu_type) for t in self.claims.get(gpu_type, ()) if t != tenant)

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
        if job.phase is Phase.WAITING and gpu_type in self.claims:
            key = (job.tenant, gpu_type)
            self._served[key] = self._served.get(key, 0) + n_workers
        if self.strict is not None:
            new = _new(job, abs(n_workers))
            self.strict.take(job.tenant, new if n_workers > 0 else -new)


def _new(job: JobSnapshot, n_workers: int) -> int:
    """Of so many workers, those that the job does not hold yet."""
    held = job.allocation.n_workers if job.phase is not Phase.WAITING and job.allocation else 0
    return max(0, n_workers - held)
