# SPDX-License-Identifier: Apache-2.0
"""The policy lab: a history or a trace under several policies, against the policy that ran, and how true that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scheduler.policies.loading import load_policy
from scheduler.simulator.engine import simulate
from scheduler.simulator.environments.environment import Environment
from scheduler.simulator.environments.failing import FailingEnvironment
from scheduler.simulator.environments.recorded import RecordedEnvironment, RecordedJob
from scheduler.simulator.environments.registry import ENVIRONMENTS, Setting
from scheduler.simulator.failures import Failure
from scheduler.simulator.outcome import SimulationOutcome
from scheduler.simulator.reports.comparison import ComparedPolicy
from scheduler.simulator.reports.summary import summary
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.gpu_speeds import GpuSpeeds
from scheduler.simulator.traces.trace import Trace

N_CURVE = 100  # points of a distribution
N_WORST = 10  # jobs that a policy harms most, by policy

OnProgress = Callable[[str, int, int], None]  # policy's label, jobs that ended, all jobs


@dataclass(frozen=True)
class LabCase:
    """Holds what is replayed: the jobs of a history, or a trace. entries: the first is the one to compare with.

    failures: of nodes, by time.
    """

    cluster: Cluster
    entries: tuple[ComparedPolicy, ...]
    jobs: tuple[RecordedJob, ...] = ()
    trace: Trace | None = None
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class LabJob:
    """Holds what figures need of a job. real_jct_s: None where it has not ended, or never was."""

    id: str
    name: str
    organisation: str
    submitted_at_s: float
    is_counted: bool
    real_jct_s: float | None


def check_trace(trace: Trace, cluster: Cluster) -> None:
    """Checks that the trace can be simulated on the cluster. Raises BadInput naming row and field."""
    _environment(LabCase(cluster, (ComparedPolicy("fifo", "fifo"),), trace=trace), "fifo")


def run_case(
    case: LabCase, *, stopwatch: Callable[[], float] | None = None, on_progress: OnProgress | None = None
) -> dict[str, Any]:
    """Returns the figures as JSON values: policies, reproduction and real figures, and rows of jobs.

    A policy that fails has its error in place of its figures.
    """
    jobs = lab_jobs(case)
    times: dict[str, dict[str, float]] = {}
    found = []
    for entry in case.entries:
        row = {"label": entry.label, "policy": entry.policy, "parameters": dict(entry.parameters), "error": ""}
        try:
            outcome, figures = _simulated(case, entry, stopwatch, on_progress)
        except (RuntimeError, ValueError, TypeError, ArithmeticError, LookupError) as error:
            found.append({**row, "error": f"{type(error).__name__}: {error}"[:500], "figures": None})
            continue
        times[entry.label] = completion_times(outcome, jobs)
        baseline = times.get(case.entries[0].label, {})
        found.append({**row, "figures": _figures(times[entry.label], figures, outcome, jobs, baseline)})
    baseline = times.get(case.entries[0].label, {})
    real = {one.id: one.real_jct_s for one in jobs if one.is_counted and one.real_jct_s is not None}
    return {
        "policies": found,
        "real": _distribution(list(real.values())) if real else None,
        "reproduction": _reproduction(real, baseline),
        "jobs": [_job_row(one, real, times) for one in jobs if one.is_counted],
    }


def lab_jobs(case: LabCase) -> list[LabJob]:
    """Returns the jobs of a history or of a trace."""
    if case.trace is not None:
        return [LabJob(one.id, one.id, one.tenant, one.submitted_at_s, True, None) for one in case.trace.jobs]
    return [
        LabJob(
            one.job.id,
            one.job.name,
            one.organisation,
            one.job.submitted_at_s,
            one.is_counted,
            None if one.ended_at_s is None else one.ended_at_s - one.job.submitted_at_s,
        )
        for one in case.jobs
    ]


def completion_times(outcome: SimulationOutcome, jobs: Sequence[LabJob]) -> dict[str, float]:
    """Returns the seconds from submission to the end of every job that figures count, by id."""
    found = {}
    for one in jobs:
        ended_at_s = outcome.histories[one.id].ended_at_s
        if one.is_counted and ended_at_s is not None:
            found[one.id] = ended_at_s - one.submitted_at_s
    return found


def _simulated(
    case: LabCase, entry: ComparedPolicy, stopwatch: Callable[[], float] | None, on_progress: OnProgress | None
) -> tuple[SimulationOutcome, dict[str, Any]]:
    environment = _environment(case, entry.policy)
    nodes = environment.nodes

    def progress(n_done: int, n_jobs: int) -> None:
        if on_progress is not None:
            on_progress(entry.label, n_done, n_jobs)

    policy = load_policy(entry.policy, entry.parameters)
    outcome = simulate(environment, policy=policy, stopwatch=stopwatch, on_progress=progress)
    return outcome, summary(outcome, nodes=nodes)


def _environment(case: LabCase, policy: str) -> Environment:
    """A cluster with several GPU types has no speeds for a trace: durations count on each of them."""
    if case.trace is None:
        recorded = RecordedEnvironment(case.jobs, case.cluster)
        return FailingEnvironment(recorded, case.failures) if case.failures else recorded
    setting = Setting(case.trace, case.cluster, policy)
    types = {node.gpu_type for node in case.cluster.nodes if node.n_gpus}
    if len(types) > 1:
        setting = replace(setting, gpu_speeds=GpuSpeeds(case.cluster.name, {(t, ""): 1.0 for t in types}))
    return ENVIRONMENTS["counting"].make(setting)


def _figures(
    times: Mapping[str, float],
    figures: Mapping[str, Any],
    outcome: SimulationOutcome,
    jobs: Sequence[LabJob],
    baseline: Mapping[str, float],
) -> dict[str, Any]:
    by_organisation: dict[str, list[float]] = {}
    for one in jobs:
        if one.id in times:
            by_organisation.setdefault(one.organisation, []).append(times[one.id])
    return {
        **_distribution(list(times.values())),
        "makespan_s": figures["makespan_s"],
        "gpu_use": figures["utilisation"],
        "n_restarts": sum(history.n_restarts for history in outcome.histories.values()),
        "decide_ms": figures["decision_ms"]["mean"],
        "by_organisation": [
            {"organisation": name, "n_jobs": len(found), "mean_jct_s": float(np.mean(found))}
            for name, found in sorted(by_organisation.items())
        ],
        "worst_hit": _worst_hit(times, jobs, baseline),
    }


def _worst_hit(
    times: Mapping[str, float], jobs: Sequence[LabJob], baseline: Mapping[str, float]
) -> list[dict[str, Any]]:
    """The jobs that end latest relative to the baseline, by seconds; jobs that do not end later are not among them."""
    later = [(times[one.id] - baseline[one.id], one) for one in jobs if one.id in times and one.id in baseline]
    chosen = sorted((pair for pair in later if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].id))[:N_WORST]
    return [
        {
            "job": one.id,
            "name": one.name,
            "organisation": one.organisation,
            "jct_s": times[one.id],
            "baseline_jct_s": baseline[one.id],
        }
        for _, one in chosen
    ]


def _distribution(values: Sequence[float]) -> dict[str, Any]:
    """curve: (seconds, share of jobs that took at most so long), ascending."""
    times = np.sort(np.array(values)) if len(values) else np.zeros(1)
    n = len(times)
    places = np.unique(np.linspace(0, n - 1, min(n, N_CURVE)).round().astype(int))
    return {
        "n_jobs": len(values),
        "mean_jct_s": float(times.mean()),
        "median_jct_s": float(np.median(times)),
        "p99_jct_s": float(np.percentile(times, 99)),
        "curve": [[float(times[i]), (int(i) + 1) / n] for i in places],
    }


def _reproduction(real: Mapping[str, float], simulated: Mapping[str, float]) -> dict[str, Any] | None:
    """How well the simulated policy that ran gives what really happened; None without jobs that ended in both.

    mean_error: of the mean, relative and signed. median_job_error, p90_job_error: of single jobs, relative.
    """
    both = [job for job in real if job in simulated]
    if not both:
        return None
    real_J, simulated_J = (np.array([side[job] for job in both]) for side in (real, simulated))
    errors_J = np.abs(simulated_J - real_J) / np.maximum(real_J, 1.0)
    return {
        "n_jobs": len(both),
        "real_mean_jct_s": float(real_J.mean()),
        "simulated_mean_jct_s": float(simulated_J.mean()),
        "mean_error": float(simulated_J.mean() / max(1e-9, real_J.mean()) - 1),
        "median_job_error": float(np.median(errors_J)),
        "p90_job_error": float(np.percentile(errors_J, 90)),
    }


def _job_row(one: LabJob, real: Mapping[str, float], times: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    return {
        "job": one.id,
        "name": one.name,
        "organisation": one.organisation,
        "submitted_at_s": one.submitted_at_s,
        "real_jct_s": real.get(one.id),
        "jct_s": {label: found.get(one.id) for label, found in times.items()},
    }
