# SPDX-License-Identifier: Apache-2.0
"""How a role ends: its exit code, and a failure report when an exception ended it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from mlhub.runtime.error_origin import below_the_platform
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
        message, stack = describe_error(error, code=code), _stack_of(error)
        print(stack or f"mlhub: {message}", file=sys.stderr, flush=True)
        reporter.failure(cause, message[:MAX_MESSAGE], stack)
        return status


def _stack_of(error: BaseException) -> str:
    """As Python would have shown it without MLHub: the frames that led to the user's code are left out.

    Empty for a script that ended itself, which has said why.
    """
    if isinstance(error, ExitStatusError):
        return ""
    shown = below_the_platform(error.__traceback__)
    if shown is None and not isinstance(error, SyntaxError):  # that of the script names its line by itself
        shown = error.__traceback__
    return "".join(traceback.format_exception(type(error), error, shown)).rstrip()


def _exit_error(end: SystemExit) -> ExitStatusError:
    """Only a user's code calls sys.exit() within a role."""
    return ExitStatusError(f"The code called sys.exit({end.code!r}).")
