# SPDX-License-Identifier: Apache-2.0
"""A command refuses an empty name and a number that is not finite in words, before it asks the platform anything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from mlhub.cli.app import main, program
from mlhub.cli.failures import CommandStatus


def commands(group: TyperGroup, *above: str) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, *above, name)
        elif isinstance(command, TyperCommand):
            yield (*above, name), command


def needed(command: TyperCommand) -> list[TyperArgument]:
    return [one for one in command.params if isinstance(one, TyperArgument) and one.required]


@pytest.fixture(autouse=True)
def _no_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLHUB_URL", "http://127.0.0.1:9")  # nothing listens there
    monkeypatch.setenv("MLHUB_TOKEN", "none")


@pytest.mark.parametrize("blank", ["", " ", "\t"])
def test_every_command_refuses_an_empty_name_in_words(blank: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, n_refused = [], 0
    for words, command in commands(program()):
        arguments = needed(command)
        for place, argument in enumerate(arguments):
            if argument.type.name != "str":
                continue
            given = ["1" if one.type.name.startswith("int") else "x" for one in arguments]
            given[place] = blank
            status = main([*words, *given])
            shown = capsys.readouterr().err
            n_refused += 1
            if status != CommandStatus.USAGE or " is empty." not in shown or f"`mlhub {' '.join(words)} " not in shown:
                wrong.append((words, argument.name, status, shown))
    assert wrong == []
    assert n_refused > 40


def test_one_empty_name_among_several_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cancel", "first", ""]) == CommandStatus.USAGE
    assert capsys.readouterr().err.splitlines()[0] == "mlhub: JOBS is empty."
    assert main(["cancel", "first"]) == CommandStatus.UNREACHABLE  # what is given is asked for


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_every_command_refuses_a_number_that_is_not_finite(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, n_refused = [], 0
    for words, command in commands(program()):
        given = ["1" if one.type.name.startswith("int") else "x" for one in needed(command)]
        for option in command.params:
            if not isinstance(option, TyperOption) or not option.type.name.startswith("float"):
                continue
            status = main([*words, *given, option.opts[0], number])
            shown = capsys.readouterr().err
            n_refused += 1
            if status != CommandStatus.USAGE or option.opts[0] not in shown:
                wrong.append((words, option.name, status, shown))
    assert wrong == []
    assert n_refused > 4


@pytest.mark.parametrize("words", [["project", "retention", "set", "vision", "logs=nan"],
                                   ["organisation", "retention", "set", "A", "logs.most=inf"]])  # fmt: skip
def test_days_that_are_not_finite_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == CommandStatus.USAGE
    assert "is no " in capsys.readouterr().err
