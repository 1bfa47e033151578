# SPDX-License-Identifier: Apache-2.0
"""trace: make up a day of several tenants, as a trace and a cluster with their quota."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import yaml

from scheduler.commands.files import check_can_write, data_in, write_text
from scheduler.commands.options import count, natural
from scheduler.simulator.environments.registry import sharing_tables
from scheduler.simulator.traces.clusters import cluster_to_mapping, uniform_cluster
from scheduler.simulator.traces.formats import trace_to_csv
from scheduler.simulator.traces.gavel_tables import STANDARD_TYPE
from scheduler.simulator.traces.synthetic import FAMILIES, SIZES, DayTenant, made_up_day, measured_families, quota_of

_TENANTS = (("research", 3, 3), ("product", 2, 3), ("students", 2, 1), ("partners", 1, 1))  # share, eighths of the GPUs


def add(commands: Any) -> None:
    """Adds the parser of the command."""
    parser = commands.add_parser("trace", help="make up a day of several tenants")
    parser.add_argument(
        "--tenants",
        nargs="+",
        metavar="NAME:SHARE:GPUS",
        help="its share of the submissions, and its guaranteed GPUs; four tenants that share all GPUs if not given",
    )
    parser.add_argument("--n-jobs", type=count, default=300)
    parser.add_argument("--nodes", type=count, default=8)
    parser.add_argument("--gpus", type=count, default=8, help="a node")
    parser.add_argument("--racks", type=count, default=2)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--load", type=float, default=1.1, help="GPU time asked for, of that there is in these hours")
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=[f"{n}:{share:g}" for n, share in SIZES.items()],
        metavar="GPUS:SHARE",
        help="shares of the submissions that ask for so many GPUs; 1:0.5 2:0.18 4:0.16 8:0.11 16:0.05 if not given",
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="profiles of the sharing environment: jobs of the types measured on a V100, rigid",
    )
    parser.add_argument("--seed", type=natural, default=0)
    parser.add_argument(
        "--out", default="-", metavar="FILE", help="the trace, in MLHub's own format; - is the terminal"
    )
    parser.add_argument("--cluster-out", metavar="FILE", help="the cluster, as YAML, with the tenants' quota")
    parser.set_defaults(command=_trace)


def _trace(arguments: argparse.Namespace) -> int:
    check_can_write(arguments.out)
    check_can_write(arguments.cluster_out)
    n_gpus = arguments.nodes * arguments.gpus
    named = arguments.tenants or [f"{name}:{share}:{n_gpus * eighths // 8}" for name, share, eighths in _TENANTS]
    tenants = [_tenant(text, i, len(named)) for i, text in enumerate(named)]
    day = made_up_day(
        tenants=tenants,
        n_jobs=arguments.n_jobs,
        n_gpus=n_gpus,
        hours=arguments.hours,
        load=arguments.load,
        seed=arguments.seed,
        families=measured_families(sharing_tables(data_in(arguments.data))) if arguments.data else FAMILIES,
        sizes=dict(_size(text) for text in arguments.sizes),
    )
    if arguments.out == "-":
        print(trace_to_csv(day), end="")
    else:
        write_text(arguments.out, trace_to_csv(day))
    if arguments.cluster_out:
        cluster = uniform_cluster(
            n_nodes=arguments.nodes,
            n_gpus=arguments.gpus,
            n_racks=arguments.racks,
            gpu_type=STANDARD_TYPE if arguments.data else "gpu",
            uplink_bps=100e9,
            nic_bps=25e9,
        )
        text = yaml.safe_dump(cluster_to_mapping(cluster) | {"tenants": quota_of(tenants)}, sort_keys=False)
        write_text(arguments.cluster_out, text)
    asked_h = sum(job.n_gpus * job.duration_s for job in day.jobs) / 3600
    about = f"{len(day.jobs)} jobs of {len(tenants)} tenants, {asked_h:,.0f} GPU hours for {n_gpus} GPUs"
    print(about, file=sys.stderr if arguments.out == "-" else sys.stdout)
    return 0


def _tenant(text: str, number: int, n_tenants: int) -> DayTenant:
    """NAME, NAME:SHARE or NAME:SHARE:GPUS. Their busiest hours lie between 11 and 18 o'clock."""
    name, *numbers = text.split(":")
    try:
        share = float(numbers[0]) if numbers else 1.0
        guarantee = int(numbers[1]) if len(numbers) > 1 else 0
    except ValueError:
        share, guarantee = -1.0, 0
    if not name or len(numbers) > 2 or not 0 <= share < float("inf") or guarantee < 0:
        raise ValueError(f"--tenants {text!r} is not of the form NAME:SHARE:GPUS, as in research:3:24")
    peak_h = 11.0 + 7.0 * number / max(1, n_tenants - 1)
    return DayTenant(name, share, peak_h, weight=float(guarantee or 1), guarantee=guarantee)


def _size(text: str) -> tuple[int, float]:
    """GPUS:SHARE."""
    n, _, share = text.partition(":")
    try:
        found = int(n), float(share)
    except ValueError:
        found = 0, 0.0
    if found[0] < 1 or not 0 < found[1] < float("inf"):
        raise ValueError(f"--sizes {text!r} is not of the form GPUS:SHARE, as in 2:0.18")
    return found
