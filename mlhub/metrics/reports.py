# SPDX-License-Identifier: Apache-2.0
"""Reports of untrusted pods, checked value by value before anything is stored."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any, get_args, get_type_hints

from mlhub.core.errors import InvalidInputError
from mlhub.wire.exits import Cause
from mlhub.wire.measurements import MEASUREMENTS, known
from mlhub.wire.report import (
    MAX_CHECKPOINT_VALUES,
    MAX_CHECKPOINTS,
    MAX_STALENESS,
    MAX_STEP,
    MAX_VALUES,
    METRIC_NAME,
    CheckpointReport,
    FailureReport,
    MetricReport,
    PhaseReport,
    ProgressReport,
    Report,
    ResultReport,
    StalenessReport,
    from_dict,
)

MAX_TEXT = 20_000
PUBLISHED_PHASES = ("gang_ready", "resumed", "training", "saving", "done")  # in the job's events, with their step
# Of each kind of report its fields with their types. To read the annotations takes ten times as long as all checks.
KINDS: dict[type[Any], list[tuple[str, Any]]] = {
    kind: [(name, hint) for name, hint in get_type_hints(kind).items() if name != "type"] for kind in get_args(Report)
}
MAX_CLOCK_AHEAD = timedelta(minutes=1)


def read_report(raw: Any, *, number: int) -> Report:
    """Raises InvalidInputError naming line and field."""
    if not isinstance(raw, dict):
        raise _bad(number, "type", "A report is a JSON object.")
    try:
        report = from_dict(raw)
    except ValueError as error:
        raise _bad(number, "type", str(error)) from error
    for name, kind in KINDS[type(report)]:
        value = getattr(report, name)
        if value is None and kind in (float | None, int | None):
            continue
        if kind in (float, float | None):
            _check_number(number, name, value)
        elif kind in (int, int | None):
            _check_count(number, name, value)
        elif kind is str and (not isinstance(value, str) or len(value) > MAX_TEXT):
            raise _bad(number, name, f"It must be text of at most {MAX_TEXT:,} characters.")
    _check_content(report, number)
    return report


def at(seconds: float) -> datetime:
    """A pod's clock reading; one that cannot be a time, or is in the future, is taken for now."""
    now = datetime.now(UTC)
    try:
        found = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return now
    return found if found <= now + MAX_CLOCK_AHEAD else now


def _check_content(report: Report, number: int) -> None:
    is_checkpoint = isinstance(report, CheckpointReport)
    if isinstance(report, CheckpointReport):
        _check_names(number, report.present)
    match report:
        case MetricReport(values=values) | ResultReport(metrics=values) | CheckpointReport(metrics=values):
            field, most = ("metrics", MAX_CHECKPOINT_VALUES) if is_checkpoint else ("values", MAX_VALUES)
            if not isinstance(values, dict) or len(values) > most:
                raise _bad(number, field, f"They must be an object of at most {most} numbers.")
            for key, value in values.items():
                if not METRIC_NAME.fullmatch(key):
                    raise _bad(number, "values", f"{key[:50]!r} is no name of a metric: use A-Z a-z 0-9 _ . / -")
                _check_number(number, f"values.{key}", value)
        case FailureReport(cause=cause):
            if cause not in set(Cause):
                raise _bad(number, "cause", f"Known causes: {', '.join(Cause)}.")
        case PhaseReport(detail=detail):
            if not isinstance(detail, dict) or len(str(detail)) > MAX_TEXT:
                raise _bad(number, "detail", "It must be a small object.")
            if report.phase in PUBLISHED_PHASES and detail.get("step") is not None:
                _check_count(number, "detail.step", detail["step"])
        case StalenessReport(counts=counts):
            if not isinstance(counts, list) or len(counts) > MAX_STALENESS + 1:
                raise _bad(number, "counts", f"They must be a list of at most {MAX_STALENESS + 1} numbers.")
            for place, count in enumerate(counts):
                _check_count(number, f"counts.{place}", count)
        case ProgressReport(measured=measured):
            if not isinstance(measured, dict):
                raise _bad(number, "measured", "It must be an object of numbers.")
            for key, value in known(measured).items():
                if not MEASUREMENTS[key].accepts(value):
                    raise _bad(number, f"measured.{key}", "It must be a finite number within its bounds, 0 or more.")


def _check_names(number: int, present: Any) -> None:
    is_names = isinstance(present, list) and all(isinstance(name, str) for name in present)
    if not is_names or len(present) > MAX_CHECKPOINTS:
        raise _bad(number, "present", f"They must be a list of at most {MAX_CHECKPOINTS:,} names.")


def _check_number(number: int, field: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _bad(number, field, "It must be a finite number.")


def _check_count(number: int, field: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_STEP:
        raise _bad(number, field, "It must be a whole number, 0 or more.")


def _bad(number: int, field: str, message: str) -> InvalidInputError:
    return InvalidInputError(
        f"Line {number}, {field}: {message}", code="bad_report", field=f"lines.{number}.{field}", remedy="See the wire."
    )
