# SPDX-License-Identifier: Apache-2.0
"""How a role ends: its exit code, and a failure report when an exception ended it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

from mlhub.runtime.errors import ExitStatusError, PreemptedError, classify, describe_error
from mlhub.runtime.reporting import Reporter
from mlhub.wire.exits import ExitCode

MAX_MESSAGE = 2000  # characters


def exit_code_of(role: Callable[[], int], reporter: Reporter, *, code: Path | None = None) -> int:
    """Runs the role and returns its exit code; that of an exception, once the failure is reported.

    code: the folder of the user's unpacked package, which helps to explain a failed import.
    """
    try:
        return role()
    except PreemptedError as request:
        print(f"trainer: {request}", flush=True)
        return ExitCode.PREEMPTED
    except (Exception, SystemExit) as end:
        error = _exit_error(end) if isinstance(end, SystemExit) else end
        status, cause = classify(error)
        traceback.print_exc()
        reporter.failure(cause, describe_error(error, code=code)[:MAX_MESSAGE], traceback.format_exc())
        return status


def _exit_error(end: SystemExit) -> ExitStatusError:
    """Only a user's code calls sys.exit() within a role."""
    return ExitStatusError(f"The code called sys.exit({end.code!r}).")
