# SPDX-License-Identifier: Apache-2.0
"""How a command ends: exit codes that scripts can rely on, and errors that name the remedy."""

from __future__ import annotations

from enum import IntEnum


class CommandStatus(IntEnum):
    """0: done. The others are stable; docs/guides/command-line.md lists them."""

    OK = 0
    JOB_FAILED = 1  # a job that was followed did not succeed
    USAGE = 2  # the command line, or a file that it names, is wrong
    REFUSED = 3  # the platform refused the request
    UNREACHABLE = 4  # no platform answers at the address
    NOT_SIGNED_IN = 5


class CommandError(Exception):
    """A command that cannot go on. remedy: what the user can do; "" when the message says it."""

    def __init__(self, message: str, *, remedy: str = "", code: CommandStatus = CommandStatus.USAGE) -> None:
        super().__init__(message)
        self.remedy, self.code = remedy, code
