# SPDX-License-Identifier: Apache-2.0
"""The door of the sandbox: runs a Python program of strangers and returns how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlhub.runtime.sandbox.capabilities import isolation
from mlhub.runtime.sandbox.isolation import Isolation
from mlhub.runtime.sandbox.runner import run_isolated
from mlhub.runtime.sandbox.verdicts import Ended, SandboxLimits
from mlhub.runtime.spare_sandbox import SpareSandbox


def execute(
    argv: Sequence[str],
    *,
    folder: Path,
    limits: SandboxLimits,
    readable: Sequence[Path] = (),
    within: Isolation | None = None,
    spare: SpareSandbox | None = None,
) -> Ended:
    """Runs `python argv...` in a sandbox, whose files lie in a folder below `folder` that is gone afterwards.

    readable: files that it may read under their own paths. within: what isolates it; by default the strongest that this
    machine can. spare: a process that may have been started for it before. Raises OSError when the sandbox cannot be
    set up.
    """
    return run_isolated(
        argv, folder=folder, limits=limits, readable=readable, within=within or isolation(), spare=spare
    )
