# SPDX-License-Identifier: Apache-2.0
"""python -m scheduler: simulate traces, replay and explain recorded rounds, measure the models and the cost."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from scheduler.commands import bench, compare, explain, interference, replay, simulate, trace
from scheduler.commands.garbage_collection import collect_seldom
from scheduler.simulator.traces.trace import BadInput

COMMANDS = (simulate, compare, trace, replay, explain, interference, bench)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"scheduler: {message}; see {self.prog} --help\n")


def command_line_parser() -> argparse.ArgumentParser:
    """Returns the parser of the whole command line, with a sub-parser for each command."""
    parser = _Parser(prog="python -m scheduler", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for one in COMMANDS:
        one.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name.

    Returns the exit status: 0, or 2 with one line on stderr for input that cannot be used.
    """
    arguments = command_line_parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    collect_seldom()
    try:
        return command(arguments)
    except (BadInput, ValueError, RuntimeError) as error:
        print(f"scheduler: {error}", file=sys.stderr)
    except OSError as error:
        where = f"{error.filename}: {error.strerror}; check the path" if error.filename else str(error)
        print(f"scheduler: {where}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
