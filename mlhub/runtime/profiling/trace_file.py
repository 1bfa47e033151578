# SPDX-License-Identifier: Apache-2.0
"""The trace that people look at: bounded, from the first recorded step on, in gzip. Standard library only.

It has what the worker did (reading, computing, exchanging) as a track of its own. What was shortest is left out where
there is too much. Names of machines and of paths that torch puts into its file are not in it.
"""

from __future__ import annotations

import gzip
import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from mlhub.runtime.profiling.files import RecordingNotes
from mlhub.runtime.profiling.summary import STEP, summarise
from mlhub.runtime.profiling.trace_events import TraceEvents, read_trace
from mlhub.wire.profiles import MAX_EVENTS, MAX_NAME

ACTIVITY_TRACK = "MLHub"
ACTIVITIES = {"input": "reading", "compute": "computing", "sync": "exchanging"}


def reduce_trace(raw: Path, to: Path, notes: RecordingNotes) -> dict[str, Any]:
    """Writes the trace, and returns its summary (mlhub/wire/profiles.py). Raises ValueError, OSError."""
    events = read_trace(raw)
    kept, n_all = _kept(events), len(events.name) + events.n_unread
    names = _step_names(events, notes.first_step or 0)
    origin_us = _origin(events)
    with gzip.open(to, "wt", encoding="utf-8", compresslevel=6) as file:
        file.write('{"displayTimeUnit":"ms","traceEvents":[\n')
        written = chain(
            _labels(events, kept), _activities(events, notes, origin_us), _shown(events, kept, names, origin_us)
        )
        for number, event in enumerate(written):
            file.write(("" if number == 0 else ",\n") + json.dumps(event, separators=(",", ":")))
        file.write("\n]}\n")
    return summarise(events).to_dict(seconds=notes.seconds, n_events=len(kept), n_left_out=n_all - len(kept))


def _kept(events: TraceEvents) -> Sequence[int]:
    """The longest events, in their order."""
    n = len(events.name)
    if n <= MAX_EVENTS:
        return range(n)
    return sorted(heapq.nlargest(MAX_EVENTS, range(n), key=events.duration.__getitem__))


def _step_names(events: TraceEvents, first_step: int) -> list[str]:
    """torch counts steps from the start of the profiler, the training from its own beginning."""
    found = list(events.names.texts)
    steps = sorted((int(text.removeprefix(STEP)), i) for i, text in enumerate(found) if _is_step(text))
    for place, (_, index) in enumerate(steps):
        found[index] = f"step {first_step + place + 1}"
    return [text[:MAX_NAME] for text in found]


def _is_step(text: str) -> bool:
    return text.startswith(STEP) and text.removeprefix(STEP).isdecimal()


def _steps(events: TraceEvents) -> Iterator[int]:
    is_step = {i for i, text in enumerate(events.names.texts) if _is_step(text)}
    return (index for index, name in enumerate(events.name) if name in is_step)


def _origin(events: TraceEvents) -> float:
    """When the first recorded step began; the first event, where there is no step."""
    return min((events.begin[index] for index in _steps(events)), default=min(events.begin, default=0.0))


def _labels(events: TraceEvents, kept: Iterable[int]) -> Iterator[dict[str, Any]]:
    used = {events.tracks[events.track[index]] for index in kept}
    for process, thread in sorted(used, key=str):
        label = events.labels.get((process, thread), "")
        yield _name_event("thread_name", process, thread, label or f"thread {thread}")
    for process in sorted({process for process, _ in used}, key=str):
        yield _name_event("process_name", process, 0, events.labels.get((process, None), "") or str(process))


def _name_event(kind: str, process: Any, thread: Any, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name[:MAX_NAME]}}


def _activities(events: TraceEvents, notes: RecordingNotes, origin_us: float) -> Iterator[dict[str, Any]]:
    """What the worker did, from its heartbeats, up to the end of the last step."""
    end_us = max((events.begin[i] + events.duration[i] for i in _steps(events)), default=origin_us) - origin_us
    moments = [(name, at) for name, at in notes.activities if name in ACTIVITIES and at < end_us]
    if not moments:
        return
    yield _name_event("process_name", ACTIVITY_TRACK, 0, ACTIVITY_TRACK)
    yield _name_event("thread_name", ACTIVITY_TRACK, 0, "activity")
    for (name, at), (_, until) in pairwise([*moments, ("", end_us)]):
        yield {
            "ph": "X", "cat": "activity", "name": ACTIVITIES[name], "pid": ACTIVITY_TRACK, "tid": 0,
            "ts": round(at, 3), "dur": round(max(0.0, until - at), 3),
        }  # fmt: skip


def _shown(
    events: TraceEvents, kept: Iterable[int], names: Sequence[str], origin_us: float
) -> Iterator[dict[str, Any]]:
    for index in kept:
        process, thread = events.tracks[events.track[index]]
        yield {
            "ph": "X",
            "cat": events.categories.texts[events.category[index]],
            "name": names[events.name[index]],
            "pid": process,
            "tid": thread,
            "ts": round(events.begin[index] - origin_us, 3),
            "dur": round(events.duration[index], 3),
        }
