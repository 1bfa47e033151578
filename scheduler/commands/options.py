# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have, and what is made of them: policies with parameters, environments, a progress
bar.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from scheduler.commands.files import data_in, read_cluster, read_text
from scheduler.policies import POLICIES
from scheduler.simulator.environments.registry import ENVIRONMENTS, Information, Setting
from scheduler.simulator.traces.formats import read_trace
from scheduler.simulator.traces.gpu_speeds import read_gpu_speeds


def add_policy(parser: argparse.ArgumentParser, *, default: str | None = None, required: bool = False) -> None:
    """Adds the options that choose a policy and its parameters."""
    parser.add_argument(
        "--policy",
        required=required,
        default=default,
        metavar="NAME",
        help=f"{', '.join(sorted(POLICIES))}; or module:Class",
    )
    parser.add_argument("--param", action="append", default=[], metavar="K=V", help="a parameter of the policy")


def add_json(parser: argparse.ArgumentParser, what: str = "the figures") -> None:
    """Adds the option --json."""
    parser.add_argument("--json", metavar="OUT", help=f"write {what} here; - is the terminal")


def add_environment(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Adds the options that describe an environment. several: traces and seeds instead of one each."""
    parser.add_argument(
        "--environment",
        "--world",
        dest="environment",
        choices=sorted(ENVIRONMENTS),
        default="counting",
        help="what is true in the simulation; --world is another name of the option",
    )
    parser.add_argument("--trace", required=True, metavar="FILE", nargs="+" if several else None)
    parser.add_argument("--cluster", required=True, metavar="FILE", help="nXgY.csv, or MLHub's YAML")
    parser.add_argument("--data", metavar="DIR", help="measured profiles, for the environments that are made of them")
    parser.add_argument(
        "--gpu-speeds",
        metavar="FILE",
        help="CSV of gpu_type,model,speed: how many times faster than measured each GPU type is; model may be empty",
    )
    parser.add_argument(
        "--information",
        choices=[kind.value for kind in Information],
        help="what the policy knows of the jobs' lengths; if not given, what its authors gave it",
    )
    if several:
        parser.add_argument("--seeds", type=count, default=1, metavar="N", help="play everything with seeds 0 to N-1")
    else:
        parser.add_argument("--seed", type=natural, default=0)
    parser.add_argument(
        "--period", type=seconds, metavar="S", help="decide every S seconds only (else as the environment does)"
    )


def setting_of(
    arguments: argparse.Namespace, *, policy: str, trace: str | None = None, seed: int | None = None
) -> Setting:
    """Returns the setting that the options of add_environment() describe, for that policy.

    trace, seed: one of several, if given.
    """
    name = arguments.trace if trace is None else trace
    return Setting(
        read_trace(read_text(name), name=name),
        read_cluster(arguments.cluster),
        policy,
        Information(arguments.information) if arguments.information else None,
        data_in(arguments.data) if arguments.data else None,
        arguments.seed if seed is None else seed,
        read_gpu_speeds(read_text(arguments.gpu_speeds), name=arguments.gpu_speeds) if arguments.gpu_speeds else None,
    )


def natural(text: str) -> int:
    """Returns a whole number of at least 0, for argparse."""
    return _number(text, least=0)


def count(text: str) -> int:
    """Returns a whole number of at least 1, for argparse."""
    return _number(text, least=1)


def seconds(text: str) -> float:
    """Returns a time above 0, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def _number(text: str, *, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least {least}")
    return int(text)


def parameters_in(pairs: Sequence[str]) -> dict[str, Any]:
    """Returns the parameters of --param K=V; values that are JSON are read as such."""
    parameters = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator:
            raise ValueError(f"--param {pair!r} is not of the form key=value")
        try:
            parameters[key] = json.loads(value)
        except json.JSONDecodeError:
            parameters[key] = value
        if not _is_finite(parameters[key]):
            raise ValueError(f"--param {pair!r} has a number that is not finite; give one that is")
    return parameters


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict | list):
        return all(_is_finite(one) for one in (value.values() if isinstance(value, dict) else value))
    return True


def progress_bar() -> Callable[[int, int], None] | None:
    """Returns a progress bar; None where standard error is no terminal."""
    if not sys.stderr.isatty():
        return None

    def show(n_done: int, n_jobs: int) -> None:
        filled = 40 * n_done // n_jobs
        end = "\n" if n_done == n_jobs else ""
        print(f"\r{'█' * filled}{'·' * (40 - filled)} {n_done}/{n_jobs} jobs", end=end, file=sys.stderr, flush=True)

    return show
