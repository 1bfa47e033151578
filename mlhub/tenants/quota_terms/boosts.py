# SPDX-License-Identifier: Apache-2.0
"""What boosts add to quotas, and whether guarantees raised by them fit into those above; no database, no clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True)
class BoostAmounts:
    """GPUs that are added to an owner's guarantee, to its limit in sum, and to its limits of single types.

    guarantee: of any type; guarantee_by_type: of single types, besides these.
    """

    guarantee: int = 0
    max_gpus: int = 0
    by_type: Mapping[str, int] = field(default_factory=dict)
    guarantee_by_type: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: BoostAmounts) -> BoostAmounts:
        return BoostAmounts(
            self.guarantee + other.guarantee,
            self.max_gpus + other.max_gpus,
            _sum(self.by_type, other.by_type),
            _sum(self.guarantee_by_type, other.guarantee_by_type),
        )

    def __bool__(self) -> bool:
        typed = (*self.by_type.values(), *self.guarantee_by_type.values())
        return bool(self.guarantee or self.max_gpus or any(typed))

    @property
    def guaranteed(self) -> int:
        """Returns all GPUs that are added to the guarantee."""
        return self.guarantee + sum(self.guarantee_by_type.values())


@dataclass(frozen=True)
class Extra:
    """GPUs that are added to an owner's rules from starts_at until ends_at, that moment excluded."""

    owner: UUID
    guarantee: int
    max_gpus: int
    starts_at: datetime
    ends_at: datetime

    def counts(self, at: datetime) -> bool:
        return self.starts_at <= at < self.ends_at


@dataclass(frozen=True)
class OwnerRules:
    """An owner's rules without boosts, in GPUs. above: whose part it is; None = no other's."""

    above: UUID | None
    guarantee: int | None
    max_gpus: int | None


@dataclass(frozen=True)
class Excess:
    """At a moment, an owner would be guaranteed more than `there`: its own max_gpus, or what `above` is guaranteed.

    needed: the owner's guarantee against max_gpus, or the sum of all guarantees directly below `above`.
    """

    at: datetime
    owner: UUID
    needed: int
    there: int
    above: UUID | None


def raised(rule: int | None, extra: int, *, absent: int | None) -> int | None:
    """Returns the rule with the extra. absent: what an empty rule counts as; None stays empty, as of a limit."""
    base = absent if rule is None else rule
    return base + extra if base is not None and extra else rule


def raised_guarantees(
    guarantee: int | None, by_type: Mapping[str, int], extras: BoostAmounts
) -> tuple[int | None, dict[str, int]]:
    """Returns the guarantee and those of single types in it, with the extras: what is left of any type grows by
    extras.guarantee alone.
    """
    if guarantee is None and extras.guarantee:
        guarantee = sum(by_type.values())  # those of types are all there is
    return raised(guarantee, extras.guaranteed, absent=None), _sum(by_type, extras.guarantee_by_type)


def rest_of(guarantee: int | None, by_type: Mapping[str, int]) -> int:
    """Returns GPUs of any type: the guarantee without those of single types in it."""
    return max(0, (guarantee or 0) - sum(by_type.values()))


def raised_types(limits: Mapping[str, int], extras: Mapping[str, int]) -> dict[str, int]:
    """Returns the limits of single types with the extras; a type without a limit stays without one."""
    return {gpu_type: most + extras.get(gpu_type, 0) for gpu_type, most in limits.items()}


def _sum(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {t: first.get(t, 0) + second.get(t, 0) for t in sorted({*first, *second})}


def first_excess(owners: Mapping[UUID, OwnerRules], extras: Iterable[Extra], *, now: datetime) -> Excess | None:
    """Returns the earliest moment at which a boosted guarantee is above what it is part of; None if it never is.

    What applies changes only when a boost begins or ends: these moments and the present one are all there are to look
    at.
    """
    coming = [one for one in extras if one.ends_at > now]
    for at in moments(((one.starts_at, one.ends_at) for one in coming), now=now):
        found = _excess_at(owners, [one for one in coming if one.counts(at)], at)
        if found is not None:
            return found
    return None


def moments(windows: Iterable[tuple[datetime, datetime]], *, now: datetime) -> list[datetime]:
    """Returns the present moment and all later ones at which one of these windows begins or ends, in order."""
    return sorted({now, *(at for window in windows for at in window if at > now)})


def _excess_at(owners: Mapping[UUID, OwnerRules], extras: Sequence[Extra], at: datetime) -> Excess | None:
    guarantees: defaultdict[UUID, int] = defaultdict(int)
    limits: defaultdict[UUID, int] = defaultdict(int)
    for one in extras:
        guarantees[one.owner] += one.guarantee
        limits[one.owner] += one.max_gpus
    guaranteed = {id: (rules.guarantee or 0) + guarantees[id] for id, rules in owners.items()}
    below: defaultdict[UUID, int] = defaultdict(int)
    for id, rules in owners.items():
        if rules.above is not None:
            below[rules.above] += guaranteed[id]
    for id, rules in owners.items():
        if not guarantees[id]:
            continue
        limit = raised(rules.max_gpus, limits[id], absent=None)
        if limit is not None and guaranteed[id] > limit:
            return Excess(at, id, guaranteed[id], limit, None)
        if rules.above is not None and below[rules.above] > guaranteed[rules.above]:
            return Excess(at, id, below[rules.above], guaranteed[rules.above], rules.above)
    return None
