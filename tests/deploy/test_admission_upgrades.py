# SPDX-License-Identifier: Apache-2.0
"""Tests of the chart's admission policies with what other versions of MLHub made."""

from __future__ import annotations

import copy

from mlhub.backends.kubernetes import names
from tests.deploy.writes import POLICIES, changed, create, delete, namespace, one, update


def test_an_upgrade_may_launch_and_end_pods_of_the_version_before() -> None:
    old = changed(one("Pod"), lambda o: [c.update(image="mlhub-runtime:0.1.0") for c in o["spec"]["containers"]])
    assert POLICIES["trial"].refusals(create(old)) == []
    foreign = changed(one("Pod"), lambda o: [c.update(image="old-registry/runtime:1") for c in o["spec"]["containers"]])
    released = changed(copy.deepcopy(foreign), lambda o: o["metadata"].pop("finalizers"))
    assert POLICIES["trial"].refusals(update(foreign, released)) == []


def test_what_versions_without_the_installation_s_label_made_can_be_taken_on_and_removed() -> None:
    old = changed(namespace(), lambda o: o["metadata"]["labels"].pop(names.INSTALLATION))
    assert POLICIES["trial"].refusals(update(old, namespace())) == []
    record = changed(one("Service"), lambda o: o["metadata"]["labels"].pop(names.INSTALLATION))
    assert POLICIES["trial"].refusals(delete(record, within=old)) == []
