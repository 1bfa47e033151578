"""python -m scheduler: simulate traces, replay and explain recorded rounds. Only this file touches the disk."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from scheduler.models.interference_folds import evaluate
from scheduler.models.interference_pairs import read_pairs
from scheduler.policies import POLICIES, policy_named
from scheduler.records import plan_to_json
from scheduler.simulator import simulate
from scheduler.simulator.clusters import Cluster, cluster_from_mapping, read_nxgy
from scheduler.simulator.formats import read_trace
from scheduler.simulator.report import summary
from scheduler.simulator.rounds import RecordedRound, replay_round, rounds_from_json, story_of
from scheduler.simulator.trace import BadInput
from scheduler.simulator.worlds import WORLDS, Data, Information, Setting


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 2 with one line on stderr for input that cannot be used."""
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except (BadInput, ValueError, RuntimeError) as error:
        print(f"scheduler: {error}", file=sys.stderr)
    except OSError as error:
        print(f"scheduler: {error.filename}: {error.strerror}; check the path", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scheduler", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    simulating = commands.add_parser("simulate", help="replay a trace through a policy")
    simulating.add_argument("--policy", required=True, metavar="NAME", help=", ".join(sorted(POLICIES)))
    simulating.add_argument("--param", action="append", default=[], metavar="K=V", help="a parameter of the policy")
    _add_world(simulating)
    simulating.add_argument("--json", metavar="OUT", help="write the figures here; - is the terminal")
    simulating.set_defaults(command=_simulate)
    replaying = commands.add_parser("replay", help="decide recorded rounds again and compare")
    replaying.add_argument("rounds", metavar="FILE", help="a recorded round, or a list of them, as JSON")
    replaying.add_argument("--policy", metavar="NAME", help="another policy than the recorded one")
    replaying.add_argument("--param", action="append", default=[], metavar="K=V")
    replaying.add_argument("--json", metavar="OUT", help="write the new plans here; - is the terminal")
    replaying.set_defaults(command=_replay)
    explaining = commands.add_parser("explain", help="tell why a job of a recorded round waits, runs or leaves")
    explaining.add_argument("rounds", metavar="FILE")
    explaining.add_argument("--job", metavar="ID", help="this job only")
    explaining.set_defaults(command=_explain)
    interfering = commands.add_parser("interference", help="how well the slowdown of pairs left out is predicted")
    interfering.add_argument("--pairs", required=True, metavar="FILE", help="CSV: job_a, job_b, norm_a, norm_b ...")
    interfering.add_argument("--folds", type=int, default=5)
    interfering.add_argument("--group", choices=["pair", "job", "family"], default="pair", help="what is left out")
    interfering.add_argument("--json", metavar="OUT", help="write the figures here; - is the terminal")
    interfering.set_defaults(command=_interference)
    return parser


def _add_world(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--world", choices=sorted(WORLDS), default="counting", help="what is true in the simulation")
    parser.add_argument("--trace", required=True, metavar="FILE")
    parser.add_argument("--cluster", required=True, metavar="FILE", help="nXgY.csv, or MLHub's YAML")
    parser.add_argument("--data", metavar="DIR", help="measured profiles, for the worlds that are made of them")
    parser.add_argument(
        "--information",
        choices=[kind.value for kind in Information],
        help="what the policy knows of the jobs' lengths; if not given, what its authors gave it",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--period", type=float, metavar="S", help="decide every S seconds only (else as the world does)"
    )


def _simulate(arguments: argparse.Namespace) -> int:
    policy = policy_named(arguments.policy, _parameters(arguments.param))
    trace = read_trace(_text(arguments.trace), name=arguments.trace)
    cluster = _cluster(arguments.cluster)
    information = Information(arguments.information) if arguments.information else None
    data = _data(arguments.data) if arguments.data else None
    kind = WORLDS[arguments.world]
    world = kind.make(Setting(trace, cluster, arguments.policy, information, data, arguments.seed))
    outcome = simulate(
        world,
        policy=policy,
        period_s=kind.period_s if arguments.period is None else arguments.period,
        seed=arguments.seed,
        stopwatch=time.perf_counter,
        on_progress=_bar() if sys.stderr.isatty() else None,
    )
    figures = summary(outcome, nodes=world.nodes)
    if arguments.json:
        _write(arguments.json, figures)
    if arguments.json != "-":
        for key, value in figures.items():
            if key != "jct_s":
                print(f"{key:14} {json.dumps(value) if isinstance(value, dict) else f'{value:,.3f}'}")
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    """Exit status 1 if a round comes out otherwise than recorded."""
    rounds = _rounds(arguments.rounds)
    policy = policy_named(arguments.policy, _parameters(arguments.param)) if arguments.policy else None
    plans, n_other = [], 0
    for number, one in enumerate(rounds, start=1):
        plan = replay_round(one, policy=policy)
        plans.append(plan_to_json(plan))
        differing = [d.job for d in plan.decisions if one.plan is not None and d not in one.plan.decisions]
        n_other += bool(differing)
        same = "as recorded" if one.plan and not differing else f"otherwise for {', '.join(differing) or 'nobody'}"
        print(f"round {number}: {len(plan.decisions)} jobs, {plan.policy}: {same if one.plan else 'not recorded'}")
    if arguments.json:
        _write(arguments.json, plans)
    return 1 if n_other and policy is None else 0


def _explain(arguments: argparse.Namespace) -> int:
    for one in _rounds(arguments.rounds):
        for line in story_of(one, job_id=arguments.job):
            print(line)
    return 0


def _interference(arguments: argparse.Namespace) -> int:
    found = read_pairs(_text(arguments.pairs), name=arguments.pairs)
    figures = evaluate(found.pairs, n_folds=arguments.folds, group=arguments.group)
    if arguments.json:
        _write(arguments.json, figures)
    if arguments.json != "-":
        print("\n".join([*found.remarks(), *(f"{key:14} {value}" for key, value in figures.items())]))
    return 0


def _rounds(path: str) -> list[RecordedRound]:
    try:
        return rounds_from_json(json.loads(_text(path)))
    except json.JSONDecodeError as error:
        raise BadInput(path, error.lineno, f"not JSON: {error.msg}") from error


def _cluster(path: str) -> Cluster:
    text = _text(path)
    if path.endswith(".csv"):
        return read_nxgy(text, name=path)
    try:
        return cluster_from_mapping(yaml.safe_load(text), name=path)
    except yaml.YAMLError as error:
        raise BadInput(path, None, f"not YAML: {' '.join(str(error).split())}") from error


def _data(path: str) -> Data:
    folder = Path(path)
    if not folder.is_dir():
        raise BadInput(path, None, "there is no such folder; check --data")
    files = [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()]
    return Data(path, files, lambda file: _text(str(folder / file)))


def _parameters(pairs: Sequence[str]) -> dict[str, Any]:
    parameters = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator:
            raise ValueError(f"--param {pair!r} is not of the form key=value")
        try:
            parameters[key] = json.loads(value)
        except json.JSONDecodeError:
            parameters[key] = value
    return parameters


def _bar() -> Callable[[int, int], None]:
    def show(n_done: int, n_jobs: int) -> None:
        filled = 40 * n_done // n_jobs
        end = "\n" if n_done == n_jobs else ""
        print(f"\r{'█' * filled}{'·' * (40 - filled)} {n_done}/{n_jobs} jobs", end=end, file=sys.stderr, flush=True)

    return show


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(path, None, f"not a text file in UTF-8 (byte {error.start})") from error


def _write(path: str, value: Any) -> None:
    text = json.dumps(value, indent=1)
    if path == "-":
        print(text)
    else:
        Path(path).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
