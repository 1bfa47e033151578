# SPDX-License-Identifier: Apache-2.0
"""Each guarantee has its cases, each case a test that exists, and the guide shows them all."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.chaos.guide import GUIDE, last_passes, written
from tests.chaos.matrix import CASES, GUARANTEES, UNPROVEN, Case

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.node_id)
def test_the_test_of_a_case_exists(case: Case) -> None:
    file, _, name = case.test.partition("::")
    tree = ast.parse((ROOT / file).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_each_guarantee_has_a_case_or_says_what_is_missing() -> None:
    proven = {case.guarantee for case in CASES}
    assert proven | set(UNPROVEN) == set(GUARANTEES)
    assert len({case.node_id for case in CASES}) == len(CASES)


def test_the_guide_is_what_the_matrix_says() -> None:
    assert GUIDE.read_text() == written(last_passes())
