# SPDX-License-Identifier: Apache-2.0
"""The columns of a table on the command line: pushed once, described, and chosen without another upload."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlhub.cli import uploads
from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.datasets import tasks
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.storage.models import Blob
from mlhub.tenants.actions import create_token
from tests.cast import make_cast
from tests.datasets.files import customers

pytestmark = pytest.mark.slow


@pytest.fixture
def table(transactional_db: None, live_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An ordinary CSV of bob's; while the command line waits, what was uploaded is inspected."""
    _, token = create_token(make_cast().bob, name="terminal", scopes=["read", "write"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_URL", live_server.url)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    monkeypatch.delenv("MLHUB_PROJECT", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(uploads, "time", SimpleNamespace(sleep=lambda _: _inspect()))
    path = tmp_path / "customers.csv"
    path.write_bytes(customers())
    return path


def _inspect() -> None:
    for version in DatasetVersion.objects.filter(state=VersionState.INSPECTING):
        tasks.inspect_version(str(version.id))


def test_a_table_is_pushed_once_and_its_columns_are_chosen_afterwards(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dataset", "push", str(table), "--ignore", "city"]) == CommandStatus.REFUSED
    errors = capsys.readouterr().err
    assert "not clear which column" in errors
    assert "mlhub dataset columns customers --target COLUMN" in errors.replace("\n", " ")
    choice = ["--target", "churned", "--type", "source=category"]
    assert main(["-o", "json", "dataset", "columns", "customers", *choice]) == CommandStatus.OK
    roles = {column["name"]: column["role"] for column in json.loads(capsys.readouterr().out)}
    assert [name for name, role in roles.items() if role == "ignored"] == ["customer_id", "city"]
    assert (roles["churned"], roles["source"]) == ("target", "feature")
    assert main(["dataset", "columns", "customers"]) == CommandStatus.OK
    table_rows = capsys.readouterr().out.splitlines()
    assert table_rows[0].split() == ["COLUMN", "ROLE", "TYPE", "MISSING", "DISTINCT", "EXAMPLES"]
    assert table_rows[-1].split()[:3] == ["churned", "target", "category"]
    version = DatasetVersion.objects.get()
    assert version.options == {"target": "churned", "ignore": ["city"], "types": {"source": "category"}}
    assert version.state == VersionState.READY
    assert main(["dataset", "columns", "customers", "--missing", "age"]) == CommandStatus.USAGE
    assert Blob.objects.count() == 1

    content, folder = table.read_bytes(), table.parent / "pulled"
    assert main(["dataset", "pull", "customers", "--to", str(folder), "--version", "1"]) == CommandStatus.OK
    assert (folder / "customers.csv").read_bytes() == content
    assert main(["dataset", "pull", "customers", "--version", "2"]) == CommandStatus.REFUSED


def test_two_versions_of_a_table_are_compared(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset", "push", str(table), "--target", "churned"]) == CommandStatus.OK
    table.write_bytes(customers(80).replace(b"age", b"years", 1))
    assert main(["dataset", "push", str(table), "--target", "churned"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["dataset", "diff", "customers", "1"]) == CommandStatus.OK
    shown = capsys.readouterr()
    lines = [line.split() for line in shown.out.splitlines()]
    assert lines[0] == ["WHAT", "V1", "V2"]
    assert ["n_rows", "60", "80"] in lines
    assert ["column", "years", "-", "number"] in lines
    assert ["column", "age", "number", "-"] in lines
    assert "Rows are counted, not compared" in shown.err.replace("\n", " ")
    assert main(["dataset", "diff", "customers", "1", "3"]) == CommandStatus.REFUSED
    assert "has no version 3" in capsys.readouterr().err
    assert main(["dataset", "diff", "customers", "1", "1"]) == CommandStatus.OK
    assert capsys.readouterr().out.strip() == "Nothing differs."


def test_the_number_format_is_shown_asked_for_and_chosen(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{1 + i},{100 + i}\t{i}\t{'ab'[i % 2]}\n" for i in range(30))
    (table.parent / "loads.csv").write_text("weight\tage\tlabel\n" + rows)
    assert main(["dataset", "push", str(table.parent / "loads.csv")]) == CommandStatus.REFUSED
    errors = capsys.readouterr().err.replace("\n", " ")
    assert "1,100 is 1100 with a decimal point, 1.1 with a decimal comma" in errors
    assert "mlhub dataset columns loads --numbers weight=comma" in errors
    assert main(["dataset", "columns", "loads", "--numbers", "weight=dot"]) == CommandStatus.REFUSED
    assert main(["dataset", "columns", "loads", "--numbers", "weight=comma"]) == CommandStatus.OK
    assert "number (comma)" in capsys.readouterr().out
    version = DatasetVersion.objects.get()
    assert (version.options, version.state) == ({"numbers": {"weight": "comma"}}, VersionState.READY)


def test_a_file_that_is_not_utf_8_is_read_and_its_encoding_named(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{i}\t{('München', 'Köln')[i % 2]}\n" for i in range(30))
    (table.parent / "cities.csv").write_bytes(("age\tcity\n" + rows).encode("cp1252"))
    assert main(["dataset", "push", str(table.parent / "cities.csv"), "--target", "city"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["dataset", "columns", "cities"]) == CommandStatus.OK
    shown = capsys.readouterr()
    assert "München" in shown.out
    assert "is read as Windows-1252 (Western European)" in shown.err.replace("\n", " ")
