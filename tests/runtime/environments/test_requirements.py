# SPDX-License-Identifier: Apache-2.0
"""requirements.txt that is made of several files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.runtime.environments.requirements import declared_requirements
from mlhub.runtime.errors import BadInputError


def write(root: Path, **files: str) -> Path:
    """Files by name, in which __ stands for a slash; requirements are .txt."""
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_files_that_include_each_other_are_read_once_from_where_they_are(tmp_path: Path) -> None:
    code = write(
        tmp_path,
        requirements="-r parts/base.txt  # what all need\nsix\n",
        parts__base="--requirement=../requirements.txt\n-r extra.txt\nidna>=3\n",
        parts__extra="regex==2026.1",
    )
    found = declared_requirements(code)
    assert found is not None
    assert (found.origin, found.lines) == ("requirements.txt", ("idna>=3", "regex==2026.1", "six"))


@pytest.mark.parametrize("name", ["absent.txt", "../outside.txt", "/etc/hostname"])
def test_a_file_that_is_not_in_the_zip_is_refused_with_the_line(name: str, tmp_path: Path) -> None:
    write(tmp_path, outside="six")
    code = write(tmp_path / "code", requirements=f"six\n-r {name}\n")
    with pytest.raises(BadInputError, match=r"requirements.txt, line 2: The zip has no file") as refused:
        declared_requirements(code)
    assert refused.value.remedy == "Put it into the zip, next to this file."


def test_a_wrong_line_of_an_included_file_is_named_by_that_file(tmp_path: Path) -> None:
    code = write(tmp_path, requirements="-r parts/base.txt", parts__base="six\n--extra-index-url https://example.org\n")
    with pytest.raises(BadInputError, match=r"parts/base.txt, line 2: It has the option"):
        declared_requirements(code)
