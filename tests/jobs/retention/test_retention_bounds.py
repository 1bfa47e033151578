# SPDX-License-Identifier: Apache-2.0
"""Which days hold, for any rules and bounds: within the bounds, changed by no more than it takes, and said whose."""

from __future__ import annotations

from math import inf

from hypothesis import assume, given
from hypothesis import strategies as st

from mlhub.jobs.retention.retention_bounds import (
    BoundSide,
    EffectiveDays,
    InstallationRule,
    OrganisationRule,
    RuleOwner,
    bounds_of,
    effective_days,
)

DAYS = st.floats(min_value=0.5, max_value=400.0)
MAYBE = st.none() | DAYS
CHOSEN = st.none() | st.just(0.0) | DAYS  # 0 = for good


def rule(least: float | None, most: float | None, default: float | None) -> OrganisationRule:
    assume(least is None or most is None or least <= most)
    return OrganisationRule(least, most, default)


RULES = st.tuples(MAYBE, MAYBE, CHOSEN)
INSTALLATIONS = st.builds(
    lambda days, least, most: InstallationRule(days, bounds_of(RuleOwner.INSTALLATION, least=least, most=most)),
    *(MAYBE, MAYBE, MAYBE),
)


def number(days: float | None) -> float:
    return inf if days is None else days


@given(CHOSEN, RULES, MAYBE)
def test_whatever_was_chosen_what_holds_is_within_the_organisation_s_bounds(
    own: float | None, values: tuple[float | None, float | None, float | None], usual: float | None
) -> None:
    organisation = rule(*values)
    found = number(effective_days(own, organisation, InstallationRule(usual)).days)
    assert number(organisation.least_days or 0.0) <= found <= number(organisation.most_days)


@given(CHOSEN, RULES, INSTALLATIONS)
def test_days_change_exactly_where_a_bound_is_named_and_become_that_bound_s(
    own: float | None, values: tuple[float | None, float | None, float | None], installation: InstallationRule
) -> None:
    found = effective_days(own, rule(*values), installation)
    if found.clamped_by is None:
        assert found.days == found.chosen_days
    else:
        assert found.days == found.clamped_by.days != found.chosen_days


@given(CHOSEN, CHOSEN, RULES, INSTALLATIONS)
def test_a_longer_rule_never_keeps_shorter(
    one: float | None,
    other: float | None,
    values: tuple[float | None, float | None, float | None],
    installation: InstallationRule,
) -> None:
    assume(one is not None and other is not None)
    organisation = rule(*values)
    shorter, longer = sorted((one, other), key=lambda days: number(days or None))
    kept = [number(effective_days(days, organisation, installation).days) for days in (shorter, longer)]
    assert kept[0] <= kept[1]


@given(CHOSEN, RULES, INSTALLATIONS)
def test_what_holds_chosen_as_a_rule_holds_unchanged(
    own: float | None, values: tuple[float | None, float | None, float | None], installation: InstallationRule
) -> None:
    sides = {bound.side: bound.days for bound in installation.bounds}
    assume(sides.get(BoundSide.AT_LEAST, 0.0) <= sides.get(BoundSide.AT_MOST, inf))
    assume(own is not None)
    organisation = rule(*values)
    found = effective_days(own, organisation, installation)
    again = effective_days(found.days or 0.0, organisation, installation)
    assert again.days == found.days


def test_the_project_s_rule_goes_before_the_organisation_s_default_and_that_before_the_installation_s_days() -> None:
    installation = InstallationRule(14.0)
    assert effective_days(3.0, OrganisationRule(default_days=7.0), installation).rule_of is RuleOwner.PROJECT
    assert effective_days(None, OrganisationRule(default_days=0.0), installation) == EffectiveDays(
        None, RuleOwner.ORGANISATION, None
    )
    assert effective_days(None, OrganisationRule(), installation) == EffectiveDays(14.0, RuleOwner.INSTALLATION, 14.0)


def test_the_installation_s_bounds_hold_for_what_others_choose_and_not_for_its_own_days() -> None:
    installation = InstallationRule(None, bounds_of(RuleOwner.INSTALLATION, least=None, most=30.0))
    assert effective_days(None, OrganisationRule(), installation).days is None
    found = effective_days(90.0, OrganisationRule(least_days=60.0), installation)
    assert (found.days, found.clamped_by and found.clamped_by.owner) == (30.0, RuleOwner.INSTALLATION)
