"""simulate: replay a trace through a policy."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from scheduler.commands.files import write_json
from scheduler.commands.options import add_json, add_policy, add_world, parameters_in, progress_bar, setting_of
from scheduler.policies import policy_named
from scheduler.simulator import simulate
from scheduler.simulator.report import summary
from scheduler.simulator.worlds import WORLDS


def add(commands: Any) -> None:
    parser = commands.add_parser("simulate", help="replay a trace through a policy")
    add_policy(parser, required=True)
    add_world(parser)
    add_json(parser)
    parser.set_defaults(command=_simulate)


def _simulate(arguments: argparse.Namespace) -> int:
    policy = policy_named(arguments.policy, parameters_in(arguments.param))
    kind = WORLDS[arguments.world]
    world = kind.make(setting_of(arguments, policy=arguments.policy))
    outcome = simulate(
        world,
        policy=policy,
        period_s=kind.period_s if arguments.period is None else arguments.period,
        seed=arguments.seed,
        stopwatch=time.perf_counter,
        on_progress=progress_bar(),
    )
    figures = summary(outcome, nodes=world.nodes)
    if arguments.json:
        write_json(arguments.json, figures)
    if arguments.json != "-":
        for key, value in figures.items():
            if key != "jct_s":
                print(f"{key:14} {json.dumps(value) if isinstance(value, dict) else f'{value:,.3f}'}")
    return 0
