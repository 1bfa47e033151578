# SPDX-License-Identifier: Apache-2.0
"""Bytecode of the platform's own code, made once: its processes, pods and sandboxes write none themselves."""

from __future__ import annotations

import compileall
from collections.abc import Sequence
from pathlib import Path

from mlhub.embedded.home import PROJECT

SOURCES = (PROJECT / "mlhub", PROJECT / "scheduler")


def compile_sources(folders: Sequence[Path] = SOURCES) -> bool:
    """Compiles the files that are new or were changed. Returns False when some could not be compiled or stored, as in
    an installation that may not be written: then every process compiles them for itself, as before."""
    results = [bool(compileall.compile_dir(str(folder), quiet=2)) for folder in folders]
    return all(results)
