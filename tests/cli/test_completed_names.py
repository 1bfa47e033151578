# SPDX-License-Identifier: Apache-2.0
"""What a shell is given when Tab is pressed behind a command: names that the platform has for its argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from mlhub.cli.app import app, program
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.jobs.builders import job, ready_dataset

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cast(transactional_db: None, live_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Cast:
    """The command line speaks as bob."""
    cast = make_cast()
    _, token = create_token(cast.bob, name="terminal", scopes=["read"], expires_in_days=1)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MLHUB_URL", live_server.url)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    return cast


def completed(line: str) -> list[str]:
    """As the script that `mlhub completion bash` prints asks for it."""
    words = line.split(" ")
    asked = {"_MLHUB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return CliRunner().invoke(app, [], prog_name="mlhub", env=asked).output.split()


def test_names_of_what_one_sees_are_completed_by_their_beginning(cast: Cast) -> None:
    dataset = ready_dataset(cast.project_a, cast.bob)
    job(cast.project_a, cast.bob, name="flowers-1")
    job(cast.project_a, cast.bob, name="flowers 2")  # two words to a shell
    job(cast.project_a, cast.bob, name="other")
    job(cast.project_b, cast.charlie, name="flowers-of-others")
    assert completed("mlhub why flow") == ["flowers-1"]
    assert set(completed("mlhub logs ")) == {"flowers-1", "other"}
    name = dataset.dataset.name
    assert completed(f"mlhub dataset show {name[:2]}") == [name]
    assert completed(f"mlhub run --dataset {name[:2]}") == [name]
    assert "mlp" in completed("mlhub run --model m")
    assert completed(f"mlhub -p {cast.project_a.name[:3]}") == [cast.project_a.name]


def test_texts_of_help_need_no_quotes_that_a_shell_would_take_away() -> None:
    """zsh evaluates the list of completions, in which the texts stand in quotes: it takes those of a text away."""

    def texts(command: Any) -> Iterator[str]:
        yield command.get_short_help_str(limit=1000)
        yield from (option.help or "" for option in command.params if option.param_type_name == "option")
        for each in getattr(command, "commands", {}).values():
            yield from texts(each)

    found = list(texts(program()))
    assert len(found) > 200
    assert [text for text in found if set(text) & set("'\"")] == []


def test_fish_offers_no_files_behind_commands_that_take_none() -> None:
    printed = CliRunner().invoke(app, ["completion", "fish"], prog_name="mlhub").output
    (line,) = (line for line in printed.splitlines() if "__fish_seen_subcommand_from" in line)
    without, others = (part.split() for part in line.split("; and not "))
    assert "--no-files" in line
    assert {"why", "queue", "notebook"} <= set(without)
    assert {"run", "dataset", "backup", "predict"} <= set(others)  # of which all or some take files


def test_nothing_is_completed_where_the_platform_cannot_be_asked(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLHUB_TOKEN", "mlh_wrong")
    assert completed("mlhub why flow") == []
    monkeypatch.delenv("MLHUB_TOKEN")
    assert completed("mlhub why flow") == []
    assert "pause" in completed("mlhub pa")
