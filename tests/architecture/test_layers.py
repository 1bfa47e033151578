# SPDX-License-Identifier: Apache-2.0
"""Import layers of the scheduler and of the training runtime, measured by layers.py, within their limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture import layers
from tests.architecture.layers import Layering, layering_of, report

MOST_LEVELS = 8
MOST_POLICIES = 25  # modules of scheduler.policies: a policy is one file


@pytest.fixture(scope="module", params=layers.PACKAGES)
def layering(request: pytest.FixtureRequest) -> Layering:
    return layering_of(request.param)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a cycle between two modules and one between two folders, on three levels."""
    for name, text in {
        "layered/__init__.py": "",
        "layered/top.py": "from layered.upper import a",
        "layered/upper/__init__.py": "",
        "layered/upper/a.py": "from layered.upper import b\nfrom layered.lower import d",
        "layered/upper/b.py": "from layered.upper import a",
        "layered/lower/__init__.py": "",
        "layered/lower/c.py": "from layered.upper import b",
        "layered/lower/d.py": "import layered.base",
        "layered/base.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_no_modules_import_each_other_in_a_circle(layering: Layering) -> None:
    assert not layering.module_cycles, report(layering)


def test_no_folders_import_each_other_in_a_circle(layering: Layering) -> None:
    assert not layering.folder_cycles, report(layering)


def test_folders_are_small(layering: Layering) -> None:
    most = {"scheduler.policies": MOST_POLICIES}
    assert all(n <= most.get(folder, 0) for folder, n in layering.large_folders.items()), report(layering)


def test_the_scheduler_has_few_levels() -> None:
    assert len(layering_of("scheduler").levels) <= MOST_LEVELS


def test_layer_contracts_name_every_module(layering: Layering) -> None:
    assert not layering.unnamed, report(layering)


def test_cycles_and_levels_of_a_package_are_found(package: Path) -> None:
    found = layering_of("layered")
    assert found.module_cycles == (("layered.upper.a", "layered.upper.b"),)
    assert found.folder_cycles == (("layered.lower", "layered.upper"), ("layered.upper.a", "layered.upper.b"))
    assert found.levels == (("layered.top",), ("layered.lower", "layered.upper"), ("layered.base",))
    assert "layered.top" in found.unnamed
    assert "layered.lower <-> layered.upper" in report(found)


def test_a_folder_with_many_modules_is_found(package: Path) -> None:
    for number in range(layers.MOST_MODULES + 1):
        (package / "layered" / "lower" / f"m{number}.py").touch()
    assert layering_of("layered").large_folders == {"layered.lower": layers.MOST_MODULES + 3}
