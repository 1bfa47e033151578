# SPDX-License-Identifier: Apache-2.0
"""The layer contracts of the runtime's packages name every module: a new one has to find its layer."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("package", ["mlhub.runtime.ps", "mlhub.runtime.compat", "mlhub.runtime.launcher"])
def test_every_module_has_a_layer(package: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [c["layers"] for c in contracts if c.get("containers") == [package]]
    named = [name for layer in layers for name in re.split(r"\s*\|\s*", layer)]
    folder = ROOT / package.replace(".", "/")
    modules = {
        path.relative_to(folder).with_suffix("").as_posix().replace("/", ".")
        for path in folder.rglob("*.py")
        if path.name != "__init__.py"
    }
    assert sorted(named) == sorted(modules)


@pytest.mark.parametrize("package", ["ps", "launcher", "scripts", "compat", "importers"])
def test_no_folder_holds_more_than_fifteen_modules(package: str) -> None:
    top = ROOT / "mlhub" / "runtime" / package
    for folder in [top, *(path for path in top.rglob("*") if path.is_dir() and path.name != "__pycache__")]:
        assert len(list(folder.glob("*.py"))) <= 16, folder  # with __init__.py
