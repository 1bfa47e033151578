# SPDX-License-Identifier: Apache-2.0
"""What of a job's hyperparameters becomes a script's command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.scripts.arguments import command_line, counts_in, declared, own_counts, without_option

SCRIPT = """
import argparse

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", "--learning-rate", type=float, default=0.1, dest="rate")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--layers", type=int, nargs="+", default=[1])
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--no-cache", action="store_false", dest="cache")
    parser.add_argument("--shuffle", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("folder", nargs="?")
    return vars(parser.parse_args())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def parsed(script: Path, values: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(sys, "argv", ["train.py", *command_line(script, values)])
    module: dict[str, Any] = {"argparse": argparse}
    exec(script.read_text(), module)
    found: dict[str, Any] = module["options"]()
    return found


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, {}),
        ({"learning_rate": 0.01}, {"rate": 0.01}),
        ({"lr": 0.01}, {"rate": 0.01}),
        ({"rate": -1.5}, {"rate": -1.5}),
        ({"epochs": 7, "seed": 1, "unknown": "x"}, {"epochs": 7}),
        ({"layers": [8, 4]}, {"layers": [8, 4]}),
        ({"fp16": True, "shuffle": False, "cache": False}, {"fp16": True, "shuffle": False, "cache": False}),
        ({"fp16": False, "shuffle": True, "cache": True}, {}),
        ({"arguments": ["--epochs", "9", "here"]}, {"epochs": 9, "folder": "here"}),
        ({"arguments": "--epochs 9"}, {"epochs": 9}),
        ({"epochs": None}, {}),
    ],
)
def test_a_script_is_given_what_it_has_options_for(
    values: dict[str, Any], expected: dict[str, Any], script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {"rate": 0.1, "epochs": 3, "layers": [1], "fp16": False, "cache": True, "shuffle": True, "folder": None}
    assert parsed(script, values, monkeypatch) == usual | expected


def test_click_options_are_found_too(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        'import click\n@click.option("--rate", "-r")\n@click.option("--wet/--dry")\n'
        '@click.option("--fast", is_flag=True)\ndef main(rate, wet, fast): ...\n'
    )
    assert command_line(path, {"rate": 2, "wet": False, "fast": True}) == ["--rate=2", "--dry", "--fast"]


def test_a_script_that_cannot_be_read_has_no_options(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def broken(:")
    assert declared(tmp_path / "train.py") == {}
    assert declared(tmp_path / "absent.py") == {}


def test_a_value_may_name_what_only_the_pod_knows_and_any_other_dollar_is_itself(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('parser.add_argument("--num_nodes")')
    values = {"num_nodes": "$WORLD_SIZE", "arguments": ["${MLHUB_DATASET}/a", "$HOME", "$RANKED", "$MLHUB_ABSENT", "$"]}
    variables = {"WORLD_SIZE": "2", "MLHUB_DATASET": "/data", "HOME": "/root", "RANK": "0"}
    words = command_line(tmp_path / "train.py", values, variables=variables)
    assert words == ["--num_nodes=2", "/data/a", "$HOME", "$RANKED", "$MLHUB_ABSENT", "$"]


def test_how_long_a_script_trains_by_itself_is_read_where_it_is_a_whole_number(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "parser.add_argument('-e', '--epochs', default=90)\nparser.add_argument('--batch-size', default=int('8'))"
    )
    assert own_counts(declared(script)) == {"epochs": 90}
    script.write_text(
        "parser.add_argument('--epochs', default=0)\nparser.add_argument('-b', '--batch-size', default=256)"
    )
    assert own_counts(declared(script)) == {"batch_size": 256}


def test_names_that_nothing_reads_are_found(script: Path, tmp_path: Path) -> None:
    assert without_option(script, {"lr": 1, "lrr": 1, "arguments": ["x"]}) == ["lrr"]
    reading = tmp_path / "reading.py"
    reading.write_text(f"from mlhub.runtime import hyperparameters{SCRIPT}")
    assert without_option(reading, {"lrr": 1}) == []


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (["--epochs", "4"], ["--epochs", "4"]),
        (["--epochs=4"], ["--epochs=4"]),
        (["-e", "4"], ["-e", "4"]),
        (["--verbose", "4"], ["--epochs=6", "--verbose", "4"]),
    ],
)
def test_an_option_that_the_arguments_give_is_not_given_twice(
    words: list[str], passed: list[str], tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text("parser.add_argument('-e', '--epochs', type=int, default=6)")
    assert command_line(script, {"epochs": 6, "arguments": words}) == passed


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (["--epochs", "4", "--batch-size=32"], {"epochs": 4, "batch_size": 32}),
        (["--batch_size=8", "--batch_size", "16"], {"batch_size": 16}),
        (["--epochs"], {}),
        (["--epochs", "0", "--batch-size=-3"], {}),
        (["--epochs=9999999999999", "--batch-size", "many"], {}),
        (["epochs", "3"], {}),
    ],
)
def test_how_long_words_of_a_command_line_train(words: list[str], counts: dict[str, int]) -> None:
    assert counts_in(words) == counts
