# SPDX-License-Identifier: Apache-2.0
"""A trace: jobs that were submitted, with their sizes and lengths; and the error when one cannot be read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

MOST = 1e15  # of anything: thirty million years in seconds; sums of squares stay finite


class BadInput(ValueError):  # noqa: N818 (the name states what is wrong)
    """Refuses a trace, cluster or data file that cannot be used, in one line with file, row and remedy."""

    def __init__(self, name: str, row: int | None, problem: str) -> None:
        super().__init__(f"{name}{f', row {row}' if row is not None else ''}: {problem}")
        self.parts = name, row, problem

    def __reduce__(self) -> tuple[type[BadInput], tuple[str, int | None, str]]:
        """So that it crosses from one process to another."""
        return BadInput, self.parts


@dataclass(frozen=True)
class TraceJob:
    """Describes a job of a trace.

    duration_s: at n_gpus, alone. min_gpus below n_gpus or max_gpus above: elastic. extra: the format's own.

    row: where it is in its file, for errors.
    """

    id: str
    submitted_at_s: float
    n_gpus: int
    duration_s: float
    tenant: str = "default"
    study: str = ""  # of which it is a trial
    user: str = ""  # whose it is, within the tenant
    inputs: str = ""  # the name of what it reads, and its size; jobs of one name read the same
    inputs_bytes: int = 0
    model: str = ""
    priority: int = 0
    min_gpus: int | None = None
    max_gpus: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    row: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Trace:
    """Holds the jobs of a trace. format: which reader understood it."""

    name: str
    format: str
    jobs: tuple[TraceJob, ...]


class Rows:
    """Reads the rows of a CSV with a header, with good errors.

    Row numbers count from 1 for the header, as editors do.
    """

    def __init__(self, text: str, *, name: str, columns: tuple[str, ...]) -> None:
        self.name = name
        self._reader = csv.DictReader(io.StringIO(text.replace("\x00", "")))
        header = [c.strip() for c in self._reader.fieldnames or []]
        self._reader.fieldnames = header
        missing = [c for c in columns if c not in header]
        twice = [c for c in header if c and header.count(c) > 1]
        if twice:
            raise BadInput(name, 1, f"the column {twice[0]!r} is there twice; rename one")
        if missing:
            raise BadInput(name, 1, f"the column {missing[0]!r} is missing; the format needs {', '.join(columns)}")

    def __iter__(self) -> Iterator[Row]:
        for cells in self._reader:
            if None in cells:
                n = len(cells[None])
                problem = f"{n} more cells than the header has columns; put text with commas in double quotes"
                raise BadInput(self.name, self._reader.line_num, problem)
            if any((cell or "").strip() for cell in cells.values() if isinstance(cell, str)):
                yield Row(self.name, self._reader.line_num, cells)


@dataclass(frozen=True)
class Row:
    """Holds one row's cells by column."""

    name: str
    number_in_file: int
    cells: Mapping[str, Any]

    def text(self, column: str) -> str:
        """Returns the cell without spaces around it; "" where the row has none."""
        return str(self.cells.get(column) or "").strip()

    def whole(self, column: str, *, least: int = 0) -> int:
        """Returns the cell as a whole number. Raises BadInput for any other, or one below the least."""
        value = self.number(column, least=least)
        if value != int(value):
            raise BadInput(self.name, self.number_in_file, f"{column} is {self.text(column)!r}; it must be whole")
        return int(value)

    def number(self, column: str, *, least: float = 0.0) -> float:
        """Returns the cell as a finite number. Raises BadInput for any other, or one below the least."""
        try:
            value = float(self.text(column))
        except ValueError:
            value = float("nan")
        if not least <= value < float("inf"):
            problem = f"{column} is {self.text(column)!r}; it must be a number of at least {least:g}"
            raise BadInput(self.name, self.number_in_file, problem)
        if value > MOST:
            raise BadInput(
                self.name, self.number_in_file, f"{column} is {self.text(column)}; at most {MOST:.0e} is read"
            )
        return value


def unique_jobs(name: str, jobs: list[tuple[int, TraceJob]]) -> tuple[TraceJob, ...]:
    """Returns the jobs, given with their rows. Raises BadInput for an id that is there twice, or for none at all."""
    seen: dict[str, int] = {}
    for row, job in jobs:
        if job.id in seen:
            raise BadInput(name, row, f"job {job.id!r} is in row {seen[job.id]} already; give every job its own id")
        seen[job.id] = row
    if not jobs:
        raise BadInput(name, None, "there are no jobs in it")
    return tuple(replace(job, row=row) for row, job in jobs)
