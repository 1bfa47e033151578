# SPDX-License-Identifier: Apache-2.0
"""Options for nodes that fail or are slow in a simulation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import cast

import yaml

from scheduler.commands.files import read_text
from scheduler.commands.options import seconds
from scheduler.simulator.environments.environment import Environment
from scheduler.simulator.environments.failing import CHECKPOINT_EVERY_S, FailingEnvironment, Rewindable
from scheduler.simulator.failures import Failure, FailureRates, drawn_failures, failures_in
from scheduler.simulator.traces.trace import BadInput


def add_failures(parser: argparse.ArgumentParser) -> None:
    """Adds the options that describe failures."""
    group = parser.add_argument_group("failures", "jobs on a lost node go back to their last checkpoint and wait again")
    group.add_argument("--failures", metavar="FILE", help="YAML: lost: and slow:, each a list of {node, at_s, for_s}")
    group.add_argument("--node-mtbf-s", type=seconds, metavar="S", help="mean time between two losses of a node")
    group.add_argument("--node-mttr-s", type=seconds, metavar="S", default=600.0, help="mean time until it is back")
    group.add_argument("--slow-every-s", type=seconds, metavar="S", help="mean time between two slow spells of a node")
    group.add_argument("--slow-for-s", type=seconds, metavar="S", default=1800.0, help="mean length of a slow spell")
    group.add_argument("--slow-pace", type=pace, metavar="X", default=2.0, help="steps take X times as long then")
    group.add_argument(
        "--checkpoint-every-s", type=seconds, metavar="S", default=CHECKPOINT_EVERY_S, help="of training"
    )


def pace(text: str) -> float:
    """Returns a number of at least 1, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 1")
    return value


def with_failures(arguments: argparse.Namespace, environment: Environment, *, name: str) -> Environment:
    """Returns the environment with the failures that the options of add_failures() describe; itself if they describe
    none.

    Raises BadInput for an environment that cannot take progress back, or a file that cannot be used.
    """
    nodes = [node.name for node in environment.nodes]
    failures: Iterable[Failure]
    if arguments.failures:
        if arguments.node_mtbf_s or arguments.slow_every_s:
            raise BadInput(arguments.failures, None, "failures come from a file or are drawn, not both; leave one out")
        failures = _read(arguments.failures, nodes)
    elif arguments.node_mtbf_s or arguments.slow_every_s:
        rates = FailureRates(
            arguments.node_mtbf_s,
            arguments.node_mttr_s,
            arguments.slow_every_s,
            arguments.slow_for_s,
            arguments.slow_pace,
        )
        failures = drawn_failures(rates, nodes, seed=arguments.seed)
    else:
        return environment
    if not hasattr(environment, "rewind"):
        raise BadInput(name, None, f"the {arguments.environment} environment knows no failures; take another one")
    return FailingEnvironment(
        cast("Rewindable", environment), failures, checkpoint_every_s=arguments.checkpoint_every_s
    )


def _read(path: str, nodes: list[str]) -> list[Failure]:
    try:
        return failures_in(yaml.safe_load(read_text(path)), nodes, name=path)
    except yaml.YAMLError as error:
        raise BadInput(path, None, f"not YAML: {' '.join(str(error).split())}") from error
