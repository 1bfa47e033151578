# SPDX-License-Identifier: Apache-2.0
"""Which scripts are run as modules of their package."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.runtime.scripts.modules import module_name


@pytest.mark.parametrize(
    ("name", "text", "module"),
    [
        ("pkg/train.py", "from .data import x", "pkg.train"),
        ("pkg/cli/train.py", "def f():\n    from ..data import x", "pkg.cli.train"),
        ("pkg/train.py", "import data", None),
        ("train.py", "from .data import x", None),  # plain Python refuses it as well, and says why
        ("my-code/train.py", "from .data import x", None),
        ("pkg/train.py", "from .data import (", None),
    ],
)
def test_a_script_with_relative_imports_is_a_module(name: str, text: str, module: str | None, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert module_name(path, root=tmp_path) == module
