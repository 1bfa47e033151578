"""Tries an isolation out with a program that does nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mlhub.runtime.sandbox.isolation import Isolation
from mlhub.runtime.sandbox.verdicts import Limits

TRIAL = Limits(timeout_s=30.0, memory_bytes=2**30, scratch_bytes=2**24, n_processes=32)


def failure_of(candidate: Isolation) -> str | None:
    """Why this isolation does not work here; None when it does."""
    from mlhub.runtime.sandbox.execution import execute

    with tempfile.TemporaryDirectory() as folder:
        try:
            ended = execute(["-I", "-c", "print('works')"], folder=Path(folder), limits=TRIAL, within=candidate)
        except OSError as error:
            return str(error)
    if ended.output.strip() != "works":
        return (ended.errors.strip() or f"exit status {ended.exit_code}")[-500:]
    return None
