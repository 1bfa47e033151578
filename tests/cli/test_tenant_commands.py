# SPDX-License-Identifier: Apache-2.0
"""A tenant's life on the command line: projects are renamed, closed and deleted; data, models and jobs are deleted."""

from __future__ import annotations

import csv
import io

import pytest
from django.utils import timezone

from mlhub.cli.app import main
from mlhub.cli.commands.tenancy import deletions
from mlhub.cli.failures import CommandStatus
from mlhub.datasets.models import Dataset
from mlhub.jobs.models import Attempt, Job
from mlhub.registry.models import Model
from mlhub.retention.tasks import erase_organisations
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Membership, Organisation, Project, Team
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow
def test_a_project_is_renamed_closed_opened_and_deleted_when_it_is_empty(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["project", "archive", "vision"]) == CommandStatus.REFUSED
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(["project", "rename", "vision", "sight"]) == CommandStatus.OK
    assert main(["project", "archive", "sight"]) == CommandStatus.OK
    assert Project.objects.get(name="sight").archived_at is not None
    assert main(["project", "unarchive", "sight"]) == CommandStatus.OK
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    capsys.readouterr()
    assert main(["project", "rm", "sight"]) == CommandStatus.USAGE
    assert "Nothing was deleted" in capsys.readouterr().err
    Dataset.objects.create(project=bob.project_a, name="digits", created_by=bob.bob)
    assert main(["project", "rm", "sight", "--yes"]) == CommandStatus.REFUSED
    assert "holds 1 dataset" in capsys.readouterr().err
    assert main(["dataset", "rm", "digits", "--yes"]) == CommandStatus.OK
    assert main(["project", "rm", "sight", "--yes"]) == CommandStatus.OK
    assert not Project.objects.filter(organisation=bob.a).exists()


@pytest.mark.slow
def test_a_project_is_deleted_with_what_it_holds_after_the_count_of_it(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ["project", "rm", "vision", "--with-data"]
    ended, live = job(bob.project_a, bob.bob, state="succeeded"), job(bob.project_a, bob.bob, state="running")
    assert main([*command, "--yes"]) == CommandStatus.REFUSED
    assert "for the role admin in the project vision of A" in capsys.readouterr().err
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main([*command, "--yes"]) == CommandStatus.REFUSED
    assert "A job of vision has not ended." in capsys.readouterr().err
    Job.objects.filter(pk=live.pk).update(state="cancelled")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert main(command) == CommandStatus.USAGE
    assert "Delete the project vision of A with 2 jobs, 1 dataset for good?" in capsys.readouterr().err
    assert Job.objects.filter(pk=ended.pk).exists()
    elsewhere = Project.objects.create(organisation=bob.a, name="other")
    user = job(elsewhere, bob.bob, state="succeeded")
    Job.objects.filter(pk=user.pk).update(dataset_version=ended.dataset_version)
    assert main([*command, "--yes"]) == CommandStatus.REFUSED
    assert "A job or model of another project uses data or models of vision." in capsys.readouterr().err
    assert Job.objects.filter(pk=ended.pk).exists()
    Job.objects.filter(pk=user.pk).delete()
    # the worker does its part while the command waits
    monkeypatch.setattr(deletions.time, "sleep", lambda _: erase_organisations())
    assert main([*command, "--yes"]) == CommandStatus.OK
    said = capsys.readouterr().err
    assert "0 of 3 things are deleted." in said
    assert "Deleted: vision, 3 things, 0 B." in said
    assert list(Project.objects.filter(organisation=bob.a)) == [elsewhere]


@pytest.mark.slow
def test_an_administrator_makes_the_first_organisation_and_its_owner_renames_and_closes_it(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["organisation", "create", "Acme"]) == CommandStatus.REFUSED
    bob.a.memberships.filter(user=bob.bob).delete()
    assert main(["project", "create", "sight"]) == CommandStatus.USAGE
    assert "mlhub organisation create NAME" in capsys.readouterr().err
    bob.bob.is_staff = True
    bob.bob.save()
    _, token = create_token(bob.bob, name="administrator", scopes=["read", "write", "admin"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    assert main(["organisation", "create", "Acme"]) == CommandStatus.OK
    assert main(["organisation", "create", "Acme"]) == CommandStatus.REFUSED
    made = Organisation.objects.get(name="Acme")
    Membership.objects.get_or_create(organisation=made, user=bob.bob, defaults={"role": "owner"})
    assert main(["organisation", "rename", "Acme", "Acme Labs"]) == CommandStatus.OK
    assert main(["organisation", "archive", "Acme Labs"]) == CommandStatus.OK
    assert "Archived: Acme Labs." in capsys.readouterr().err
    assert main(["project", "create", "sight", "--organisation", "Acme Labs"]) == CommandStatus.REFUSED
    assert main(["organisation", "unarchive", "Acme Labs"]) == CommandStatus.OK
    assert main(["project", "create", "sight", "--organisation", "Acme Labs"]) == CommandStatus.OK


def test_a_project_is_made_in_a_team(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    team = Team.objects.create(organisation=bob.a, name="research")
    assert main(["project", "create", "sight", "--team", "research"]) == CommandStatus.OK
    assert "Made: sight of research." in capsys.readouterr().err
    assert Project.objects.get(name="sight").team == team
    assert main(["project", "create", "sound", "--team", "nowhere"]) == CommandStatus.REFUSED
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.slow
def test_jobs_and_models_are_deleted_and_refused_with_the_remedy(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    live, over = job(bob.project_a, bob.bob, name="live"), job(bob.project_a, bob.bob, name="over")
    Attempt.objects.create(job=over, number=1, mode="all_reduce", n_workers=1)
    Job.objects.filter(pk=over.pk).update(state="succeeded", finished_at=timezone.now())
    assert main(["rm", "over", "live", "--yes"]) == CommandStatus.USAGE
    assert "Cancel it" in capsys.readouterr().err
    assert main(["rm", "over", "--yes"]) == CommandStatus.OK
    said = capsys.readouterr().err
    assert "over (" in said
    assert "): 1 attempt, 0 B." in said
    assert list(Job.objects.all()) == [live]
    assert main(["dataset", "rm", live.dataset_version.dataset.name, "--yes"]) == CommandStatus.REFUSED
    assert "1 job uses" in capsys.readouterr().err
    Model.objects.create(project=bob.project_a, name="net", created_by=bob.bob)
    assert main(["model", "rm", "net", "--yes"]) == CommandStatus.OK
    assert not Model.objects.filter(name="net").exists()
    assert main(["model", "rm", "mlp", "--yes"]) == CommandStatus.USAGE
    assert "own models" in capsys.readouterr().err


def test_usage_comes_as_csv(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["usage", "--by", "user", "--csv"]) == CommandStatus.OK
    assert next(csv.reader(io.StringIO(capsys.readouterr().out)))[0] == "user"
