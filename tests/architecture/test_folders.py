# SPDX-License-Identifier: Apache-2.0
"""Folders of the platform and of the scheduler are small enough to find one's way in."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_MODULES = 25
WITHOUT = {"migrations", "generated"}  # folders that Django and `make client` write


def crowded(*packages: Path) -> dict[str, int]:
    """By folder, how many modules it has, where these are more than MOST_MODULES.

    A module is a file `*.py`, `__init__.py` too; those of folders below it and generated ones do not count.
    """
    paths = (path for package in packages for path in package.rglob("*.py"))
    counts = Counter(path.parent for path in paths if not WITHOUT & set(path.parts))
    return {str(folder): n for folder, n in sorted(counts.items()) if n > MOST_MODULES}


def test_no_folder_has_more_modules_than_one_can_survey() -> None:
    assert not crowded(ROOT / "mlhub", ROOT / "scheduler"), "group the modules in packages: docs/decisions/layout.md"


def test_a_crowded_folder_is_found_and_what_lies_below_it_or_is_generated_does_not_count(tmp_path: Path) -> None:
    for folder, n in {
        "full": MOST_MODULES,
        "full/below": MOST_MODULES + 1,
        "full/migrations": MOST_MODULES + 1,
    }.items():
        (tmp_path / folder).mkdir()
        for number in range(n):
            (tmp_path / folder / f"m{number}.py").touch()
    assert crowded(tmp_path) == {str(tmp_path / "full" / "below"): MOST_MODULES + 1}
