# SPDX-License-Identifier: Apache-2.0
"""Datasets from an address on the command line: fetched, refreshed, refused in the platform's words."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from mlhub.cli import uploads
from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.core.errors import UnavailableError
from mlhub.datasets import tasks
from mlhub.datasets.models import DatasetVersion
from mlhub.storage import staging
from mlhub.storage.models import WorkItem
from mlhub.storage.tasks import work_on_next, work_on_next_outgoing
from mlhub.tenants.actions import create_token
from tests.cast import make_cast
from tests.datasets import files
from tests.datasets.file_server import file_server

pytestmark = pytest.mark.slow


def _work() -> None:
    """What the platform's worker does while the command line waits."""
    for version in DatasetVersion.objects.order_by("number"):
        tasks.fetch_version(str(version.id))
        tasks.inspect_version(str(version.id))


def test_a_fetch_that_waits_for_room_in_the_store_says_so_and_goes_on(
    transactional_db: None,
    live_server: Any,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, token = create_token(make_cast().bob, name="terminal", scopes=["read", "write"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_URL", live_server.url)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    monkeypatch.delenv("MLHUB_PROJECT", raising=False)
    settings.DATA_ALLOW = ["127.0.0.1"]
    is_full = iter([True, False, False])

    def work() -> None:
        WorkItem.objects.update(not_before=None)
        with monkeypatch.context() as patched:
            if next(is_full):
                patched.setattr(staging, "os", _OsOfAFullDisk())
            with suppress(UnavailableError):
                work_on_next_outgoing()
        work_on_next()

    monkeypatch.setattr(uploads, "time", SimpleNamespace(sleep=lambda _: work()))
    with file_server(files.csv(40)) as server:
        assert (
            main(["dataset", "push", "flowers", "--from", f"{server.url}/iris.csv", "--target", "species"])
            == CommandStatus.OK
        )
    lines = " ".join(capsys.readouterr().err.split())
    assert (
        lines.count("It is tried again, since the platform could not do it: The platform's store takes no bytes") == 1
    )
    assert "Version 1 is ready" in lines


class _OsOfAFullDisk:
    """The module os, but that files which are made have no room."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fdopen(self, descriptor: int, mode: str) -> IO[bytes]:
        os.close(descriptor)
        return Path("/dev/full").open(mode, buffering=0)  # type: ignore[return-value]


def test_a_dataset_is_fetched_and_refreshed_by_its_name(
    transactional_db: None,
    live_server: Any,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, token = create_token(make_cast().bob, name="terminal", scopes=["read", "write"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_URL", live_server.url)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    monkeypatch.delenv("MLHUB_PROJECT", raising=False)
    monkeypatch.setattr(uploads, "time", SimpleNamespace(sleep=lambda _: _work()))
    settings.DATA_ALLOW = ["127.0.0.1"]
    with file_server(files.csv(40)) as server:
        push = ["dataset", "push", "flowers", "--from", f"{server.url}/iris.csv", "--target", "species"]
        assert main(push) == CommandStatus.OK
        assert "Version 1 is ready" in capsys.readouterr().err
        assert main(["dataset", "refresh", "flowers"]) == CommandStatus.OK
        assert "the file has not changed" in capsys.readouterr().err.replace("\n", " ")
        pinned = [*push, "--source", 'etag="of-last-week"']
        assert main(pinned) == CommandStatus.REFUSED
        assert "it is another file" in capsys.readouterr().err.replace("\n", " ")
        assert main([*push, "--source", "colour=red"]) == CommandStatus.USAGE
        assert main(["dataset", "push", "flowers", "--secret", "token=X"]) == CommandStatus.USAGE
    states = DatasetVersion.objects.order_by("number").values_list("dataset__name", "number", "state")
    assert list(states) == [("flowers", 1, "ready"), ("flowers", 2, "ready"), ("flowers", 3, "refused")]
