# SPDX-License-Identifier: Apache-2.0
"""HTML of answers for notebooks, where every name may be a stranger's; and a progress line that changes in place."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

MOST_ROWS, MOST_CHARACTERS = 50, 200
CELL = '<td style="text-align: left; white-space: pre-wrap">'
HEADING = '<th style="text-align: left">'


def text_of(value: Any) -> str:
    """A value of JSON in few words: of an object its name or id."""
    if isinstance(value, Mapping):
        for name in ("name", "username", "id"):
            if name in value:
                return text_of(value[name])
        return f"{len(value)} fields"
    if isinstance(value, list | tuple):
        is_short = len(value) <= 5 and not any(isinstance(item, Mapping | list) for item in value)
        return ", ".join(text_of(item) for item in value) if is_short else f"{len(value)} items"
    text = "" if value is None else str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} ..."


def html_of_fields(title: str, content: Mapping[str, Any]) -> str:
    """A table of two columns. Everything is escaped."""
    rows = "".join(
        f"<tr>{HEADING}{escape(str(name))}</th>{CELL}{escape(text_of(value))}</td></tr>"
        for name, value in content.items()
        if value is not None
    )
    return f"<table><caption>{escape(title)}</caption><tbody>{rows}</tbody></table>"


def html_of_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """A table of the first rows, with those of the columns that some row has. Everything is escaped."""
    if not rows:
        return "<p>No rows.</p>"
    shown = [name for name in columns if any(name in row for row in rows)] or list(rows[0])[:6]
    head = "".join(f"{HEADING}{escape(name)}</th>" for name in shown)
    lines = "".join(
        "<tr>" + "".join(f"{CELL}{escape(text_of(row.get(name)))}</td>" for name in shown) + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{more}"


class ProgressLine:
    """A line that changes in place: in a notebook's output, on a terminal; else one line for each change, on stderr."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._width = 0

    def __call__(self, line: str) -> None:
        shown = "".join(character if character.isprintable() else " " for character in line)
        if (show := _notebook_display()) is not None:
            content = {"text/plain": shown}
            if self._handle is None:
                self._handle = show(content, raw=True, display_id=True)
            else:
                self._handle.update(content, raw=True)
        elif sys.stderr.isatty():
            print(f"\r{shown:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(shown)
        else:
            print(shown, file=sys.stderr, flush=True)


def _notebook_display() -> Any:
    """IPython's display() where a kernel runs this program, else None. IPython is not imported for it."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    if shell is None or running is None or not hasattr(running, "kernel"):
        return None
    return sys.modules["IPython.display"].display if "IPython.display" in sys.modules else None
