# SPDX-License-Identifier: Apache-2.0
"""docs/guides/strategies.md names the tests that prove each strategy: they exist, and no strategy is missing."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from mlhub.runtime.strategies.catalogue.schema import AUTO, PRESETS, STRATEGIES

TESTS = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (TESTS.parents[1] / "docs" / "guides" / "strategies.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| strategy |")
]


@pytest.mark.slow
def test_every_row_names_tests_that_exist() -> None:
    assert len(ROWS) > 30
    for strategy, _, _, tests in ROWS:
        named = re.findall(r"(test_\w+\.py)::(test_\w+)", tests)
        assert named, strategy
        for file, test in named:
            (path,) = TESTS.rglob(file)
            functions = {n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)}
            assert test in functions, f"{strategy}: {file} has no {test}"


def test_every_strategy_and_preset_has_its_row() -> None:
    parameters = {key for declared in STRATEGIES.values() for key in declared.parameters}
    listed = {name for _, here, _, _ in ROWS for name in re.findall(r"`([^`]+)`", here)} - parameters
    assert listed == {*STRATEGIES, *PRESETS} - {AUTO}
