# SPDX-License-Identifier: Apache-2.0
"""The library keeps nothing behind its callers' backs: what outlives a call is in an object that they pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import scheduler

ROOT = Path(scheduler.__file__).parent
CACHES = {"lru_cache", "cache"}
PLAIN = {"int", "float", "str", "bytes", "bool", "None", "tuple", "Stages"}  # Stages: three numbers
MUTABLE = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
FACTORIES = {"dict", "list", "set", "OrderedDict", "defaultdict", "deque", "WeakKeyDictionary", "WeakValueDictionary"}
WRITES = {"append", "add", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}
CONSTANT_FILES = {("policies/dl2/network.py", "trained")}  # a file of the package, read once


def findings(source: str, path: str) -> Iterator[str]:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if is_cached(node) and (path, node.name) not in CONSTANT_FILES and not takes_plain_values(node):
                yield f"lru_cache of {node.name}"
        elif isinstance(node, ast.Call) and "id" in map(name_of, [node.func, *node.args]):
            yield "id()"
        elif isinstance(node, ast.Attribute):
            yield from finding_of_attribute(name_of(node.value), node.attr, path)
        elif isinstance(node, ast.Global):
            yield f"global {', '.join(node.names)}"
    yield from written_globals(tree)


def finding_of_attribute(owner: str, attribute: str, path: str) -> Iterator[str]:
    if (owner, attribute) == ("object", "__new__"):
        yield "object.__new__"
    if owner in {"gc", "weakref"} and not path.startswith("commands/"):
        yield f"{owner}.{attribute}"
    if attribute in {"memo", "_memo"}:
        yield "memo"


def is_cached(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {n.id for d in function.decorator_list for n in ast.walk(d) if isinstance(n, ast.Name)}
    attributes = {n.attr for d in function.decorator_list for n in ast.walk(d) if isinstance(n, ast.Attribute)}
    return bool((names | attributes) & CACHES)


def takes_plain_values(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if not arguments:
        return False
    names = {n.id for a in arguments if a.annotation for n in ast.walk(a.annotation) if isinstance(n, ast.Name)}
    return all(a.annotation for a in arguments) and names <= PLAIN


def written_globals(tree: ast.Module) -> Iterator[str]:
    """Module-level dictionaries, lists and sets that a function writes to."""
    stores = {name for node in tree.body for name in names_of_stores(node)}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and node.attr in WRITES and name_of(node.value) in stores:
                yield f"{name_of(node.value)}.{node.attr}"
            is_written = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del)
            if is_written and name_of(node.value) in stores:  # type: ignore[attr-defined]
                yield f"{name_of(node.value)}[...]"  # type: ignore[attr-defined]


def names_of_stores(node: ast.stmt) -> Iterator[str]:
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return
    made = node.value.func if isinstance(node.value, ast.Call) else None
    called = getattr(made, "id", getattr(made, "attr", ""))
    if isinstance(node.value, MUTABLE) or called in FACTORIES:
        yield from map(name_of, node.targets if isinstance(node, ast.Assign) else [node.target])


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def test_no_module_keeps_state_that_its_callers_do_not_see() -> None:
    files = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(ROOT.rglob("*.py"))}
    found = {(path, finding) for path, source in files.items() for finding in findings(source, path)}
    assert not found
    assert len(files) > 100


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        ("@lru_cache\ndef speed(job: JobSnapshot) -> float: ...", "lru_cache of speed"),
        ("@functools.lru_cache(maxsize=8)\ndef speed(n: int, job: 'Job', x: Job): ...", "lru_cache of speed"),
        ("@cache\ndef model(observations): ...", "lru_cache of model"),
        ("def f(job):\n    return known[id(job)]", "id()"),
        ("def f(jobs):\n    return set(map(id, jobs))", "id()"),
        ("def f():\n    return object.__new__(Job)", "object.__new__"),
        ("def f():\n    gc.disable()", "gc.disable"),
        ("def f(model, key):\n    return model.memo[key]", "memo"),
        ("_known = {}\ndef f(job):\n    _known[job.id] = 1", "_known[...]"),
        ("_newest: list[int] = []\ndef f(x):\n    _newest.insert(0, x)", "_newest.insert"),
        ("def f():\n    global last\n    last = 1", "global last"),
    ],
)
def test_hidden_state_of_each_sort_is_found(source: str, finding: str) -> None:
    assert finding in set(findings(source, "models/some.py"))


def test_tables_of_numbers_are_allowed() -> None:
    assert not set(findings("@lru_cache\ndef f(n: int, name: str, x: float | None) -> int: ...", "models/some.py"))
