# SPDX-License-Identifier: Apache-2.0
"""Bytecode is made at a start, also where processes are told to write none."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from mlhub.embedded.bytecode import compile_sources


def test_sources_are_compiled_once_and_again_when_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    source = tmp_path / "package" / "module.py"
    source.parent.mkdir()
    source.write_text("x = 1\n")
    compiled = Path(importlib.util.cache_from_source(str(source)))
    assert compile_sources([tmp_path])
    first = compiled.stat().st_mtime_ns
    assert compile_sources([tmp_path])
    assert compiled.stat().st_mtime_ns == first
    content = compiled.read_bytes()
    source.write_text("x = 1000\n")
    os.utime(source, (1, 1))
    assert compile_sources([tmp_path])
    assert compiled.read_bytes() != content


def test_a_file_that_cannot_be_compiled_does_not_keep_the_platform_from_starting(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def\n")
    (tmp_path / "sound.py").write_text("x = 1\n")
    assert compile_sources([tmp_path]) is False
    assert Path(importlib.util.cache_from_source(str(tmp_path / "sound.py"))).exists()
