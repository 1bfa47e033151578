# SPDX-License-Identifier: Apache-2.0
"""The programs of an exported folder where a package is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mlhub.registry.export.source_code import COMMAND, COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_missing_package_is_named_with_how_to_install_it(name: str, tmp_path: Path) -> None:
    module, usage = COMMANDS[name]
    program = tmp_path / f"{name}.py"
    program.write_text(COMMAND.format(usage=usage, module=module, name=name))
    (tmp_path / "exported_model").mkdir()
    (tmp_path / "exported_model" / f"{module}.py").write_text("import lacking_package\n")
    ended = subprocess.run(
        [sys.executable, "-I", "-S", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        f"{name}.py: The package lacking_package is not installed. "
        f"Run: {sys.executable} -m pip install -r {tmp_path / 'requirements.txt'}\n"
    )
