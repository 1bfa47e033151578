# SPDX-License-Identifier: Apache-2.0
"""The guides list every setting of the environment with its default, and no setting that does not exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.core.rate_limits.limits import DEFAULTS, setting_of

ROOT = Path(__file__).parents[2]
INSTALL = (ROOT / "docs/guides/install.md").read_text()
KUBERNETES = (ROOT / "docs/guides/kubernetes.md").read_text()
READERS = {"str", "bool", "int", "float", "list", "db", "url"}  # methods of django-environ that read a variable
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
UNKNOWN = object()  # a default that is no constant


def rows(page: str, heading: str) -> Iterator[tuple[str, str]]:
    """Yields (name, default) of each row of the first table below a heading; a row may have several names.

    A default is the last cell up to an explanation after a colon. Raises ValueError when the heading is missing.
    """
    section = page[page.index(f"\n{heading}\n") :].split("\n## ", 2)[1]
    for line in section.splitlines():
        if not line.startswith("| `"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        default = cells[-1].partition(": ")[0]
        names = re.findall(r"`([A-Za-z0-9_]+)`", cells[0])
        defaults = default.split(", ") if len(default.split(", ")) == len(names) else [default] * len(names)
        yield from zip(names, defaults, strict=True)


def value(text: str) -> Any:
    """Reads a documented default: "4 GiB", "10e9", "none", "`auto`"."""
    text = text.strip().strip("`")
    number, _, unit = text.partition(" ")
    try:
        return float(number) * UNITS.get(unit, 1)
    except ValueError:
        return "" if text in ("none", "|") else text


def constant(node: ast.expr) -> Any:
    """The value of an expression of constants, such as 16 * 2**20; UNKNOWN for any other."""
    allowed = (ast.Constant, ast.BinOp, ast.operator)
    if not all(isinstance(part, allowed) for part in ast.walk(node)):
        return UNKNOWN
    return eval(compile(ast.Expression(node), "default", "eval"))


def settings_of_django() -> dict[str, Any]:
    """Each variable that mlhub.settings reads, with its default."""
    found = {}
    modules = [ast.parse(path.read_text()) for path in sorted((ROOT / "mlhub/settings").glob("*.py"))]
    for node in (node for module in modules for node in ast.walk(module)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        is_bounded = isinstance(function, ast.Name) and function.id == "read_seconds"  # the environment comes first
        arguments = node.args[1:] if is_bounded else node.args
        name = arguments[0] if arguments else None
        if not isinstance(name, ast.Constant):
            continue
        is_method = isinstance(function, ast.Attribute) and function.attr in READERS
        reader = function.value if isinstance(function, ast.Attribute) and is_method else function
        if is_bounded or (isinstance(reader, ast.Name) and reader.id == "env"):
            default = next((keyword.value for keyword in node.keywords if keyword.arg == "default"), None)
            found[str(name.value)] = UNKNOWN if default is None else constant(default)
    return found


def variables_read_elsewhere() -> set[str]:
    """Secrets, rate limits, and MLHUB_ variables that other modules of the platform read from os.environ."""
    read = re.compile(r"os\.environ(?:\.get\(|\[)\s*[\"'](MLHUB_[A-Z0-9_]+)")
    named = re.compile(
        r"^[A-Z_]+ = \"(MLHUB_[A-Z0-9_]+[A-Z0-9])\"$", re.MULTILINE
    )  # a constant that os.environ is asked for
    secret = re.compile(r"secret_value\(\w+(?:\.\w+)*, \"([A-Z0-9_]+)\"")
    found = {setting_of(budget) for budget in DEFAULTS}
    for path in (ROOT / "mlhub").rglob("*.py"):
        text = path.read_text()
        found |= {*read.findall(text), *secret.findall(text)}
        found |= set(named.findall(text)) if "os.environ" in text else set()
    return found


def test_the_table_of_settings_is_complete_and_lists_nothing_else() -> None:
    read = settings_of_django().keys() | variables_read_elsewhere()
    assert len(read) > 25
    listed = [name for name, _ in rows(INSTALL, "## Settings")]
    assert sorted(listed) == sorted(read)


# Defaults that depend on the machine or on other settings are said in words, and so are the two databases' addresses,
# since the embedded default replaces them.
CONSTANT = {name: default for name, default in settings_of_django().items() if default is not UNKNOWN}
CONSTANT = {
    name: default for name, default in CONSTANT.items() if not name.endswith("_URL") or name.startswith("MLHUB")
}


@pytest.mark.parametrize("name", sorted(CONSTANT))
def test_the_default_of_a_setting_is_the_documented_one(name: str) -> None:
    assert value(dict(rows(INSTALL, "## Settings"))[name]) == CONSTANT[name]


def test_the_options_of_the_kubernetes_backend_are_listed_with_their_defaults() -> None:
    documented = {name: value(default) for name, default in rows(KUBERNETES, "## Options")}
    options = {field.name: field.default for field in fields(KubernetesOptions)}
    assert documented.keys() == options.keys()
    words = {name for name, default in options.items() if isinstance(default, str) and not default}
    assert {name: documented[name] for name in options if name not in words} == {
        name: default for name, default in options.items() if name not in words
    }


def test_a_setting_that_is_missing_from_a_table_is_found() -> None:
    page = (
        "# Page\n\n## Settings\n\n| variable | meaning | default |\n|---|---|---|\n| `A`, `B` | both | 4 GiB, none |\n"
    )
    assert list(rows(page + "\n## More\n", "## Settings")) == [("A", "4 GiB"), ("B", "none")]
    assert [value("4 GiB"), value("none"), value("`auto`")] == [2**32, "", "auto"]
