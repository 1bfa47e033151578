# SPDX-License-Identifier: Apache-2.0
"""Reads a trace that torch wrote, event by event, into columns: a million events take some 60 MB.

Such a file is a JSON object with the list "traceEvents"; of its events those with a duration (ph "X") count, changes of
memory (named "[memory]"), and the names of processes and threads (ph "M"). Standard library only.
Source: Trace Event Format, Google, 2016, "Complete Events" and "Metadata Events".
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHUNK = 2**20
MAX_READ_EVENTS = 2_000_000
MAX_HEAD = 2**24  # characters before the first event: facts of the machine
MAX_EVENT = 2**20  # characters of one event
_BEGIN = re.compile(r'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("cpu_op", "user_annotation", "python_function")
SHOWN = (*HOST, *DEVICE, "cuda_runtime", "cuda_driver", "gpu_user_annotation")


@dataclass
class Names:
    """Texts by number, in the order in which they came first."""

    texts: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found


@dataclass
class TraceEvents:
    """Event i is of name names.texts[name[i]] and so on; begin and duration in microseconds.

    tracks: (process, thread) as the trace names them. link: the number by which what a device did belongs to the
    operator that asked for it; -1: none. Changes of memory have a track, a moment and bytes. labels: of processes
    (thread None) and threads.
    """

    names: Names = field(default_factory=Names)
    categories: Names = field(default_factory=Names)
    tracks: list[tuple[Any, Any]] = field(default_factory=list)
    name: array[int] = field(default_factory=lambda: array("i"))
    category: array[int] = field(default_factory=lambda: array("i"))
    track: array[int] = field(default_factory=lambda: array("i"))
    begin: array[float] = field(default_factory=lambda: array("d"))
    duration: array[float] = field(default_factory=lambda: array("d"))
    link: array[int] = field(default_factory=lambda: array("q"))
    memory_track: array[int] = field(default_factory=lambda: array("i"))
    memory_at: array[float] = field(default_factory=lambda: array("d"))
    memory_bytes: array[int] = field(default_factory=lambda: array("q"))
    labels: dict[tuple[Any, Any], str] = field(default_factory=dict)
    n_unread: int = 0
    _track_numbers: dict[tuple[Any, Any], int] = field(default_factory=dict)

    def track_number(self, process: Any, thread: Any) -> int:
        found = self._track_numbers.get((process, thread))
        if found is None:
            found = self._track_numbers[process, thread] = len(self.tracks)
            self.tracks.append((process, thread))
        return found

    def add(self, event: dict[str, Any]) -> None:
        kind = event.get("ph")
        if kind == "X" and event.get("cat") in SHOWN:
            if len(self.name) >= MAX_READ_EVENTS:
                self.n_unread += 1
                return
            arguments = event.get("args") or {}
            self.name.append(self.names.number(str(event.get("name", ""))))
            self.category.append(self.categories.number(event["cat"]))
            self.track.append(self.track_number(event.get("pid"), event.get("tid")))
            self.begin.append(float(event["ts"]))
            self.duration.append(max(0.0, float(event.get("dur", 0.0))))
            self.link.append(int(arguments.get("External id", -1)))
        elif kind == "i" and event.get("name") == "[memory]":
            self.memory_track.append(self.track_number(event.get("pid"), event.get("tid")))
            self.memory_at.append(float(event["ts"]))
            self.memory_bytes.append(int((event.get("args") or {}).get("Bytes", 0)))
        elif kind == "M" and event.get("name") in ("process_name", "thread_name"):
            thread = None if event["name"] == "process_name" else event.get("tid")
            self.labels[event.get("pid"), thread] = str((event.get("args") or {}).get("name", ""))


def read_trace(path: Path) -> TraceEvents:
    """Raises ValueError for a file that is no trace, OSError."""
    found = TraceEvents()
    for event in _events(path):
        try:
            found.add(event)
        except (KeyError, TypeError, OverflowError, AttributeError) as error:
            raise ValueError(f"an event that no profiler writes: {str(event)[:200]}") from error
    return found


def _events(path: Path) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(CHUNK)
        while (begin := _BEGIN.search(text)) is None and len(text) < MAX_HEAD and (more := file.read(CHUNK)):
            text += more
        if begin is None:
            raise ValueError("there are no traceEvents in it")
        place = begin.end()
        while True:
            place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
            if text.startswith("]", place):
                return
            try:
                if place == len(text):
                    raise ValueError("the next event is not read yet")
                event, place = decoder.raw_decode(text, place)
            except ValueError as error:
                more = file.read(CHUNK)
                if not more or len(text) - place > MAX_EVENT:
                    raise ValueError("it is cut off, or no JSON") from error
                text, place = text[place:] + more, 0
                continue
            if isinstance(event, dict):
                yield event
