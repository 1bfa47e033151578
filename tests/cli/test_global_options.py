# SPDX-License-Identifier: Apache-2.0
"""Options of every command stand before it or after it."""

from __future__ import annotations

import pytest

from mlhub.cli.app import main, program
from mlhub.cli.global_options import moved_to_front


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_completes_mlhub(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_MLHUB_COMPLETE" in script
    assert f"complete_{shell}" in script


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ("ps -o json", "-o json ps"),
        ("run ./x -p vision --data d -d", "-p vision run ./x --data d -d"),
        ("model export iris --format onnx --project=v", "--project=v model export iris --format onnx"),
        ("--url http://x ps", "--url http://x ps"),
        ("login --token t", "login --token t"),  # the command's own
        ("run t.py -- --project q -o z", "run t.py -- --project q -o z"),  # the script's
        ("dataset push x --name -p", "dataset push x --name -p"),  # a value
        ("dataset push x -p", "dataset push x -p"),  # whose value is missing
        ("ps --help", "ps --help"),
        ("unknown -p v", "-p v unknown"),
        ("", ""),
    ],
)
def test_they_are_moved_to_the_front(given: str, understood: str) -> None:
    assert moved_to_front(program(), given.split()) == understood.split()
