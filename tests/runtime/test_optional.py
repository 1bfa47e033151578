# SPDX-License-Identifier: Apache-2.0
"""Optional parts of the runtime: found by entry point, absent without harm, never imported by the core."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from mlhub.runtime import optional
from mlhub.runtime.optional import BUILT_IN, COMPAT, IMPORTERS, find_optional, optional_parts

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    optional.declared_modules.cache_clear()
    yield
    optional.declared_modules.cache_clear()


def test_what_a_checkout_finds_is_what_the_distribution_declares() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert {group: declared[group] for group in BUILT_IN} == BUILT_IN


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, names in BUILT_IN.items() for name in names])
def test_every_built_in_part_is_there(group: str, name: str) -> None:
    part = find_optional(group, name)
    assert part is not None
    assert part.__name__ == BUILT_IN[group][name]


def test_an_entry_point_brings_a_part_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "own_importer.py").write_text("def imported(code, *, entry):\n    return None\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(optional, "entry_points", lambda group: [EntryPoint("mine", "own_importer", group)])
    assert "own_importer" in {part.__name__ for part in optional_parts(IMPORTERS)}


def test_a_part_whose_library_is_missing_is_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "needy.py").write_text("import a_library_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(optional, "entry_points", lambda group: [EntryPoint("horovod", "needy", group)])
    assert find_optional(COMPAT, "horovod") is None
    assert find_optional(COMPAT, "unheard of") is None


def test_a_part_that_is_broken_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import mlhub.runtime.no_such_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(optional, "entry_points", lambda group: [EntryPoint("horovod", "broken", group)])
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        find_optional(COMPAT, "horovod")


@pytest.mark.slow
def test_a_trainer_starts_without_any_optional_part() -> None:
    program = """
import sys
import mlhub.runtime.roles.__main__, mlhub.runtime.roles.script, mlhub.runtime.trainer.loop
import mlhub.runtime.model.contract, mlhub.runtime.inspection.inspect
print([name for name in sys.modules if name.startswith(("mlhub.runtime.compat", "mlhub.runtime.importers"))])
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert found.stdout.strip() == "[]"
