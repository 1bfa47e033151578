# SPDX-License-Identifier: Apache-2.0
"""Several policies on the same traces, cluster, costs and seeds: what is runs, how it is judged, and the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from scheduler.policies.loading import load_policy
from scheduler.simulator.engine import simulate
from scheduler.simulator.environments.registry import EnvironmentKind, Setting
from scheduler.simulator.outcome import SimulationOutcome
from scheduler.simulator.reports.broken_guarantees import BrokenGuarantee, broken_guarantees, guarantees_of
from scheduler.simulator.reports.finish_time_fairness import alone_s, finish_time_fairness
from scheduler.simulator.reports.summary import Curves, curves_of, job_rows, summary


@dataclass(frozen=True)
class ComparedPolicy:
    """Holds a policy with its parameters, under the name by which the tables call it."""

    label: str
    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PolicyRun:
    """Holds the judgement of one simulation.

    figures: as simulate writes them; rows: the jobs; rho: finish-time fairness by job.
    """

    label: str
    trace: str
    seed: int
    figures: Mapping[str, Any]
    rho: Mapping[str, float]
    rows: Sequence[Mapping[str, Any]]
    curves: Curves
    broken: Sequence[BrokenGuarantee] | None = None  # guarantees; None where there are none


def compared_policies(names: str, parameters: Mapping[str, Any]) -> list[ComparedPolicy]:
    """Returns the policies of "fifo,las,short=las" and {"short.limits": [600]}: a label may stand before the policy's
    name.

    Raises ValueError for a policy or parameter that does not exist, or a label that is there twice.
    """
    found: dict[str, ComparedPolicy] = {}
    for one in filter(None, (name.strip() for name in names.split(","))):
        label, _, policy = one.rpartition("=")
        label = label or load_policy(policy, {}).name
        if label in found:
            raise ValueError(f"{label!r} is in --policies twice; name one of them, as in other={policy}")
        own = {k.split(".", 1)[1]: v for k, v in parameters.items() if k.split(".", 1)[0] == label and "." in k}
        load_policy(policy, own)
        found[label] = ComparedPolicy(label, policy, own)
    unknown = [key for key in parameters if "." not in key or key.split(".", 1)[0] not in found]
    if unknown:
        raise ValueError(f"--param {unknown[0]!r} is of none of the policies; write it as in las.limits=[600]")
    if not found:
        raise ValueError("--policies names none; as in fifo,srtf,mlhub")
    return list(found.values())


def alone_times(kind: EnvironmentKind, setting: Setting, *, period_s: float | None) -> dict[str, float]:
    """Returns the seconds of every job alone on the cluster, as a policy of fixed sizes runs it: the same for all
    entries.
    """
    plain = replace(setting, policy="fifo")
    return alone_s(setting.trace, lambda trace: kind.make(replace(plain, trace=trace)), period_s=period_s)


def fairness_of(outcome: SimulationOutcome, setting: Setting, alone: Mapping[str, float]) -> dict[str, float]:
    """Returns finish-time fairness by job."""
    asked = {job.id: job.n_gpus for job in setting.trace.jobs}
    return finish_time_fairness(outcome, alone_s=alone, n_asked=asked, n_gpus=setting.cluster.n_gpus)


def play(
    kind: EnvironmentKind,
    setting: Setting,
    entry: ComparedPolicy,
    *,
    period_s: float | None,
    alone: Mapping[str, float],
    stopwatch: Callable[[], float] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[PolicyRun, SimulationOutcome]:
    """Simulates an entry and judges it. Raises ValueError if a job that was submitted did not complete."""
    environment = kind.make(replace(setting, policy=entry.policy))
    outcome = simulate(
        environment,
        policy=load_policy(entry.policy, entry.parameters),
        period_s=period_s,
        seed=setting.seed,
        stopwatch=stopwatch,
        on_progress=on_progress,
    )
    figures = summary(outcome, nodes=environment.nodes)
    if figures["n_completed"] != len(setting.trace.jobs):
        raise ValueError(
            f"{figures['n_completed']} of {len(setting.trace.jobs)} jobs of {setting.trace.name} completed"
        )
    rho = fairness_of(outcome, setting, alone)
    curves = curves_of(outcome, nodes=environment.nodes, rho=rho)
    rows = job_rows(outcome, rho=rho)
    guaranteed = guarantees_of(environment.tenants)
    broken = broken_guarantees(outcome, guarantees=guaranteed) if guaranteed else None
    name = setting.trace.name
    return PolicyRun(entry.label, name, setting.seed, figures, rho, rows, curves, broken), outcome


def table(runs: Iterable[PolicyRun]) -> list[dict[str, Any]]:
    """Returns a row for every entry: means over traces and seeds.

    sd_s: of the averages; times_best: of the best average.

    worst_rho: of the job that was treated worst in all.
    """
    by_label: dict[str, list[PolicyRun]] = {}
    for one in runs:
        by_label.setdefault(one.label, []).append(one)
    rows = [_row(label, found) for label, found in by_label.items()]
    best = min((row["avg_jct_s"] for row in rows), default=1.0)
    return [row | {"times_best": row["avg_jct_s"] / best if best else 1.0} for row in rows]


def _row(label: str, found: Sequence[PolicyRun]) -> dict[str, Any]:
    def mean(*keys: str) -> float:
        values = [one.figures for one in found]
        for key in keys:
            values = [value[key] for value in values]
        return float(np.mean(values))  # type: ignore[arg-type]

    averages = [one.figures["avg_jct_s"] for one in found]
    broken = [len(one.broken) for one in found if one.broken is not None]
    return {
        "policy": label,
        "runs": len(found),
        "n_completed": sum(one.figures["n_completed"] for one in found),
        "avg_jct_s": mean("avg_jct_s"),
        "sd_s": float(np.std(averages, ddof=1)) if len(averages) > 1 else 0.0,
        "median_jct_s": mean("median_jct_s"),
        "p95_jct_s": mean("p95_jct_s"),
        "p99_jct_s": mean("p99_jct_s"),
        "makespan_s": mean("makespan_s"),
        "utilisation": mean("utilisation"),
        "mean_rho": float(np.mean([rho for one in found for rho in one.rho.values()])),
        "worst_rho": float(np.max([rho for one in found for rho in one.rho.values()])),
        **({"broken_guarantees": sum(broken)} if broken else {}),
        "decision_ms": mean("decision_ms", "mean"),
        "decision_p99_ms": mean("decision_ms", "p99"),
    }
