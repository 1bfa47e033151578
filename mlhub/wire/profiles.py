# SPDX-License-Identifier: Apache-2.0
"""Recording torch's profiler in pods that run: how the request travels down, and what comes back.

The answer to the lines of a pod (mlhub/wire/report.py) has "profile" while it is to be recorded:
    {"id": "0199...", "steps": 5, "ranks": [0, 2], "first_step": 1200, "servers": [0]}
Workers record torch's profiler; parameter servers what their threads do, and a step of theirs is an update of the
weights. "servers" is absent where none is to be recorded.
A pod that understands this says so in each request: X-MLHub-Abilities: profile.
It reports phases "profile" with "recording" (the id) and a "state": "recording" once it has begun, then "failed" with a
"reason", or "done" with "first_step", "n_steps", a "note" and a "summary". Before "done" it uploads the trace, as an
artifact of the name trace_name(): Chrome trace events as JSON, in gzip.
A summary has "step_s" with the seconds of all recorded steps together by part (PARTS), "operators" (the dearest, each
with the fields of OPERATOR), "n_operators", "n_events" of the trace, and "n_left_out" that were too short to be in it.
Standard library only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

PHASE = "profile"
ABILITIES, ABILITY = "X-MLHub-Abilities", "profile"
MAX_STEPS = 50
MAX_RANKS = 8  # pods of a recording
WORKER, SERVER = "worker", "server"  # roles of pods
MAX_EVENTS = 200_000  # of a trace: the longest stay
MAX_TRACE_BYTES = 32 * 2**20  # in gzip
MAX_OPERATORS = 40
MAX_NAME = 120  # characters of an operator's name
MAX_TEXT = 500  # characters of a reason or a note
PARTS = ("input", "compute", "sync", "wait")
OPERATOR = ("calls", "self_cpu_s", "cpu_s", "device_s", "self_memory_bytes")
POLL_S = 10.0  # a worker that has nothing to send asks at least so often, and more seldom in large gangs
POLL_S_PER_POD = 0.25
_LARGEST = 2.0**53
_TRACE = re.compile(r"profiles/[0-9a-f-]{36}/(worker|server)-\d{1,6}\.json\.gz")


@dataclass(frozen=True)
class ProfileRequest:
    """Record `steps` steps, from the first one on that is not before first_step; None: from the next one on.

    ranks: of workers; servers: by their index.
    """

    id: str
    steps: int
    ranks: tuple[int, ...]
    first_step: int | None = None
    servers: tuple[int, ...] = ()

    def names(self, role: str, index: int) -> bool:
        """Whether this pod is to be recorded."""
        return index in {WORKER: self.ranks, SERVER: self.servers}.get(role, ())

    def to_dict(self) -> dict[str, Any]:
        found = {**asdict(self), "ranks": list(self.ranks), "servers": list(self.servers)}
        return found if self.servers else {name: value for name, value in found.items() if name != "servers"}

    @classmethod
    def from_json(cls, raw: Any) -> ProfileRequest:
        """Raises ValueError for what is no request."""
        if not isinstance(raw, dict):
            raise ValueError(f"not a request for a profile: {raw!r}")
        steps, first = raw.get("steps"), raw.get("first_step")
        ranks, servers = _indices(raw.get("ranks"), "ranks"), _indices(raw.get("servers", []), "servers")
        if not isinstance(raw.get("id"), str) or not re.fullmatch(r"[0-9a-f-]{36}", raw["id"]):
            raise ValueError(f"id is {raw.get('id')!r}")
        if type(steps) is not int or not 1 <= steps <= MAX_STEPS:
            raise ValueError(f"steps is {steps!r}; it must be 1 to {MAX_STEPS}")
        if first is not None and type(first) is not int:
            raise ValueError(f"first_step is {first!r}; it must be an integer")
        return cls(raw["id"], steps, ranks, first, servers)


def _indices(raw: Any, name: str) -> tuple[int, ...]:
    if not isinstance(raw, list) or not all(type(index) is int for index in raw):
        raise ValueError(f"{name} is {raw!r}; it must be a list of integers")
    return tuple(raw)


def poll_s(n_pods: int) -> float:
    """Within so many seconds each pod of a gang hears of a request."""
    return max(POLL_S, n_pods * POLL_S_PER_POD)


def trace_name(recording_id: str, rank: int, role: str = WORKER) -> str:
    """The name of the artifact that is the trace of a worker, or of a server."""
    return f"profiles/{recording_id}/{role}-{rank}.json.gz"


def is_trace(name: str) -> bool:
    return _TRACE.fullmatch(name) is not None


def checked_summary(raw: Any) -> dict[str, Any]:
    """The summary with what is known here and can be true. Raises ValueError naming what is wrong."""
    if not isinstance(raw, Mapping):
        raise ValueError("the summary is no object")
    operators, parts = raw.get("operators"), raw.get("step_s")
    if not isinstance(operators, list) or len(operators) > MAX_OPERATORS:
        raise ValueError(f"operators must be a list of at most {MAX_OPERATORS}")
    if not isinstance(parts, Mapping):
        raise ValueError("step_s must be an object")
    return {
        "step_s": {part: _number(parts.get(part, 0), f"step_s.{part}") for part in PARTS},
        "operators": [_operator(one) for one in operators],
        **{name: int(_number(raw.get(name, 0), name)) for name in ("n_operators", "n_events", "n_left_out")},
    }


def _operator(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str):
        raise ValueError("an operator is an object with a name")
    is_signed = {"self_memory_bytes"}  # what is freed counts against it
    values = {field: _number(raw.get(field, 0), field, is_signed=field in is_signed) for field in OPERATOR}
    whole = {field: int(values[field]) for field in ("calls", "self_memory_bytes")}
    return {"name": raw["name"][:MAX_NAME], **values, **whole}


def _number(value: Any, field: str, *, is_signed: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{field} must be a finite number")
    if not (-_LARGEST if is_signed else 0) <= value <= _LARGEST:
        raise ValueError(f"{field} is {value:g}, which cannot be true")
    return float(value)
