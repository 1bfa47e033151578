# SPDX-License-Identifier: Apache-2.0
"""Deletions with all data on the command line say on which machines with agents copies may still be, as pages do."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.cli.app import main
from mlhub.cli.commands.tenancy import deletions
from mlhub.cli.failures import CommandStatus
from mlhub.clusters.models import Agent
from mlhub.retention.models import OrganisationDeletion
from mlhub.retention.tasks import erase_organisations
from mlhub.tenants.actions import create_token
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)
LEFT = (
    "1 machine has not yet said that nothing of it is left in the cache there: lab-1. Agents that are connected remove "
    "it within 15 minutes."
)


@pytest.fixture
def machines(bob: Cast) -> Cast:  # noqa: F811
    """lab-1 may hold copies, lab-2 said after every deletion that it holds none."""
    now = timezone.now()
    for name, clean_at in (("lab-1", None), ("lab-2", now + timedelta(days=1))):
        Agent.objects.create(name=name, token_made_at=now, caches_clean_at=clean_at)
    return bob


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_deleted_project_leaves_the_names_of_machines_with_copies(
    machines: Cast, form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machines.a.memberships.filter(user=machines.bob).update(role="admin")
    monkeypatch.setattr(deletions.time, "sleep", lambda _: erase_organisations())
    assert main(["-o", form, "project", "rm", "vision", "--with-data", "--yes"]) == CommandStatus.OK
    said = capsys.readouterr()
    assert LEFT in said.err
    if form == "json":
        deletion = json.loads(said.out)
        assert (deletion["n_machines_left"], deletion["machines_left"]) == (1, ["lab-1"])
        assert deletion["ended_at"] is not None


def test_an_organisation_that_is_gone_still_says_where_copies_are(
    machines: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    ended_at = timezone.now()
    row = {
        "organisation_id": machines.b.pk,
        "name": "Gone",
        "n_total": 3,
        "later_blobs": 1,
        "requested_by": machines.bob,
    }
    OrganisationDeletion.objects.create(**row, ended_at=ended_at - timedelta(days=1))
    newest = OrganisationDeletion.objects.create(**row, bytes_removed=2048, ended_at=ended_at)
    assert main(["organisation", "deletion", "Gone"]) == CommandStatus.OK
    said = capsys.readouterr().err
    assert "Deleted: Gone, 3 things, 2.0 KiB." in said
    assert "1 file was stored within the last hour" in said
    assert LEFT in said
    assert main(["-o", "json", "organisation", "deletion", str(machines.b.pk)]) == CommandStatus.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["id"], found["machines_left"]) == (str(newest.pk), ["lab-1"])
    assert main(["organisation", "deletion", "Never"]) == CommandStatus.REFUSED
    assert "You are in no organisation Never." in capsys.readouterr().err


def test_a_token_shows_only_the_deletions_within_its_bounds(machines: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"name": "Gone", "n_total": 3, "ended_at": timezone.now(), "requested_by": machines.bob}
    OrganisationDeletion.objects.create(**row, organisation_id=machines.b.pk)
    for limits in ({"organisation": machines.a}, {"project": machines.project_a}):
        _, token = create_token(machines.bob, name=str(limits), scopes=["read"], expires_in_days=1, **limits)
        monkeypatch.setenv("MLHUB_TOKEN", token)
        assert main(["organisation", "deletion", "Gone"]) != CommandStatus.OK
