# SPDX-License-Identifier: Apache-2.0
"""interference: how well the slowdown of pairs left out is predicted."""

from __future__ import annotations

import argparse
from typing import Any

from scheduler.commands.files import check_can_write, read_text, write_json
from scheduler.commands.options import add_json, count
from scheduler.models.interference.cross_validation import evaluate
from scheduler.models.interference.pairs_file import read_pairs


def add(commands: Any) -> None:
    """Adds the parser of the command."""
    parser = commands.add_parser("interference", help="how well the slowdown of pairs left out is predicted")
    parser.add_argument("--pairs", required=True, metavar="FILE", help="CSV: job_a, job_b, norm_a, norm_b ...")
    parser.add_argument("--folds", type=count, default=5)
    parser.add_argument(
        "--group", choices=["pair", "job", "family", "gpu_type"], default="pair", help="what is left out"
    )
    add_json(parser)
    parser.set_defaults(command=_interference)


def _interference(arguments: argparse.Namespace) -> int:
    check_can_write(arguments.json)
    found = read_pairs(read_text(arguments.pairs), name=arguments.pairs)
    try:
        figures = evaluate(found.pairs, n_folds=arguments.folds, group=arguments.group)
    except ValueError as error:
        raise ValueError(f"{arguments.pairs}: {error}") from error
    if arguments.json:
        write_json(arguments.json, figures)
    if arguments.json != "-":
        print("\n".join([*found.remarks(), *(f"{key:14} {value}" for key, value in figures.items())]))
    return 0
