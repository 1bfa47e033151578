# SPDX-License-Identifier: Apache-2.0
"""explain: tell why a job of a recorded round waits, runs or leaves."""

from __future__ import annotations

import argparse
from typing import Any

from scheduler.commands.files import read_rounds
from scheduler.simulator.recorded_rounds import story_of


def add(commands: Any) -> None:
    """Adds the parser of the command."""
    parser = commands.add_parser("explain", help="tell why a job of a recorded round waits, runs or leaves")
    parser.add_argument("rounds", metavar="FILE")
    parser.add_argument("--job", metavar="ID", help="this job only")
    parser.set_defaults(command=_explain)


def _explain(arguments: argparse.Namespace) -> int:
    for one in read_rounds(arguments.rounds):
        for line in story_of(one, job_id=arguments.job):
            print(line)
    return 0
