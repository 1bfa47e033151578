# SPDX-License-Identifier: Apache-2.0
"""mlhub -p: a project by its name, or behind its organisation where several have that name."""

from __future__ import annotations

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.tenants.models import Membership, Project
from mlhub.tenants.roles import Role
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.jobs.builders import ready_dataset

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_project_is_named_behind_its_organisation(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    twin = Project.objects.create(organisation=bob.b, name="vision")
    Membership.objects.create(user=bob.bob, organisation=bob.b, role=Role.MEMBER)

    def listed(*argv: str, status: CommandStatus = CommandStatus.OK) -> str:
        capsys.readouterr()
        assert main(list(argv)) == status
        got = capsys.readouterr()
        return got.out + " ".join(got.err.split())

    ambiguous = listed("-p", "vision", "dataset", "ls", status=CommandStatus.USAGE)
    assert "Several projects are called vision." in ambiguous
    assert "A/vision" in ambiguous
    assert "B/vision" in ambiguous
    digits = ready_dataset(twin, bob.bob).dataset.name
    assert digits in listed("-p", "B/vision", "dataset", "ls")
    assert digits in listed("-p", f"{bob.b.pk}/vision", "dataset", "ls")
    assert digits not in listed("-p", "A/vision", "dataset", "ls")
    for wrong in ("C/vision", "A/speech", "/vision", "A/", "/"):
        assert f"There is no project {wrong}" in listed("-p", wrong, "dataset", "ls", status=CommandStatus.REFUSED)
    Project.objects.create(organisation=bob.a, name="A/vision")  # a name as it is comes first
    assert digits not in listed("-p", "A/vision", "dataset", "ls")
    assert listed("project", "retention", "show", "B/vision")
