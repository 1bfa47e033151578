# SPDX-License-Identifier: Apache-2.0
"""Which days hold for a project: its own rule, else its organisation's default, else the installation's days, within
the bounds of both. Pure: no database, no settings. None = for good."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any, Self


class RuleOwner(StrEnum):
    """Whose a rule or a bound is."""

    PROJECT = "project"
    ORGANISATION = "organisation"
    INSTALLATION = "installation"


class BoundSide(StrEnum):
    """at_least: nothing is removed before; at_most: everything is removed after."""

    AT_LEAST = "at_least"
    AT_MOST = "at_most"


@dataclass(frozen=True)
class Bound:
    """Holds a bound on days: whose it is, and on which side."""

    owner: RuleOwner
    side: BoundSide
    days: float

    def is_passed_by(self, days: float | None) -> bool:
        """Whether that many days are out of it."""
        value = inf if days is None else days
        return value < self.days if self.side is BoundSide.AT_LEAST else value > self.days


@dataclass(frozen=True)
class OrganisationRule:
    """Holds what an organisation says of one kind; None = nothing. default_days: of projects that say nothing, 0 = for
    good."""

    least_days: float | None = None
    most_days: float | None = None
    default_days: float | None = None

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        return cls(stored.get("least_days"), stored.get("most_days"), stored.get("default_days"))

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return bounds_of(RuleOwner.ORGANISATION, least=self.least_days, most=self.most_days)


@dataclass(frozen=True)
class InstallationRule:
    """Holds the installation's days of one kind, and the bounds on what others choose in place of them."""

    days: float | None
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class EffectiveDays:
    """Holds the days that hold, whose rule they are, what that rule said, and the bound that made other days of it."""

    days: float | None
    rule_of: RuleOwner
    chosen_days: float | None
    clamped_by: Bound | None = None


def bounds_of(owner: RuleOwner, *, least: float | None, most: float | None) -> tuple[Bound, ...]:
    """Returns the bounds that there are; None and 0 = none."""
    sides = ((BoundSide.AT_LEAST, least), (BoundSide.AT_MOST, most))
    return tuple(Bound(owner, side, days) for side, days in sides if days)


def effective_days(own: float | None, organisation: OrganisationRule, installation: InstallationRule) -> EffectiveDays:
    """Returns what holds. own: the project's own rule, 0 = for good, None = it has none.

    The organisation's bounds hold for whatever rule applies. The installation's hold for what projects and
    organisations choose, and so not for its own days where none were chosen. Where bounds contradict each other, the
    installation's win.
    """
    if own is not None:
        rule_of, chosen = RuleOwner.PROJECT, own or None
    elif organisation.default_days is not None:
        rule_of, chosen = RuleOwner.ORGANISATION, organisation.default_days or None
    else:
        rule_of, chosen = RuleOwner.INSTALLATION, installation.days
    days, clamped_by = _clamped(chosen, organisation.bounds)
    if rule_of is not RuleOwner.INSTALLATION or clamped_by is not None:
        days, outer = _clamped(days, installation.bounds)
        clamped_by = outer or clamped_by
    return EffectiveDays(days, rule_of, chosen, clamped_by if days != chosen else None)


def _clamped(days: float | None, bounds: Iterable[Bound]) -> tuple[float | None, Bound | None]:
    last = None
    for bound in bounds:
        if bound.is_passed_by(days):
            days, last = bound.days, bound
    return days, last
