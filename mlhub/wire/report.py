# SPDX-License-Identifier: Apache-2.0
"""What a pod reports: lines of two append-only streams, each line numbered, so that a repeat is recognised and dropped.

POST {api}/api/v1/ingest/attempts/{attempt_id}/reports   Authorization: Bearer <attempt token>
    {"version": 1, "role": "worker", "index": 0, "stream": "reports" | "log" | "usage",
     "first": 41, "lines": [...]}
answers 200 {"next": 57}: the sequence number the server wants next (everything below it is stored for good).
To worker 0 of a training whose batch the scheduler decides, the answer to "reports" has "batch", too: the newest
decision, {"batch_size": 256, "noise_scale": 900.0, "reason": "..."} (mlhub/wire/launch.py), which the trainer follows
at the next epoch or checkpoint.
To a worker of which a profile is wanted, it has "profile", too (mlhub/wire/profiles.py).
A `first` above the server's `next` is answered 409 with the same body: send again from there.
410 Gone = the attempt is fenced (a later one runs, or the job has ended): stop, exit REPORT_REFUSED.
401/403/422 are final too; 429, 5xx and connection errors are retried for ever with back-off, from the disk buffer.

A line of "log" is a string (one output line without its newline, at most 8192 characters).
A line of "reports" is one of the objects below, recognised by "type".
A line of "usage" says what the pod used of its machine (mlhub/wire/resource_usage.py); a pod whose samples are
refused goes on without them.
PUT {api}/api/v1/ingest/attempts/{id}/artifacts/{name} uploads a result file (header X-Content-SHA256: hex),
idempotent by hash, and answers 201 or 200. A script's own files are called output/<path below its output folder>,
traces profiles/<recording>/worker-<rank>.json.gz.
POST {api}/api/v1/ingest/attempts/{id}/deleted-inputs {"sha256s": [...]} answers 200 {"sha256s": [...]}: those that the
attempt's project no longer refers to.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from mlhub.wire.measurements import MEASUREMENTS

REPORTS = "reports"
LOG = "log"
USAGE = "usage"
MAX_LOG_LINE = 8192
MAX_BATCH_LINES = 1000
ARTIFACT_FOLDER = "output"  # first part of the names of files that a script left
MAX_CHECKPOINTS = 1000  # of a job
MAX_CACHED_INPUTS = 5000  # that a pod asks about
MAX_ARTIFACTS = 1000  # of an attempt
MAX_ARTIFACT_NAME = 200  # characters
MAX_VALUES = 500  # of one report
MAX_CHECKPOINT_VALUES = 50  # of the report of a checkpoint
MAX_NAME = 250
MAX_STEP = 2**53  # a report of a later one is refused
NOTEBOOK_PHASE = (
    "notebook"  # of a PhaseReport: the server answers, and for detail["idle_s"] nothing has been done in it
)
STEP_TIMES_PHASE = "step_times"  # of a PhaseReport
INPUTS_PHASE = "inputs"  # of a PhaseReport
MAX_INPUTS = 100  # of one PhaseReport
STEP_TIMES = ("step_s", "input_s", "compute_s", "sync_s", "wait_s")  # what its detail has, besides step and n_steps
METRIC_NAME = re.compile(rf"[A-Za-z0-9_./-]{{1,{MAX_NAME}}}")
MAX_STALENESS = 64  # counted one by one; staler ones together


@dataclass(frozen=True)
class MetricReport:
    """Values at one optimiser step. at: seconds since the epoch, on the pod's clock.

    Keys: [A-Za-z0-9_./-], at most 250 characters. A value that is NaN or infinite is left out.
    """

    type: ClassVar[str] = "metrics"
    step: int
    epoch: float
    at: float
    values: dict[str, float]


@dataclass(frozen=True)
class ProgressReport:
    """How far training is, and how fast: what the scheduler learns from. Sent at least every 2 s by rank 0.

    steps_done and steps_total count optimiser steps of the global batch. step_s is the mean of the steps since the
    last report, split into its parts (seconds): input, compute and sync add up to step_s within rounding; wait_s is the
    part of sync_s that went by before anything of the others' came.
    measured: further values of rank 0 by the names of wire/measurements.py; what is absent was not measured.
    """

    type: ClassVar[str] = "progress"
    at: float
    steps_done: int
    steps_total: int
    epoch: float
    n_workers: int
    n_servers: int
    batch_size: int
    step_s: float
    compute_s: float
    sync_s: float
    input_s: float
    parameters_bytes: int = 0
    wait_s: float = 0.0
    measured: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StalenessReport:
    """A parameter server's, every few seconds while they change: how old pushes were when they were used.

    counts[s]: pushes of this attempt that were used s versions after the one they were computed on; the last number
    holds all that were staler. n_discarded: pushes that came too late to be used at all.
    """

    type: ClassVar[str] = "staleness"
    at: float
    counts: list[int]
    n_discarded: int = 0


@dataclass(frozen=True)
class CheckpointReport:
    """A complete checkpoint: its name under checkpoint_uri, seconds it took, seconds that training was stalled.

    present: the names of all checkpoints that are there now, this one among them; those of the job that are not are
    gone. Empty: nothing is said of others.
    metrics: of the evaluation of these weights, where they are kept for being among the best.
    """

    type: ClassVar[str] = "checkpoint"
    at: float
    step: int
    name: str
    size_bytes: int
    write_s: float
    stall_s: float
    present: list[str] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PhaseReport:
    """A mark in the pod's life: pod_started, inputs_ready, imported, prepared, gang_ready, resumed, training,
    first_step, evaluating, saving, done. Those of its start are what /jobs/{id}/startup is made of.

    stalled and moving: a worker's, reported by its launcher: it has made no step since `step` for `still_s` seconds,
    `doing` "input", "compute" or "sync" (waiting for others); and it goes on.
    batch_changed: from step `step` on a step has `batch_size` examples instead of `was`, and with it a
    `learning_rate_factor` and a `reason`.
    step_times: every worker's, where there are several: of what its own last n_steps steps up to `step` were made, in
    seconds a step (STEP_TIMES; the parts as in ProgressReport). A phase, since platforms of 0.2.0 pass over those that
    they do not know, and would refuse another type.
    inputs: every pod's, before inputs_ready: of each input that is not read in place its `sha256`, whether it
    `is_found` in the cache of the pod's machine, and the `seconds` until it was there; MAX_INPUTS at most in a report.
    server_returned: a parameter server's, which died by `signal` and was replaced alone, `away_s` seconds later; of its
    shard the last `updates_lost` versions are gone, of `lost_s` seconds. returns: how often that has happened.
    """

    type: ClassVar[str] = "phase"
    at: float
    phase: str
    since_start_s: float
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FailureReport:
    """Why the pod is about to exit badly. cause: a mlhub.wire.exits.Cause; traceback: its last 16,000 characters."""

    type: ClassVar[str] = "failure"
    at: float
    cause: str
    message: str
    traceback: str = ""


@dataclass(frozen=True)
class ResultReport:
    """Training ended well: final metrics on held-out examples, and the uploaded artifacts (name -> sha256)."""

    type: ClassVar[str] = "result"
    at: float
    steps: int
    metrics: dict[str, float]
    artifacts: dict[str, str] = field(default_factory=dict)


Report = MetricReport | ProgressReport | StalenessReport | CheckpointReport | PhaseReport | FailureReport | ResultReport
_TYPES: dict[str, type[Any]] = {
    kind.type: kind
    for kind in (
        MetricReport, ProgressReport, StalenessReport, CheckpointReport, PhaseReport, FailureReport, ResultReport,
    )
}  # fmt: skip


def is_output(name: str) -> bool:
    """Whether the name of an artifact is that of a file that a script left: a path below output/, without detours."""
    first, *parts = name.split("/")
    is_path = bool(parts) and all(part not in ("", ".", "..") and part.isprintable() for part in parts)
    return first == ARTIFACT_FOLDER and is_path and "\\" not in name and len(name) <= MAX_ARTIFACT_NAME


def metric_name(text: str) -> str:
    """The text as a name that METRIC_NAME matches: each run of other characters becomes one "_"."""
    return re.sub(r"[^A-Za-z0-9_./-]+", "_", text)[:MAX_NAME] or "_"


def to_dict(report: Report) -> dict[str, Any]:
    return {"type": report.type, **asdict(report)}


def from_dict(raw: dict[str, Any]) -> Report:
    """Raises ValueError naming what is wrong; values are type-checked by the ingest serializer, not here.

    Pods of 0.2.0, which run on while a platform is upgraded, send measurements among the other fields. What newer pods
    measure besides is in `measured`, where names that are unknown here are left out.
    """
    found = dict(raw)
    name = found.pop("type", None)
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"report type {raw.get('type')!r}; known: {', '.join(sorted(_TYPES))}")
    if kind is ProgressReport and "measured" not in found:
        found["measured"] = {name: found.pop(name) for name in MEASUREMENTS if name in found}
    try:
        report: Report = kind(**found)
    except TypeError as error:
        raise ValueError(f"{raw['type']} report: {error}") from error
    return report


def is_better_when_low(metric: str) -> bool:
    """By the metric's name: losses, errors and perplexities fall, everything else rises."""
    return any(word in metric for word in ("loss", "error", "perplexity", "bits_per"))
