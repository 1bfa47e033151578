# SPDX-License-Identifier: Apache-2.0
"""What this machine can isolate is reported as it is, and work of several organisations needs what isolates them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.sandbox import capabilities as found
from mlhub.runtime.sandbox.capabilities import Capabilities, Protection, capabilities, report_of
from mlhub.runtime.sandbox.isolation import Isolation, candidates, fresh_uid, uid_of
from mlhub.storage import inspection, sandboxed_runner
from mlhub.tenants.models import Organisation, Project

NOTHING = Isolation(has_namespaces=False, has_own_user=False, has_landlock=False, has_filter=False)
ALL = Isolation(has_namespaces=True, has_own_user=True, has_landlock=True, has_filter=True)


def test_each_protection_says_what_is_there_or_how_to_get_it() -> None:
    full, empty = (
        report_of(ALL, ("memory", "pids", "cpu"), landlock_version=7),
        report_of(NOTHING, (), landlock_version=0),
    )
    assert (full.missing, full.separates_tenants) == ((), True)
    assert len(empty.missing) == len(empty.protections) == len(full.protections)
    assert not empty.separates_tenants
    assert any("libseccomp2" in sentence for sentence in empty.missing_to_separate)


@pytest.mark.parametrize(
    ("found", "version", "separates"),
    [
        (Isolation(False, False, True, True), 6, True),
        (Isolation(False, False, True, True), 2, True),
        (Isolation(False, False, True, False), 2, False),  # signals reach the platform's processes
        (Isolation(False, True, True, True), 2, True),
        (Isolation(True, False, False, True), 0, True),
        (Isolation(True, True, True, False), 7, False),
    ],
)
def test_tenants_are_isolated_by_files_processes_and_calls(found: Isolation, version: int, separates: bool) -> None:
    assert report_of(found, (), landlock_version=version).separates_tenants is separates


def test_this_machine_s_report_is_of_what_was_tried(tmp_path: Path) -> None:
    names = {p.name: p.is_present for p in capabilities().protections}
    assert names["namespaces"] == found.isolation().has_namespaces
    assert found.isolation() in list(candidates())


def test_the_weakest_that_works_is_taken_when_nothing_stronger_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.sandbox.capabilities.failure_of", lambda c: "no" if c.has_namespaces else None)
    found.isolation.cache_clear()
    try:
        assert not found.isolation().has_namespaces
        monkeypatch.setattr("mlhub.runtime.sandbox.capabilities.failure_of", lambda c: "no")
        found.isolation.cache_clear()
        with pytest.raises(OSError, match="No sandbox works"):
            found.isolation()
    finally:
        found.isolation.cache_clear()


@pytest.mark.django_db
def test_work_of_several_organisations_is_refused_where_they_are_not_isolated(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    weak = Capabilities((Protection("files", False, True, "Files cannot be hidden."),))
    monkeypatch.setattr(sandboxed_runner, "capabilities", lambda: weak)
    Organisation.objects.create(name="A")
    assert inspection.refusal_of_weak_sandbox() is None
    Organisation.objects.create(name="B")
    refused = inspection.inspect("model", project=Project())
    assert refused.error is not None
    assert refused.error["code"] == "sandbox_too_weak"
    assert "Files cannot be hidden." in refused.error["message"]
    assert "MLHUB_ALLOW_WEAK_SANDBOX" in refused.error["remedy"]
    settings.ALLOW_WEAK_SANDBOX = True
    assert inspection.refusal_of_weak_sandbox() is None


def test_user_ids_are_no_one_s_and_a_tenant_s_is_always_the_same() -> None:
    made = {fresh_uid() for _ in range(9)}
    assert made == {None} or (len(made) > 1 and all(uid and uid > 50_000 for uid in made))
    assert uid_of("a") == uid_of("a")
    assert uid_of("a") is None or uid_of("a") != uid_of("b")
