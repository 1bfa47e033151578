# SPDX-License-Identifier: Apache-2.0
"""Names of the files that a script leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.runtime.scripts.outputs import artifact_name
from mlhub.wire.report import is_output


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("checkpoints/epoch=2-step=48.ckpt", "output/checkpoints/epoch=2-step=48.ckpt"),
        ("Zürich map.txt", "output/Zürich map.txt"),
        ("50%?\\#.txt", "output/50____.txt"),
        ("a\nb\udcff", "output/a_b_"),
    ],
)
def test_every_file_has_a_name_that_the_platform_takes(path: str, name: str) -> None:
    assert artifact_name(Path(path)) == name
    assert is_output(name)
