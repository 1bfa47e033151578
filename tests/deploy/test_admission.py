# SPDX-License-Identifier: Apache-2.0
"""Tests of the chart's admission policies: what the control loop's account may write, and every way past them."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from mlhub.backends.kubernetes import names
from tests.deploy.escalations import ATTEMPTS, GANG
from tests.deploy.writes import MINE, POLICIES, create, delete, namespace, objects, options_of, update


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_escalation_is_refused(attempt: str) -> None:
    assert POLICIES["trial"].refusals(ATTEMPTS[attempt]()) != []


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_the_same_attempt_of_an_administrator_is_none_of_the_policies_business(attempt: str) -> None:
    assert POLICIES["trial"].refusals(replace(ATTEMPTS[attempt](), user="kubernetes-admin")) == []


@pytest.mark.parametrize("name", ["trial", "production"])
def test_all_that_mlhub_makes_is_admitted(name: str) -> None:
    options = options_of(name)
    home = namespace(options)
    asked = [create(home), *(create(found, within=home) for found in objects(options))]
    assert {
        (one.resource, tuple(POLICIES[name].refusals(one))) for one in asked if POLICIES[name].refusals(one)
    } == set()
    assert {one.resource for one in asked} >= {"pods", "services", "secrets", "networkpolicies"}


@pytest.mark.parametrize("name", ["trial", "production"])
def test_every_object_may_be_changed_and_those_of_gangs_removed(name: str) -> None:
    """Gates and finalizers go from pods, annotations come to records, owners to claims; all of it ends."""
    options = options_of(name)
    home = namespace(options)
    for found in objects(options):
        after = copy.deepcopy(found)
        after["metadata"].pop("finalizers", None)
        after["metadata"]["annotations"] = {**after["metadata"].get("annotations", {}), names.LAUNCHED: "now"}
        after.get("spec", {}).pop("schedulingGates", None)
        assert POLICIES[name].refusals(update(found, after, within=home)) == [], found["kind"]
        if found["metadata"]["name"].startswith(GANG):
            assert POLICIES[name].refusals(delete(after, within=home)) == [], found["kind"]


@pytest.mark.slow
def test_each_refusal_has_the_reason_of_its_own_rule() -> None:
    """An attempt that several rules refuse would hide that one of them says nothing."""
    said = {message for attempt in ATTEMPTS.values() for message in POLICIES["trial"].refusals(attempt())}
    written = {message for policy in POLICIES["trial"].policies for _, message in policy.validations}
    assert said == written


def test_a_request_that_a_rule_cannot_read_is_refused() -> None:
    assert POLICIES["trial"].refusals(create({"kind": "Pod", "metadata": {"name": "x", "labels": MINE}})) != []
