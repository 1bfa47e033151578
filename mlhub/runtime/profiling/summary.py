# SPDX-License-Identifier: Apache-2.0
"""What a trace says in short: the dearest operators, and what a step consists of. Standard library only.

An operator's own time is its duration without that of what it called, on the same thread. Device time is that of
kernels and copies, and counts for the operator that launched them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlhub.runtime.profiling.trace_events import DEVICE, HOST, TraceEvents
from mlhub.wire.profiles import MAX_NAME, MAX_OPERATORS, PARTS

STEP = "ProfilerStep#"
READING = ("enumerate(DataLoader)",)
EXCHANGING = ("c10d::", "gloo:", "nccl:", "mpi:", "record_param_comms")


@dataclass
class OperatorCost:
    """Of all calls together; seconds and bytes."""

    calls: int = 0
    self_cpu_s: float = 0.0
    cpu_s: float = 0.0
    device_s: float = 0.0
    self_memory_bytes: int = 0


@dataclass
class TraceSummary:
    """seconds: of all steps together, by part, as far as the trace has it."""

    operators: dict[str, OperatorCost]
    seconds: dict[str, float]

    def to_dict(self, *, seconds: Mapping[str, float], n_events: int, n_left_out: int) -> dict[str, Any]:
        """seconds: by part, as the trainer measured it; empty where only the trace has them."""
        dearest = sorted(self.operators.items(), key=lambda item: -(item[1].self_cpu_s + item[1].device_s))
        return {
            "step_s": {part: (seconds or self.seconds).get(part, 0.0) for part in PARTS},
            "operators": [_shown(name, cost) for name, cost in dearest[:MAX_OPERATORS]],
            "n_operators": len(dearest),
            "n_events": n_events,
            "n_left_out": n_left_out,
        }


def summarise(events: TraceEvents) -> TraceSummary:
    host = {number for number, text in enumerate(events.categories.texts) if text in HOST}
    device = {number for number, text in enumerate(events.categories.texts) if text in DEVICE}
    costs: dict[int, OperatorCost] = {}
    of_link: dict[int, OperatorCost] = {}
    of_track: dict[int, list[tuple[float, float, int]]] = {}
    for index, category in enumerate(events.category):
        if category in host:
            key = (events.begin[index], -events.duration[index], index)
            of_track.setdefault(events.track[index], []).append(key)
    for index, (track, moment) in enumerate(zip(events.memory_track, events.memory_at, strict=True)):
        of_track.setdefault(track, []).append((moment, 0.0, ~index))  # after what began at the same moment
    seconds = dict.fromkeys(PARTS, 0.0)
    for keys in of_track.values():
        _walk(events, sorted(keys), costs, of_link, seconds)
    for index, category in enumerate(events.category):
        if category in device and (cost := of_link.get(events.link[index])) is not None:
            cost.device_s += events.duration[index] / 1e6
    operators: dict[str, OperatorCost] = {}
    for number, cost in costs.items():
        if not (name := events.names.texts[number]).startswith(STEP):
            operators[name] = cost
    return TraceSummary(operators, seconds)


def _walk(
    events: TraceEvents,
    keys: list[tuple[float, float, int]],
    costs: dict[int, OperatorCost],
    of_link: dict[int, OperatorCost],
    seconds: dict[str, float],
) -> None:
    """Goes through one thread's events by their beginnings; what is open is on a stack."""
    stack: list[tuple[float, OperatorCost, int]] = []
    within, step_s = 0.0, 0.0  # the end of the outermost reading or exchange
    for begin, negative, index in keys:
        while stack and stack[-1][0] <= begin and not (index < 0 and stack[-1][0] == begin):
            stack.pop()
        if index < 0:
            if stack:
                stack[-1][1].self_memory_bytes += events.memory_bytes[~index]
            continue
        duration_s, number = -negative / 1e6, events.name[index]
        cost = costs.setdefault(number, OperatorCost())
        cost.calls += not stack or stack[-1][2] != number  # torch wraps some operators in one of the same name
        cost.self_cpu_s += duration_s
        if all(open_number != number for _, _, open_number in stack):  # of recursion, the outermost counts
            cost.cpu_s += duration_s
        if stack:
            stack[-1][1].self_cpu_s -= duration_s
        if events.link[index] >= 0:
            of_link[events.link[index]] = cost
        end = begin - negative
        stack.append((end, cost, number))
        name = events.names.texts[number]
        if name.startswith(STEP):
            step_s += duration_s
        elif begin >= within and (name.startswith(READING) or name.startswith(EXCHANGING)):
            within = end
            seconds["input" if name.startswith(READING) else "sync"] += duration_s
    if step_s:
        seconds["compute"] += max(0.0, step_s - seconds["input"] - seconds["sync"])


def _shown(name: str, cost: OperatorCost) -> dict[str, Any]:
    text = name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"
    times = {field: float(f"{max(0.0, getattr(cost, field)):.6g}") for field in ("self_cpu_s", "cpu_s", "device_s")}
    return {"name": text, "calls": cost.calls, **times, "self_memory_bytes": cost.self_memory_bytes}
