# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the scheduler's library are sentences: those of public functions begin with a verb."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("api", "round", "quota", "placement", "models", "policies", "simulator", "commands")
VERB = re.compile(r"[A-Z][a-z]+s\b")  # Returns, Sets, Holds
# A plural noun looks like a verb, and an error alone says nothing about the function.
NO_SENTENCES = (
    "As ",
    "Raises ",
    "Seconds ",
    "Steps ",
    "Jobs ",
    "Speeds ",
    "Nodes ",
    "Rows ",
    "Its ",
    "This ",
    "Texts ",
)

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public(tree: ast.Module) -> Iterator[tuple[str, Documented]]:
    """Yields (name, node) of every public class, function and method."""
    for node in tree.body:
        if isinstance(node, Documented) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                yield from ((f"{node.name}.{name}", method) for name, method in public(ast.Module(node.body, [])))


def faults(source: str) -> list[str]:
    """The names of public classes without a docstring, and of public functions whose docstring begins with no verb."""
    found = []
    for name, node in public(ast.parse(source)):
        words = ast.get_docstring(node)
        if isinstance(node, ast.ClassDef):
            is_fault = not words
        else:
            is_fault = words is not None and (not VERB.match(words) or words.startswith(NO_SENTENCES))
        if is_fault:
            found.append(name)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_public_functions_say_what_they_do(package: str) -> None:
    paths = sorted((ROOT / "scheduler" / package).rglob("*.py"))
    assert paths
    assert {path.name: names for path in paths if (names := faults(path.read_text()))} == {}


def test_a_fragment_and_a_missing_docstring_are_found() -> None:
    source = (
        'class A: ...\n\ndef f(): "Seconds of a step."\n\ndef g(): "Of the chart\'s files."\n\ndef h(): "Returns 1."\n'
    )
    assert faults(source) == ["A", "f", "g"]
