# SPDX-License-Identifier: Apache-2.0
"""A layer is unpacked as it was installed, programs among it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from mlhub.environments.archive import pack
from mlhub.runtime.data import archives
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.environments.layer import unpacked_layer, use_layer
from mlhub.runtime.errors import BadInputError


def packed(folder: Path, target: Path, *, mode: int = 0o755) -> Path:
    (folder / "tool" / "bin").mkdir(parents=True)
    (folder / "tool" / "__init__.py").write_text("NAME = 'tool'\n")
    program = folder / "tool" / "bin" / "run"
    program.write_text("#!/bin/sh\necho it runs\n")
    program.chmod(mode)
    pack(folder, target)
    return target


def refused(*_: object, **__: object) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


def of_a_pod(layer: Path, tmp_path: Path) -> Path:
    return unpacked_layer(layer, NodeCache(tmp_path / "cache"), sha256="1" * 64)


def of_a_trial(layer: Path, tmp_path: Path) -> Path:
    use_layer(layer, tmp_path / "used")
    return tmp_path / "used"


@pytest.mark.parametrize("unpack", [of_a_pod, of_a_trial])
def test_programs_of_a_package_can_be_run_and_its_other_files_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unpack: Callable[[Path, Path], Path]
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    layer = packed(tmp_path / "installed", tmp_path / "layer.zip")
    monkeypatch.setattr(os, "chmod", refused)  # as in a sandbox without namespaces
    folder = unpack(layer, tmp_path)
    program = folder / "tool" / "bin" / "run"
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == "it runs\n"
    assert not (folder / "tool" / "__init__.py").stat().st_mode & 0o111


def test_the_same_files_are_the_same_layer_whatever_else_their_modes_say(tmp_path: Path) -> None:
    first = packed(tmp_path / "one", tmp_path / "one.zip", mode=0o755)
    second = packed(tmp_path / "two", tmp_path / "two.zip", mode=0o700)
    assert first.read_bytes() == second.read_bytes()


def test_uploaded_archives_are_unpacked_without_programs(tmp_path: Path) -> None:
    archives.extract(packed(tmp_path / "installed", tmp_path / "code.zip"), tmp_path / "code")
    assert not (tmp_path / "code" / "tool" / "bin" / "run").stat().st_mode & 0o111


@pytest.mark.parametrize("unpack", [of_a_pod, of_a_trial])
@pytest.mark.parametrize("also_own", [False, True])
def test_packages_that_are_compiled_for_another_python_are_refused_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unpack: Callable[[Path, Path], Path], also_own: bool
) -> None:
    """An environment of before an upgrade of the platform: to import it would say that a module is not there."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    installed = tmp_path / "installed" / "fast"
    installed.mkdir(parents=True)
    (installed / "core.cpython-37m-x86_64-linux-gnu.so").write_bytes(b"")
    if also_own:
        (installed / f"core{sysconfig.get_config_var('EXT_SUFFIX')}").write_bytes(b"")
    pack(tmp_path / "installed", tmp_path / "layer.zip")
    if also_own:
        assert (unpack(tmp_path / "layer.zip", tmp_path) / "fast").is_dir()
        return
    with pytest.raises(BadInputError, match="built for another Python") as refused:
        unpack(tmp_path / "layer.zip", tmp_path)
    assert "Submit the job again" in refused.value.remedy
    assert not list((tmp_path / "cache").glob("1*")), "nothing half-built is kept"
