# SPDX-License-Identifier: Apache-2.0
"""BrokenGuarantee guarantees: jobs that waited although their tenant's guarantee had room for them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler.api.snapshot import TenantSnapshot
from scheduler.simulator.outcome import JobHistory, SimulationOutcome

GRACE_S = 120.0
BROKEN_COLUMNS = ("job", "tenant", "since_s", "to_s")


@dataclass(frozen=True)
class BrokenGuarantee:
    """Holds a stretch in which the job waited while its tenant held less than its guarantee by the job's size or
    more.
    """

    job: str
    tenant: str
    since_s: float
    to_s: float


def guarantees_of(tenants: Sequence[TenantSnapshot]) -> dict[str, int]:
    """Returns the guaranteed GPUs of each tenant that has some."""
    return {tenant.id: tenant.guarantee for tenant in tenants if tenant.guarantee}


def broken_guarantees(
    outcome: SimulationOutcome, *, guarantees: Mapping[str, int], grace_s: float = GRACE_S
) -> list[BrokenGuarantee]:
    """Returns every stretch longer than grace_s in which a job waited within its tenant's guarantee.

    guarantees: GPUs by tenant. grace_s: what it may take to see the job and to clear lent GPUs. Ordered by time.
    """
    found = []
    for tenant, guarantee in guarantees.items():
        histories = [history for history in outcome.histories.values() if history.job.tenant == tenant]
        held = _held(histories)
        for history in histories:
            room = guarantee - history.job.min_workers
            for since_s, to_s in _waits(history, outcome.ended_at_s):
                for a_s, b_s in _stretches(held, since_s, to_s, room):
                    if b_s - a_s > grace_s:
                        found.append(BrokenGuarantee(history.job.id, tenant, a_s, b_s))
    return sorted(found, key=lambda one: (one.since_s, one.job))


def _held(histories: list[JobHistory]) -> list[tuple[float, int]]:
    """(from then on, GPUs held), ascending in time."""
    changes: dict[float, int] = {}
    for history in histories:
        for since_s, to_s, allocation in history.spans:
            changes[since_s] = changes.get(since_s, 0) + allocation.n_workers
            changes[to_s] = changes.get(to_s, 0) - allocation.n_workers
    steps, n = [(float("-inf"), 0)], 0
    for at_s in sorted(changes):
        n += changes[at_s]
        steps.append((at_s, n))
    return steps


def _waits(history: JobHistory, end_s: float) -> Iterator[tuple[float, float]]:
    """When the job held nothing, between its submission and its end."""
    at_s = history.submitted_at_s
    for since_s, to_s, _ in history.spans:
        if since_s > at_s:
            yield at_s, since_s
        at_s = to_s
    until_s = end_s if history.ended_at_s is None else history.ended_at_s
    if until_s > at_s:
        yield at_s, until_s


def _stretches(held: list[tuple[float, int]], since_s: float, to_s: float, most: int) -> Iterator[tuple[float, float]]:
    """Where no more than that many GPUs are held, without a break, between the two times."""
    began_s: float | None = None
    for i in range(bisect_right(held, (since_s, 1 << 60)) - 1, len(held)):
        at_s, n = held[i]
        a_s = max(at_s, since_s)
        if a_s >= to_s:
            break
        if n <= most:
            began_s = a_s if began_s is None else began_s
        elif began_s is not None:
            yield began_s, a_s
            began_s = None
    if began_s is not None:
        yield began_s, to_s
