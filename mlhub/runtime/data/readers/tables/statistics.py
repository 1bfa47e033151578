# SPDX-License-Identifier: Apache-2.0
"""What people look at before they train on a table: for each column its role, missing values, and distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from mlhub.runtime.data.readers.tables import values as column_values
from mlhub.runtime.data.readers.tables.choice import ColumnChoice
from mlhub.runtime.data.readers.tables.measures import ColumnMoments, Histogram
from mlhub.runtime.data.readers.tables.number_readings import example_of
from mlhub.runtime.data.readers.tables.profiles import ColumnProfile

N_DETAILED = 200  # columns with a distribution; of wider tables the others have their type only
N_TOP = 10


class TableStatistics:
    """All rows count here, since people compare files; the scale of inputs is measured on training rows alone."""

    def __init__(self, profiles: Sequence[ColumnProfile], *, has_formats: bool = False) -> None:
        """has_formats: whether the file may write numbers in several formats."""
        self._profiles, self._has_formats = profiles, has_formats
        detailed = [profile for profile in profiles[:N_DETAILED] if np.isfinite(profile.minimum)]
        self._histograms = {p.name: Histogram(p.minimum, p.maximum) for p in detailed}
        self._moments = {p.name: ColumnMoments() for p in detailed}
        self._bounds: dict[str, tuple[float, float]] = {}

    def count(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Raises pyarrow's errors."""
        known = {profile.name: profile for profile in self._profiles}
        for batch in batches:
            for name in self._histograms:
                profile = known[name]
                if is_date(profile):
                    values = column_values.seconds(batch[name], profile.date_formats)
                else:
                    values = column_values.numbers(batch[name], profile.number_format)
                self._add(name, values[np.isfinite(values)])

    def described(self, choice: ColumnChoice | None = None) -> dict[str, Any]:
        """The statistics as JSON. choice: None where there are no targets, and so nothing to choose."""
        return {
            "kind": "table",
            "n_rows": self._profiles[0].n_rows,
            "columns": [self._column(profile, choice) for profile in self._profiles],
            "problems": [] if choice is None else choice.problems,
        }

    def _add(self, name: str, values: Any) -> None:
        if not len(values):
            return
        self._histograms[name].add(values)
        self._moments[name].add(values)
        least, most = self._bounds.get(name, (np.inf, -np.inf))
        self._bounds[name] = min(least, float(values.min())), max(most, float(values.max()))

    def _column(self, profile: ColumnProfile, choice: ColumnChoice | None) -> dict[str, Any]:
        found: dict[str, Any] = {
            "name": profile.name,
            "type": profile.type,
            "n_missing": profile.n_missing,
            "n_distinct": profile.n_distinct,
            "examples": profile.examples,
        }
        if self._has_formats and (readings := example_of(profile)) is not None:
            found |= {"number_format": profile.number_format, "readings": readings}
        if choice is not None:
            found["role"] = choice.role(profile.name)
            found["used_as"] = next((s["kind"] for s in choice.features if s["name"] == profile.name), None)
            if profile.name == choice.split:
                found["used_as"] = "split"
            found["treatment"] = choice.treatments.get(profile.name, "")
        if profile.name in self._bounds:
            found |= self._distribution(profile)
        top = profile.top(N_TOP)
        if top and profile.type == "category":
            found["top"] = [{"value": word[:80], "n": n} for word, n in top]
        return found

    def _distribution(self, profile: ColumnProfile) -> dict[str, Any]:
        least, most = self._bounds[profile.name]
        histogram = self._histograms[profile.name].described()
        if is_date(profile):
            return {"first": _date(least), "last": _date(most), "histogram": histogram}
        moments = self._moments[profile.name]
        return {"min": least, "max": most, "mean": moments.mean, "std": moments.std, "histogram": histogram}


def is_date(profile: ColumnProfile) -> bool:
    """Whether the column holds dates, stored as such or as words."""
    return profile.raw == "date" or bool(profile.date_formats)


def _date(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")
    except (OverflowError, ValueError, OSError):  # years beyond 9999
        return f"{seconds:.0f} s"
