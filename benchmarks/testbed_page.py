# SPDX-License-Identifier: Apache-2.0
"""The testbed's page: written anew from the stored runs after each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median

from benchmarks.testbed_calibration import ALONE, NodeCalibration
from benchmarks.testbed_figures import draw
from benchmarks.testbed_forecasts import forecast_lines
from benchmarks.testbed_runs import FIRST_MINUTE_S, RunStore, TestbedRun
from benchmarks.testbed_trace import COMPARED, FAST, KINDS, NIC_BPS, RACKS, SEEDS, SLOW, UPLINK_BPS, jobs_of
from benchmarks.testbed_twin import simulated_jct_s
from scheduler import POLICIES
from scheduler.policies.abilities import abilities_of

RunsByPolicy = Mapping[str, Sequence[TestbedRun]]
BETTER_BY, MOST_STEP_ERROR, MOST_TWIN_ERROR = 0.20, 0.15, 0.15  # what is aimed at


def write_page(out: Path, store: RunStore, *, n_jobs: int) -> None:
    """Writes the page and its figures. notes.md beside the runs, where there is one, is put at its end."""
    runs = store.runs(n_jobs=n_jobs)
    calibration = store.calibration
    by_policy = {policy: [run for run in runs if run.policy == policy] for policy in sorted({r.policy for r in runs})}
    lines = [*_head(n_jobs)]
    if calibration is not None:
        lines += _calibrated(calibration)
        lines += _simulated(calibration, n_jobs=n_jobs)
    if runs and calibration is not None:
        lines += _comparison(by_policy, calibration, n_jobs=n_jobs)
        out.parent.mkdir(parents=True, exist_ok=True)
        newest = {policy: each[-1].jobs for policy, each in by_policy.items()}
        figures = draw(newest, out.parent, stem=out.stem)
        lines += ["", f"![Who trained when, in the newest run of each policy]({figures[0]})"]
        lines += ["", f"![Step times, predicted over measured]({figures[1]})"]
        lines += forecast_lines(by_policy)
    if store.notes:
        lines += [*([""] if lines[-1] else []), store.notes.rstrip()]
    out.write_text("\n".join(lines) + "\n")


def _head(n_jobs: int) -> list[str]:
    n_nodes = sum(len(rack) for rack in RACKS)
    kinds = ", ".join(f"`{kind.name}`" for kind in KINDS)
    return [
        "# The testbed",
        "",
        f"By `make bench-testbed`, as root: {n_jobs} real jobs of two organisations ({kinds}; MNIST digits and prose) "
        f"through the real control loop, on {n_nodes} virtual nodes of one slot in {len(RACKS)} racks. A quota of the "
        f"CPUs stands for a GPU: {FAST.cpus:g} CPUs on `{FAST.gpu_type}` nodes, {SLOW.cpus:g} on `{SLOW.gpu_type}` "
        f"ones. NICs have {NIC_BPS / 1e6:g} Mbit/s and uplinks {UPLINK_BPS / 1e6:g} Mbit/s, by token buckets. Each run "
        "starts from the same copy of a platform on which nothing ever ran, with datasets uploaded and dry runs made.",
        "",
    ]


def _calibrated(calibration: NodeCalibration) -> list[str]:
    rows = []
    for kind in KINDS:
        cells = []
        for gpu_type in (FAST.gpu_type, SLOW.gpu_type):
            of_type = {g.sample["n_workers"]: g for g in calibration.of(kind.name) if g.sample["gpu_type"] == gpu_type}
            cells += [f"{1000 * of_type[n].sample['step_s']:.0f}" if n in of_type else "–" for n in (1, 2, 4)]
            cells.append(f"{calibration.start_s(kind.name, gpu_type, 1):.0f}")
        rows.append(f"| {kind.name} | {' | '.join(cells)} |")
    return [
        "## Calibration: each kind by itself",
        "",
        f"{_alone(calibration.alone_s)} Steps in milliseconds by number of workers; start: seconds from launch to "
        "first step with one worker.",
        "",
        "| kind | fast: 1 | 2 | 4 | start, s | slow: 1 | 2 | 4 | start, s |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]


def _alone(alone_s: Sequence[float]) -> str:
    """How steadily the nodes get their share of the machine."""
    if not alone_s:
        return "How much the steps of one job alone on a node vary was not measured."
    spread = (max(alone_s) - min(alone_s)) / median(alone_s)
    times = ", ".join(f"{1000 * s:.0f}" for s in alone_s)
    return (
        f"`{ALONE.name}` alone on a fast node, {len(alone_s)} times one after the other: {times} ms a step "
        f"({spread:.0%} from the fastest to the slowest)."
    )


def _simulated(calibration: NodeCalibration, *, n_jobs: int) -> list[str]:
    """What the twin says of all policies, whether they ran or not."""
    found = {policy: [_mean_simulated_s(policy, seed, calibration, n_jobs) for seed in SEEDS] for policy in COMPARED}
    rows = sorted(found.items(), key=lambda each: mean(each[1]))
    seeds = " | ".join(f"seed {seed}" for seed in SEEDS)
    return [
        f"## Simulated: {n_jobs} jobs on the twin of these nodes",
        "",
        "Mean JCT in seconds, from submission to the end, in the simulator: the same jobs, nodes, step times and "
        "start-up times, from the calibration alone. These are no measurements.",
        "",
        f"| policy | {seeds} | mean |",
        "|---|" + "---|" * (len(SEEDS) + 1),
        *(f"| {policy} | {' | '.join(f'{s:.0f}' for s in each)} | {mean(each):.0f} |" for policy, each in rows),
        "",
    ]


def _comparison(
    by_policy: Mapping[str, Sequence[TestbedRun]], calibration: NodeCalibration, *, n_jobs: int
) -> list[str]:
    n_runs = sum(len(each) for each in by_policy.values())
    dates = sorted(run.at[:10] for each in by_policy.values() for run in each)
    loads = [run.load for each in by_policy.values() for run in each]
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    rows = sorted((_row(policy, each, calibration, n_jobs) for policy, each in by_policy.items()))
    return [
        f"## {n_jobs} jobs under {len(by_policy)} policies",
        "",
        f"{n_runs} runs, {when}; load of the machine at their ends {min(loads):.0f} to {max(loads):.0f}. JCT: from "
        "submission to the end, seconds, mean over all jobs and seeds. Simulated: mean JCT of the same seeds in the "
        "simulator, made of the calibration alone, and how far it is off. Starts: attempts per job. Step time error: "
        "|predicted - measured| / measured of attempts launched after the first minute of a run, median (in brackets: "
        "of all).",
        "",
        "| policy | seeds | mean JCT | simulated | longest | makespan | starts | step time error |",
        "|---|---|---|---|---|---|---|---|",
        *(row for _, row in rows),
        "",
        *_against_aims(by_policy, calibration, n_jobs=n_jobs),
    ]


def _row(policy: str, runs: Sequence[TestbedRun], calibration: NodeCalibration, n_jobs: int) -> tuple[float, str]:
    jct_s = mean(run.mean_jct_s for run in runs)
    simulated_s = _simulated_s(runs, calibration, n_jobs)
    longest_s = max(float(job["jct_s"]) for run in runs for job in run.jobs)
    later, every = (_median_error(runs, after_s) for after_s in (FIRST_MINUTE_S, 0.0))
    shown = " ".join((_percent(later), f"({_percent(every)})"))
    seeds = ", ".join(str(run.seed) for run in sorted(runs, key=lambda run: run.seed))
    return jct_s, (
        f"| {policy} | {seeds} | {jct_s:.0f} | {simulated_s:.0f} ({simulated_s / jct_s - 1:+.0%}) | {longest_s:.0f} | "
        f"{mean(run.makespan_s for run in runs):.0f} | {mean(run.attempts_a_job for run in runs):.1f} | {shown} |"
    )


def _against_aims(
    by_policy: Mapping[str, Sequence[TestbedRun]], calibration: NodeCalibration, *, n_jobs: int
) -> list[str]:
    """Each aim, and whether it is met: of `mlhub` against the best rival on the seeds that both have."""
    found = []
    own = {run.seed: run for run in by_policy.get("mlhub", ())}
    against = {}
    for policy, runs in by_policy.items():
        common = [run for run in runs if run.seed in own]
        if policy != "mlhub" and common:
            against[policy] = mean(own[r.seed].mean_jct_s for r in common) / mean(r.mean_jct_s for r in common)
    if against:
        best = max(against, key=against.__getitem__)
        below = 1 - against[best]
        met = "met" if below >= BETTER_BY else "**missed**"
        found.append(
            f"- Mean JCT of `mlhub` at least {BETTER_BY:.0%} below the best rival's: {met}; it is {abs(below):.0%} "
            f"{'below' if below >= 0 else 'above'} `{best}`'s on the same seeds."
        )
    if (error := _median_error(list(own.values()), FIRST_MINUTE_S)) is not None:
        met = "met" if error <= MOST_STEP_ERROR else "**missed**"
        found.append(f"- Step time error of `mlhub` at most {MOST_STEP_ERROR:.0%}: {met} ({error:.0%}).")
    off = {
        policy: abs(_simulated_s(runs, calibration, n_jobs) / mean(run.mean_jct_s for run in runs) - 1)
        for policy, runs in by_policy.items()
    }
    far = sorted(policy for policy, error in off.items() if error > MOST_TWIN_ERROR)
    words = "met" if not far else f"**missed** for {', '.join(f'`{policy}`' for policy in far)}"
    found.append(f"- The simulator predicts each policy's mean within {MOST_TWIN_ERROR:.0%}: {words}.")
    return found


def _simulated_s(runs: Sequence[TestbedRun], calibration: NodeCalibration, n_jobs: int) -> float:
    return mean(_mean_simulated_s(run.policy, run.seed, calibration, n_jobs) for run in runs)


def _mean_simulated_s(policy: str, seed: int, calibration: NodeCalibration, n_jobs: int) -> float:
    is_elastic = abilities_of(POLICIES[policy]).is_elastic
    return mean(simulated_jct_s(jobs_of(seed, n_jobs), calibration, policy, is_elastic=is_elastic))


def _median_error(runs: Sequence[TestbedRun], after_s: float) -> float | None:
    errors = [error for run in runs for error in run.step_errors(after_s=after_s)]
    return median(errors) if errors else None


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
