# SPDX-License-Identifier: Apache-2.0
"""Ids in tables: those of one minute differ there, commands take what is shown, and refuse what fits several."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.core.signals import request_started

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.cli.short_ids import is_part
from mlhub.core.ids import new_id
from mlhub.jobs.models import Job
from mlhub.tenants.models import Project
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db(transaction=True)


def _shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The first column of what is listed."""
    capsys.readouterr()
    assert main(list(words)) == CommandStatus.OK
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]


def test_jobs_of_one_moment_are_told_apart_and_taken_by_what_is_shown(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = [job(bob.project_a, bob.bob, name="twin") for _ in range(3)]
    assert len({str(one.pk)[:8] for one in made}) < 3  # the time alone does not tell them apart
    shown = _shown(capsys, "ps")
    assert len(set(shown)) == 3
    assert main(["cancel", shown[1].upper()]) == CommandStatus.OK
    chosen = made[1]  # the newest is listed first
    assert Job.objects.get(pk=chosen.pk).intent == "cancel"
    assert Job.objects.filter(intent="cancel").count() == 1
    capsys.readouterr()
    assert main(["why", str(made[0].pk)[:8]]) == CommandStatus.USAGE
    refused = capsys.readouterr().err
    assert all(str(one.pk) in refused for one in made)
    assert "The ids of 3 jobs begin or end with" in refused
    assert main(["why", "0" * 8]) == CommandStatus.REFUSED


def test_ends_that_two_share_are_refused_and_more_of_one_is_taken(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    ids = [UUID(f"01900000-0000-7000-8000-{start}01234567") for start in ("aaaa", "bbbb")]
    for pk, name in zip(ids, ("seen", "heard"), strict=True):
        Project.objects.create(pk=pk, organisation=bob.a, name=name)
    Project.objects.create(organisation=bob.a, name="01234567")
    assert main(["project", "retention", "show", "01234567"]) == CommandStatus.OK  # a name comes first
    Project.objects.filter(name="01234567").update(name="other")
    capsys.readouterr()
    assert main(["project", "retention", "show", "01234567"]) == CommandStatus.USAGE
    refused = capsys.readouterr().err
    assert f"{ids[0]} (seen)" in refused
    assert f"{ids[1]} (heard)" in refused
    assert "other" not in refused
    assert main(["project", "retention", "show", "bbbb01234567"]) == CommandStatus.OK
    assert main(["role", "why", "bbbb01234567"]) == CommandStatus.OK
    assert main(["role", "ls", "01234567"]) == CommandStatus.USAGE


def test_what_another_organisation_has_is_not_found_by_a_part_of_its_id(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    theirs = str(bob.project_b.pk)
    assert main(["project", "retention", "show", theirs[-8:]]) == CommandStatus.REFUSED
    assert theirs not in capsys.readouterr().err
    assert _shown(capsys, "organisation", "ls") == [str(bob.a.pk)[-8:]]
    assert main(["organisation", "retention", "show", str(bob.a.pk)[-8:]]) == CommandStatus.OK
    assert main(["organisation", "retention", "show", str(bob.b.pk)[-8:]]) == CommandStatus.REFUSED


@pytest.mark.parametrize(
    ("text", "is_one"), [("cdef", True), ("def", False), ("0190", True), ("", False), ("7000", False)]
)
def test_parts_of_an_id_are_its_ends(text: str, is_one: bool) -> None:
    assert is_part(text, "01900000-0000-7000-8000-0123456789ab"[:-4] + "cdef") is is_one


def test_one_request_finds_a_job_among_more_than_fit_on_a_page(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = job(bob.project_a, bob.bob, name="oldest")
    copies = [Job(**{f.attname: getattr(first, f.attname) for f in Job._meta.concrete_fields}) for _ in range(450)]
    for number, copy in enumerate(copies):
        copy.pk, copy.name = new_id(), f"later-{number}"
    Job.objects.bulk_create(copies)
    asked: list[str] = []

    def count(environ: dict[str, str], **_: object) -> None:
        asked.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")

    request_started.connect(count)
    try:
        for given in ("oldest", str(first.pk)[-8:], str(first.pk)):
            asked.clear()
            assert main(["cancel", given]) == CommandStatus.OK, capsys.readouterr().err
            assert asked[1:] == [f"POST /api/v1/jobs/{first.pk}/cancel"], given
            assert asked[0] in ("GET /api/v1/jobs", f"GET /api/v1/jobs/{first.pk}")
    finally:
        request_started.disconnect(count)
    assert main(["cancel", str(first.pk)[:4]]) == CommandStatus.USAGE
    assert "more than 10 jobs" in capsys.readouterr().err
    for nothing in ("", "  "):
        assert main(["cancel", nothing]) == CommandStatus.USAGE
    assert Job.objects.filter(intent="cancel").count() == 1
