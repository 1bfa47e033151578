# SPDX-License-Identifier: Apache-2.0
"""Runs one replay: builds its case, has it simulated, and records what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings

from mlhub.control.models import PolicyReplay, ReplayState, SchedulerSettings
from mlhub.control.policy_lab.actions import readable_trace, record_end
from mlhub.control.policy_lab.history import history_of
from mlhub.control.policy_lab.simulation import SimulationCancelledError, SimulationFailedError, simulate_case
from mlhub.core.errors import InvalidInputError
from scheduler.simulator.reports.comparison import ComparedPolicy
from scheduler.simulator.reports.policy_lab import LabCase

logger = structlog.stdlib.get_logger(__name__)


def run_replay(replay: PolicyReplay) -> None:
    """Runs a claimed replay to its end. Never raises for what can be wrong with its input."""
    try:
        case, about = _case(replay)
        result = simulate_case(
            case,
            limit_s=settings.REPLAY_LIMIT_S,
            on_progress=lambda label, n_done, n_jobs: _progress(replay, label, n_done, n_jobs),
            is_cancelled=lambda: _is_cancelled(replay),
        )
    except SimulationCancelledError:
        record_end(replay, ReplayState.CANCELLED)
    except InvalidInputError as error:
        record_end(replay, ReplayState.FAILED, error=f"{error.message} {error.remedy}".strip())
    except SimulationFailedError as error:
        record_end(replay, ReplayState.FAILED, error=str(error))
    except Exception as error:
        logger.exception("replay.failed", replay=replay.id)
        record_end(replay, ReplayState.FAILED, error=f"The replay failed: {type(error).__name__}: {error}"[:1000])
    else:
        record_end(replay, ReplayState.SUCCEEDED, result={**about, **result})


def _case(replay: PolicyReplay) -> tuple[LabCase, dict[str, Any]]:
    """The case, and what is shown of it. The first policy is the one that ran; of a trace, the one that decides now."""
    if replay.trace:
        chosen, _ = SchedulerSettings.objects.get_or_create(pk=1)
        trace, cluster = readable_trace(replay.trace, name=replay.trace_name)
        entries = _entries(chosen.policy, chosen.parameters, replay)
        about = {"n_jobs": len(trace.jobs), "n_before": 0, "left_out": {}, "n_policies": 1, "n_absences": 0}
        case = LabCase(cluster, entries, trace=trace)
    else:
        assert replay.since is not None
        assert replay.until is not None
        history = history_of(since=replay.since, until=replay.until)
        period = history.period
        entries = _entries(period.policy, period.parameters, replay)
        n_counted = sum(one.is_counted for one in history.jobs)
        about = {
            "n_jobs": n_counted,
            "n_before": len(history.jobs) - n_counted,
            "left_out": dict(history.left_out),
            "n_policies": period.n_policies,
            "n_rounds": period.n_rounds,
            "rounds_from": _time(period.rounds_from),
            "rounds_until": _time(period.rounds_until),
            "n_absences": sum(failure.kind == "lost" for failure in period.failures),
        }
        case = LabCase(history.cluster, entries, jobs=history.jobs, failures=period.failures)
    return case, {**about, "n_gpus": case.cluster.n_gpus, "n_nodes": len(case.cluster.nodes)}


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _entries(policy: str, parameters: Mapping[str, Any], replay: PolicyReplay) -> tuple[ComparedPolicy, ...]:
    """The one to compare with, and the others; equal names get numbers."""
    wanted = [(policy, dict(parameters))]
    wanted += [(p["name"], p["parameters"]) for p in replay.policies if (p["name"], p["parameters"]) != wanted[0]]
    names = [name for name, _ in wanted]
    return tuple(
        ComparedPolicy(name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}", name, values)
        for i, (name, values) in enumerate(wanted)
    )


def _progress(replay: PolicyReplay, label: str, n_done: int, n_jobs: int) -> None:
    shown = {"policy": label, "n_done": n_done, "n_jobs": n_jobs}
    PolicyReplay.objects.filter(pk=replay.pk).update(progress=shown)


def _is_cancelled(replay: PolicyReplay) -> bool:
    return PolicyReplay.objects.filter(pk=replay.pk).exclude(cancel_asked_at=None).exists()
