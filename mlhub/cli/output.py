# SPDX-License-Identifier: Apache-2.0
"""What commands print: tables for people; JSON and YAML, whole and without colours, for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

UNCUT = 500  # columns of characters of a table in a pipe, where nothing is cut off
PrintedRow = Mapping[str, Any]


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class Output:
    """Results go to standard output, notes and errors to standard error; colours only on a terminal."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.console = Console(highlight=False, soft_wrap=True)
        self.notes = Console(stderr=True, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        self.notes.print(text, markup=False)

    def line(self, text: str) -> None:
        self.console.print(text, markup=False)

    def rows(self, rows: Sequence[PrintedRow], columns: Mapping[str, Any]) -> None:
        """columns: heading -> function of a row, for the table; JSON and YAML have the rows as the API gives them."""
        if self.form is not Format.TABLE:
            self.data(list(rows))
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in columns:
            table.add_column(heading, no_wrap=True)
        for row in rows:
            table.add_row(*(_cell(value(row)) for value in columns.values()))
        console = self.console if sys.stdout.isatty() else Console(highlight=False, width=UNCUT)
        console.print(table, width=max(console.width, 20), soft_wrap=False)

    def data(self, value: Any) -> None:
        """As YAML where a table was asked for: one object is read from top to bottom."""
        text = json.dumps(value, indent=2) if self.form is Format.JSON else yaml.safe_dump(value, sort_keys=False)
        print(text.rstrip("\n"))


def duration(seconds: float | None) -> str:
    """Such as 42 s, 3 min, 2 h 5 min, 4 d 3 h; "" for None."""
    if seconds is None:
        return ""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h"


def until(at: str | None, *, now: datetime | None = None) -> str:
    """How far a moment of the API lies ahead ("in 3 min") or behind ("3 min ago"); "" for None."""
    if at is None:
        return ""
    seconds = (datetime.fromisoformat(at) - (now or datetime.now(UTC))).total_seconds()
    return f"in {duration(seconds)}" if seconds >= 0 else f"{duration(-seconds)} ago"


def predicted(at: str | None, *, now: datetime | None = None) -> str:
    """As until, of what has not happened yet: once its time has come it is late ("overdue by 3 min"), not past."""
    lies = until(at, now=now)
    return f"overdue by {lies.removesuffix(' ago')}" if lies.endswith(" ago") else lies


def is_past(at: str | None) -> bool:
    """Whether a moment of the API lies behind; False for None."""
    return at is not None and datetime.fromisoformat(at) <= datetime.now(UTC)


def size(n_bytes: float) -> str:
    """Such as 512 B, 3.4 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} B" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TiB"


def metrics_text(metrics: Mapping[str, float], *, most: int | None = None) -> str:
    """Such as "eval/accuracy 0.9, eval/loss 0.21", by name; most: so many of them. The cells of confusion are left
    out.
    """
    shown = sorted((name, value) for name, value in metrics.items() if not name.startswith("eval/confusion/"))
    return ", ".join(f"{name} {value:.4g}" for name, value in shown[:most])


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return text.replace("[", r"\[")
