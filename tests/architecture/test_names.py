# SPDX-License-Identifier: Apache-2.0
"""One name, one concept: no two public classes or type aliases of Python have the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("scheduler", "mlhub", "benchmarks")
GENERATED = ("mlhub/client/generated", "mlhub/client/synchronous")  # `make client`: the schema's names, and a twin
FRAMEWORK = {"Meta", "Command", "Migration"}  # Django finds these by their names


def declared_names(tree: ast.Module) -> Iterator[str]:
    """Public classes, also nested ones, and aliases of types at the top of a module: `Name = dict[...]`, `X | Y`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and _is_type_name(target.id) and _is_type(statement.value):
                yield target.id


def duplicates_in(sources: dict[str, str]) -> dict[str, list[str]]:
    """By name, the files that declare it, where there are several. sources: text by file."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for file, text in sources.items():
        for name in declared_names(ast.parse(text)):
            if name not in FRAMEWORK:
                files[name].append(file)
    return {name: found for name, found in sorted(files.items()) if len(found) > 1}


def _is_type_name(name: str) -> bool:
    return name[0].isupper() and not name.isupper() and not name.startswith("_")


def _is_type(value: ast.expr) -> bool:
    """Does it look like a type: a union, or a generic with arguments whose name begins like a type's?"""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        return True
    if not isinstance(value, ast.Subscript):
        return False
    base = ast.unparse(value.value).rpartition(".")[2]
    return base[0].isupper() or base in {"dict", "frozenset", "list", "set", "tuple", "type"}


def test_no_two_classes_or_type_aliases_have_one_name() -> None:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "migrations" not in path.parts]
    sources = {str(path.relative_to(ROOT)): path.read_text() for path in paths}
    found = duplicates_in({name: text for name, text in sources.items() if not name.startswith(GENERATED)})
    assert not found, "\n".join(f"{name}: {', '.join(files)}" for name, files in found.items())


@pytest.mark.parametrize("text", ["class Twice: ...", "Twice = dict[str, int]", "Twice = int | str"])
def test_a_name_that_is_declared_twice_is_found(text: str) -> None:
    assert duplicates_in({"a.py": "class Twice: ...", "b.py": text, "c.py": "class _Twice: ..."}) == {
        "Twice": ["a.py", "b.py"]
    }


def test_private_names_values_and_django_s_classes_may_repeat() -> None:
    text = "class _Own: ...\nclass Meta: ...\nMOST = table[0]\nkind = dict[str, int]"
    assert not duplicates_in({"a.py": text, "b.py": text})
