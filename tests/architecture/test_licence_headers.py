# SPDX-License-Identifier: Apache-2.0
"""Every source file names its licence, by the rules of deploy/local/licence-headers.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PYTHON, TYPESCRIPT = "# SPDX-License-Identifier: Apache-2.0\n", "// SPDX-License-Identifier: Apache-2.0\n"


@pytest.fixture(scope="module")
def headers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licence_headers", ROOT / "deploy" / "local" / "licence-headers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_source_file_names_its_licence(headers: ModuleType) -> None:
    covered = headers.covered_files()
    assert len(covered) > 800
    lacking = [str(p.relative_to(ROOT)) for p in covered if not headers.has_header(p.read_text(), p.suffix)]
    assert not lacking, f"run: python deploy/local/licence-headers.py ({len(lacking)} files, {lacking[:3]} ...)"


def test_migrations_and_generated_files_need_none(headers: ModuleType) -> None:
    covered = {str(p.relative_to(ROOT)) for p in headers.covered_files()}
    assert "mlhub/jobs/models.py" in covered
    assert "frontend/src/main.tsx" in covered
    assert "frontend/src/api/schema.d.ts" not in covered
    assert not [name for name in covered if "/migrations/" in name]


@pytest.mark.parametrize(
    ("text", "suffix", "wanted"),
    [
        ('"""A module."""\n', ".py", PYTHON + '"""A module."""\n'),
        ("#!/usr/bin/env python\nx = 1\n", ".py", "#!/usr/bin/env python\n" + PYTHON + "x = 1\n"),
        ("// A component.\n", ".tsx", TYPESCRIPT + "// A component.\n"),
    ],
)
def test_the_header_is_added_once(headers: ModuleType, text: str, suffix: str, wanted: str) -> None:
    assert not headers.has_header(text, suffix)
    assert headers.with_header(text, suffix) == wanted
    assert headers.with_header(wanted, suffix) == wanted
    assert headers.has_header(wanted, suffix)
