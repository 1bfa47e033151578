# SPDX-License-Identifier: Apache-2.0
"""simulate: replay a trace through a policy."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from scheduler.commands.failures import add_failures, with_failures
from scheduler.commands.files import check_can_fill, check_can_write, fill, has_matplotlib, write_json
from scheduler.commands.options import add_environment, add_json, add_policy, parameters_in, progress_bar, setting_of
from scheduler.policies.loading import load_policy
from scheduler.simulator import simulate
from scheduler.simulator.environments.registry import ENVIRONMENTS
from scheduler.simulator.reports.broken_guarantees import BROKEN_COLUMNS, broken_guarantees, guarantees_of
from scheduler.simulator.reports.comparison import alone_times, fairness_of
from scheduler.simulator.reports.figures import compared, gantt
from scheduler.simulator.reports.summary import csv_of, curve_rows, curves_of, job_rows, summary


def add(commands: Any) -> None:
    """Adds the parser of the command."""
    parser = commands.add_parser("simulate", help="replay a trace through a policy")
    add_policy(parser, required=True)
    add_environment(parser)
    add_failures(parser)
    add_json(parser)
    parser.add_argument(
        "--report", metavar="DIR", help="write a table of the jobs, curves and figures into this folder"
    )
    parser.add_argument("--no-figures", action="store_true", help="the report's tables are enough")
    parser.set_defaults(command=_simulate)


def _simulate(arguments: argparse.Namespace) -> int:
    check_can_write(arguments.json)
    check_can_fill(arguments.report)
    policy = load_policy(arguments.policy, parameters_in(arguments.param))
    kind = ENVIRONMENTS[arguments.environment]
    setting = setting_of(arguments, policy=arguments.policy)
    environment = with_failures(arguments, kind.make(setting), name=setting.trace.name)
    nodes = environment.nodes
    period_s = kind.period_s if arguments.period is None else arguments.period
    outcome = simulate(
        environment,
        policy=policy,
        period_s=period_s,
        seed=arguments.seed,
        stopwatch=time.perf_counter,
        on_progress=progress_bar(),
    )
    found = summary(outcome, nodes=nodes)
    if arguments.report:
        alone = alone_times(kind, setting, period_s=period_s)
        rho = fairness_of(outcome, setting, alone)
        curves = curves_of(outcome, nodes=nodes, rho=rho)
        files: dict[str, str | bytes] = {
            "jobs.csv": csv_of(job_rows(outcome, rho=rho)),
            "curves.csv": csv_of(curve_rows(curves)),
        }
        if guaranteed := guarantees_of(environment.tenants):
            broken = broken_guarantees(outcome, guarantees=guaranteed)
            files["broken.csv"] = csv_of([vars(one) for one in broken], names=BROKEN_COLUMNS)
        if not arguments.no_figures and has_matplotlib():
            files |= compared({arguments.policy: curves}) | gantt(outcome, nodes=nodes)
        fill(arguments.report, files)
    if arguments.json:
        write_json(arguments.json, found)
    if arguments.json != "-":
        for key, value in found.items():
            if key != "jct_s":
                print(f"{key:14} {json.dumps(value) if isinstance(value, dict) else f'{value:,.3f}'}")
    return 0
