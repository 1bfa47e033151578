# SPDX-License-Identifier: Apache-2.0
"""Every example is in the table with commands that exist, and names files, fields and hyperparameters that exist."""

from __future__ import annotations

import pytest

from mlhub.cli import job_file, packing
from tests.examples.catalogue import BOUNDS, EXAMPLES, Example, examples


def test_every_folder_is_an_example_of_the_table_with_a_bound() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert folders == {example.name for example in examples()} == set(BOUNDS)


@pytest.mark.parametrize("example", [e for e in examples() if e.name != "study"], ids=lambda e: e.name)
def test_the_job_file_of_an_example_names_what_is_there(example: Example) -> None:
    given = job_file.read(example.folder / "job.yaml")

    assert given.data is not None
    assert given.data.exists() or example.name == "text", "text/ writes its data first"
    if given.code is not None:
        code = packing.code(given.code, given.entry)
        assert code.kind == ("package" if example.name == "images" else "script")
