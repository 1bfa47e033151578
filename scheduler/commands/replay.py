# SPDX-License-Identifier: Apache-2.0
"""replay: decide recorded rounds again and compare."""

from __future__ import annotations

import argparse
from typing import Any

from scheduler.api.records import plan_to_json
from scheduler.commands.files import check_can_write, read_rounds, write_json
from scheduler.commands.options import add_json, parameters_in
from scheduler.policies.loading import load_policy
from scheduler.simulator.recorded_rounds import replay_round


def add(commands: Any) -> None:
    """Adds the parser of the command."""
    parser = commands.add_parser("replay", help="decide recorded rounds again and compare")
    parser.add_argument("rounds", metavar="FILE", help="a recorded round, or a list of them, as JSON")
    parser.add_argument("--policy", metavar="NAME", help="another policy than the recorded one; or module:Class")
    parser.add_argument("--param", action="append", default=[], metavar="K=V")
    add_json(parser, "the new plans")
    parser.set_defaults(command=_replay)


def _replay(arguments: argparse.Namespace) -> int:
    """Exit status 1 if a round comes out otherwise than recorded."""
    check_can_write(arguments.json)
    rounds = read_rounds(arguments.rounds)
    policy = load_policy(arguments.policy, parameters_in(arguments.param)) if arguments.policy else None
    plans, n_other = [], 0
    for number, one in enumerate(rounds, start=1):
        plan = replay_round(one, policy=policy)
        plans.append(plan_to_json(plan))
        differing = [d.job for d in plan.decisions if one.plan is not None and d not in one.plan.decisions]
        n_other += bool(differing)
        same = "as recorded" if one.plan and not differing else f"otherwise for {', '.join(differing) or 'no job'}"
        print(f"round {number}: {len(plan.decisions)} jobs, {plan.policy}: {same if one.plan else 'not recorded'}")
    if arguments.json:
        write_json(arguments.json, plans)
    return 1 if n_other and policy is None else 0
