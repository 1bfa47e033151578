"""What isolates runs on this machine: found by trying, once a process, with a program that does nothing."""

from __future__ import annotations

import functools
import logging
import tempfile
from pathlib import Path

from mlhub.runtime.sandbox.isolation import Isolation, candidates
from mlhub.runtime.sandbox.runner import run_isolated
from mlhub.runtime.sandbox.verdicts import SandboxLimits

TRIAL = SandboxLimits(timeout_s=30.0, memory_bytes=2**30, scratch_bytes=2**24, n_processes=32)

logger = logging.getLogger(__name__)


@functools.cache
def isolation() -> Isolation:
    """The strongest isolation that works on this machine; tried once a process. Raises OSError when none works."""
    problems = []
    for candidate in candidates():
        problem = failure_of(candidate)
        if problem is None:
            return candidate
        problems.append(f"{candidate}: {problem}")
        logger.warning("sandbox.isolation_unavailable %s", problems[-1])
    raise OSError("No sandbox works on this machine: " + "; ".join(problems))


def failure_of(candidate: Isolation) -> str | None:
    """Why this isolation does not work here; None when it does."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            ended = run_isolated(["-I", "-c", "print('works')"], folder=Path(folder), limits=TRIAL, within=candidate)
        except OSError as error:
            return str(error)
    if ended.output.strip() != "works":
        return (ended.errors.strip() or f"exit status {ended.exit_code}")[-500:]
    return None
