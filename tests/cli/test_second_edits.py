# SPDX-License-Identifier: Apache-2.0
"""Two administrators edit at once: the second one reads what is there now, and repeats the command or leaves it."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.client.api import Api
from mlhub.tenants.actions import set_quota
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_edit_that_came_second_says_what_is_there_now(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_quota(bob.a, max_gpus=4, actor=bob.root)
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    change, meanwhile = Api.patch, {"max_gpus": 3}

    def second(api: Api, path: str, **body: Any) -> Any:
        set_quota(bob.project_a, actor=bob.alice, **meanwhile)
        return change(api, path, **body)

    monkeypatch.setattr(Api, "patch", second)
    assert main(["quota", "set", "vision", "--max-gpus", "2"]) == CommandStatus.REFUSED
    said = capsys.readouterr().err
    assert "max_gpus is 3 now, yours is 2. Repeat the command, if your change is still wanted." in said
    assert "`present`" not in said
