# SPDX-License-Identifier: Apache-2.0
"""How the platform's own forecasts came true on the testbed: the part of its page about P90s of starts and ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from benchmarks.testbed_runs import TestbedRun

LEAST, MOST = 0.80, 0.98  # of starts and ends that come by their P90: what is aimed at


@dataclass(frozen=True)
class ForecastOutcomes:
    """How many forecasts there were, and how many of the jobs ended, and of those that waited started, by the P90."""

    n: int = 0
    n_by_p90: float = 0.0
    n_waited: int = 0
    n_started_by_p90: float = 0.0

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Returns the sum of the API's rows; rows without a share had nothing that could come true."""
        found = list(rows)
        ended = [row for row in found if row["within_p90"] is not None]
        started = [row for row in found if row["started_within_p90"] is not None]
        return cls(
            sum(row["n"] for row in ended),
            sum(row["n"] * row["within_p90"] for row in ended),
            sum(row["n_waited"] for row in started),
            sum(row["n_waited"] * row["started_within_p90"] for row in started),
        )

    @property
    def ended(self) -> float | None:
        """Returns the share that ended by the P90; None without forecasts."""
        return self.n_by_p90 / self.n if self.n else None

    @property
    def started(self) -> float | None:
        """Returns the share that started by the P90; None where no job waited."""
        return self.n_started_by_p90 / self.n_waited if self.n_waited else None


def forecast_lines(by_policy: Mapping[str, Sequence[TestbedRun]]) -> list[str]:
    """Returns the section; nothing where no run has kept how its forecasts came true."""
    kept = {policy: [r for r in runs if r.calibration] for policy, runs in by_policy.items()}
    kept = {policy: runs for policy, runs in kept.items() if runs}
    if not kept:
        return []
    rows, found = [], dict[str, ForecastOutcomes]()
    for policy, runs in kept.items():
        moments = {m: _of(runs, "calibration", "moment", m) for m in ("submission", "launch")}
        found[policy] = moments["submission"]
        seeds = ", ".join(str(run.seed) for run in sorted(runs, key=lambda run: run.seed))
        first, launched = moments["submission"], moments["launch"]
        rows.append(
            f"| {policy} | {seeds} | {_share(first.started)} ({first.n_waited}) | {_share(first.ended)} ({first.n}) | "
            f"{_share(launched.ended)} ({launched.n}) |"
        )
    return [
        "",
        "## Forecasts",
        "",
        "How the platform's own forecasts came true, by its API at the end of each run: the share of jobs (in "
        "brackets: of how many) that started and ended by the P90 that they were given at submission, and at launch. "
        "Each platform had never predicted anything before.",
        "",
        "| policy | seeds | started by P90 | ended by P90 | ended by P90 of the launch |",
        "|---|---|---|---|---|",
        *rows,
        "",
        *_grouped("organisation", "calibration_by_organisation", kept),
        *_grouped("cause of waiting", "calibration_by_cause", kept),
        _against_aim(found),
    ]


def _of(runs: Sequence[TestbedRun], kind: str, key: str, value: str) -> ForecastOutcomes:
    return ForecastOutcomes.of(row for run in runs for row in run.calibration[kind] if row[key] == value)


def _grouped(title: str, kind: str, kept: Mapping[str, Sequence[TestbedRun]]) -> list[str]:
    """All policies together, by what the forecasts at submission have in common."""
    runs = [run for each in kept.values() for run in each]
    key = kind.rsplit("_", 1)[1]
    values = sorted({row[key] for run in runs for row in run.calibration[kind]})
    rows = []
    for value in values:
        found = _of(runs, kind, key, value)
        rows.append(
            f"| {value or '(started at once)'} | {_share(found.started)} ({found.n_waited}) | {_share(found.ended)} "
            f"({found.n}) |"
        )
    return [f"| {title} | started by P90 | ended by P90 |", "|---|---|---|", *rows, ""]


def _against_aim(found: Mapping[str, ForecastOutcomes]) -> str:
    outside = [
        f"`{policy}`"
        for policy, one in found.items()
        if any(share is not None and not LEAST <= share <= MOST for share in (one.started, one.ended))
    ]
    words = "met" if not outside else f"**missed** for {', '.join(outside)}"
    return f"{LEAST:.0%} to {MOST:.0%} of the jobs start and end by the P90 of their submission: {words}."


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
