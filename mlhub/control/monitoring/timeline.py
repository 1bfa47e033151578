# SPDX-License-Identifier: Apache-2.0
"""The cluster's timeline: which job held which GPUs when, and what is predicted of those that run or wait.

An answer has a bounded size: what is shorter than a pixel is merged, and nodes come page by page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery

from mlhub.clusters.models import Node
from mlhub.control.models import JobDecision
from mlhub.jobs.models import Allocation, Attempt, Checkpoint, Job
from mlhub.tenants.models import User

WINDOWS = {
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "1d": timedelta(days=1),
    "7d": timedelta(days=7),
}
FUTURE = 0.25  # of the window, where its end is not given
N_PIXELS = 300  # of the window: bars and gaps that are shorter are merged
MOST_NODES = 64  # of a page
MOST_BYTES = 160_000  # of a page's nodes and jobs, as estimated; the limit of an answer is 200 kB
BYTES_OF_BAR, BYTES_OF_MARK, BYTES_OF_JOB, BYTES_OF_NODE = 130, 75, 190, 200  # as JSON; of a job without its names
MOST_WAITING = 50
MOST_CHECKPOINTS = 5000  # that are read for a page


@dataclass(frozen=True)
class TimelineBar:
    """A stretch on GPUs first_gpu to first_gpu + n_gpus - 1. Times in seconds since the window's beginning.

    p50_s, p90_s: predicted ends of a running attempt. owner: whose bars may be merged. n: attempts in it.
    """

    first_gpu: int
    n_gpus: int
    since_s: float
    until_s: float
    owner: str
    job: UUID | None
    p50_s: float | None = None
    p90_s: float | None = None
    n: int = 1


@dataclass(frozen=True)
class TimelineMark:
    """Something that happened to the job on that GPU: preempted, resized, failed or checkpoint."""

    kind: str
    gpu: int
    at_s: float
    job: UUID | None


@dataclass
class TimelineNode:
    name: str
    gpu_type: str
    n_gpus: int
    bars: list[TimelineBar] = field(default_factory=list)
    marks: list[TimelineMark] = field(default_factory=list)

    @property
    def jobs(self) -> set[UUID]:
        """The jobs that it names."""
        named = [bar.job for bar in self.bars] + [mark.job for mark in self.marks]
        return {job for job in named if job is not None}


@dataclass(frozen=True)
class TimelineWindow:
    since: datetime
    until: datetime
    now: datetime

    def seconds(self, at: datetime) -> float:
        return round((at - self.since).total_seconds(), 1)

    @property
    def length_s(self) -> float:
        return (self.until - self.since).total_seconds()

    @property
    def pixel_s(self) -> float:
        return self.length_s / N_PIXELS


def window_of(name: str, *, until: datetime | None, now: datetime) -> TimelineWindow:
    """The window that ends then; without an end, a quarter of it lies ahead."""
    length = WINDOWS[name]
    end = until or now + FUTURE * length
    return TimelineWindow(end - length, end, now)


def timeline_as_seen_by(user: User, window: TimelineWindow, *, after: str = "") -> dict[str, Any]:
    """Returns a page of nodes in the order of their names. Jobs that the user may not see are bars without a name."""
    names = _node_names(window)
    chosen = [name for name in names if name > after][:MOST_NODES]
    rows = list(_allocations(window).filter(node__in=chosen))
    n_waiting, waiting = (0, []) if after else _waiting(user, window)
    jobs = _jobs_seen(user, {row["attempt__job_id"] for row in rows} | {one["job"] for one in waiting})
    waiting = [one for one in waiting if one["job"] in jobs]  # unless it was deleted meanwhile
    marks = _marks(window, rows)
    by_node: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_node[row["node"]].append(row)
    known = {node.name: node for node in Node.objects.filter(name__in=chosen)}
    shown, used = list[TimelineNode](), {one["job"] for one in waiting}
    n_bytes = sum(_job_bytes(jobs[job]) for job in used)
    for name in chosen:
        node = _fitted(_node(name, known.get(name), by_node[name], window, jobs, marks), window, jobs)
        n_bytes += _node_bytes(node, jobs, used)
        if shown and n_bytes > MOST_BYTES:
            break
        shown.append(node)
        used |= node.jobs
    last = shown[-1].name if shown else ""
    order = {job: place for place, job in enumerate(sorted(used))}
    return {
        "since": window.since,
        "until": window.until,
        "now": window.now,
        "next_after": last if shown and last != names[-1] else None,
        "nodes": [_with_places(node, order) for node in shown],
        "waiting": [{**one, "job": order[one["job"]]} for one in waiting],
        "n_waiting": n_waiting,
        "jobs": [jobs[job] for job in order],
    }


def _jobs_seen(user: User, ids: set[UUID]) -> dict[UUID, dict[str, Any]]:
    """With when each was submitted, and when its first attempt got GPUs: it waited from one to the other."""
    first = Attempt.objects.filter(job=OuterRef("pk"), number=1)
    rows = Job.objects.visible_to(user).filter(id__in=ids).annotate(allocated_at=Subquery(first.values("created_at")))
    columns = ("id", "name", "project__organisation__name", "submitted_at", "allocated_at")
    keys = ("id", "name", "organisation", "submitted_at", "allocated_at")
    return {row[0]: dict(zip(keys, row, strict=True)) for row in rows.values_list(*columns)}


def _with_places(node: TimelineNode, order: Mapping[UUID, int]) -> dict[str, Any]:
    """With the places of jobs in the answer's list: an id at each bar would double the answer."""

    def placed(one: TimelineBar | TimelineMark) -> dict[str, Any]:
        return {**vars(one), "job": None if one.job is None else order[one.job]}

    return {**vars(node), "bars": [placed(bar) for bar in node.bars], "marks": [placed(mark) for mark in node.marks]}


def _fitted(node: TimelineNode, window: TimelineWindow, jobs: Mapping[UUID, Mapping[str, Any]]) -> TimelineNode:
    """The node with what is shorter than a pixel merged; with larger and larger pixels until it fits a page."""
    pixel_s = window.pixel_s
    while True:
        bars = merged(node.bars, pixel_s=pixel_s)
        marks = {(mark.kind, mark.gpu, mark.at_s // pixel_s): mark for mark in node.marks}
        found = replace(node, bars=bars, marks=list(marks.values()))
        if pixel_s > window.length_s or _node_bytes(found, jobs, set()) <= MOST_BYTES:
            return found
        pixel_s *= 2


def _node_bytes(node: TimelineNode, jobs: Mapping[UUID, Mapping[str, Any]], used: set[UUID]) -> int:
    rows = BYTES_OF_BAR * len(node.bars) + BYTES_OF_MARK * len(node.marks)
    return BYTES_OF_NODE + rows + sum(_job_bytes(jobs[job]) for job in node.jobs - used)


def _job_bytes(job: Mapping[str, Any]) -> int:
    return BYTES_OF_JOB + len(job["name"].encode()) + len(job["organisation"].encode())


def merged(bars: Iterable[TimelineBar], *, pixel_s: float) -> list[TimelineBar]:
    """Joins bars of one owner on the same GPUs that are shorter than a pixel and follow each other within one."""
    lanes: dict[tuple[int, int, str], list[TimelineBar]] = defaultdict(list)
    for bar in sorted(bars, key=lambda bar: (bar.since_s, bar.until_s)):
        lane = lanes[bar.first_gpu, bar.n_gpus, bar.owner]
        before = lane[-1] if lane else None
        if before is not None and _is_joined(before, bar, pixel_s):
            job = before.job if before.job == bar.job else None
            lane[-1] = replace(before, until_s=max(before.until_s, bar.until_s), job=job, n=before.n + bar.n)
        else:
            lane.append(bar)
    return sorted((bar for lane in lanes.values() for bar in lane), key=lambda bar: (bar.first_gpu, bar.since_s))


def _is_joined(before: TimelineBar, bar: TimelineBar, pixel_s: float) -> bool:
    """A bar that goes on into the future stays by itself."""
    is_short = bar.until_s - bar.since_s < pixel_s and (before.n > 1 or before.until_s - before.since_s < pixel_s)
    return is_short and bar.since_s - before.until_s < pixel_s and bar.p50_s is None and before.p50_s is None


def _node_names(window: TimelineWindow) -> list[str]:
    """Of all nodes that are there, and those that are gone and held something in the window."""
    gone = Allocation.objects.filter(_in_window(window)).order_by().values_list("node", flat=True).distinct()
    return sorted({*Node.objects.values_list("name", flat=True), *gone})


def _in_window(window: TimelineWindow) -> Q:
    is_past = Q(attempt__ended_at=None) | Q(attempt__ended_at__gt=window.since)
    return (Q(released_at=None) | Q(released_at__gt=window.since)) & is_past & Q(attempt__created_at__lt=window.until)


def _allocations(window: TimelineWindow) -> QuerySet[Allocation, Any]:
    rows = Allocation.objects.filter(_in_window(window)).order_by("node", "attempt__created_at", "id")
    return rows.values(
        "node", "slots", "attempt_id", "attempt__job_id", "attempt__created_at", "attempt__ended_at",
        "attempt__outcome", "attempt__job__project__organisation_id", "attempt__job__predicted_finish_at",
        "attempt__job__predicted_finish_p90_at",
    )  # fmt: skip


def _node(
    name: str,
    known: Node | None,
    rows: Sequence[Mapping[str, Any]],
    window: TimelineWindow,
    jobs: Mapping[UUID, Any],
    marks: Mapping[UUID, Sequence[tuple[str, datetime]]],
) -> TimelineNode:
    highest = max((slot + 1 for row in rows for slot in row["slots"]), default=0)
    node = TimelineNode(name, known.gpu_type if known else "", max(known.n_slots if known else 0, highest))
    for row in rows:
        job = row["attempt__job_id"] if row["attempt__job_id"] in jobs else None
        runs = _runs(row["slots"])
        node.bars += [_bar(run, row, window, job) for run in runs]
        if runs:
            found = marks.get(row["attempt_id"], ())
            node.marks += [TimelineMark(kind, runs[0][0], window.seconds(at), job) for kind, at in found]
    return node


def _runs(slots: Iterable[int]) -> list[tuple[int, int]]:
    """GPUs that follow each other: (the first one, how many)."""
    found: list[tuple[int, int]] = []
    for slot in sorted(slots):
        if found and sum(found[-1]) == slot:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((slot, 1))
    return found


def _bar(run: tuple[int, int], row: Mapping[str, Any], window: TimelineWindow, job: UUID | None) -> TimelineBar:
    ended_at = row["attempt__ended_at"]
    until = min(ended_at or window.now, window.until)
    p50, p90 = row["attempt__job__predicted_finish_at"], row["attempt__job__predicted_finish_p90_at"]
    runs = ended_at is None and window.now < window.until
    return TimelineBar(
        *run,
        since_s=max(0.0, window.seconds(row["attempt__created_at"])),
        until_s=window.seconds(until),
        owner=str(row["attempt__job__project__organisation_id"]) if job else "",
        job=job,
        p50_s=_clipped(p50, window) if runs else None,
        p90_s=_clipped(p90, window) if runs else None,
    )


def _clipped(at: datetime | None, window: TimelineWindow) -> float | None:
    return None if at is None else min(window.seconds(max(at, window.now)), window.length_s)


def _marks(window: TimelineWindow, rows: Sequence[Mapping[str, Any]]) -> dict[UUID, list[tuple[str, datetime]]]:
    """By attempt: how it ended, where that was no ordinary end, and its checkpoints, at most one a pixel."""
    found: dict[UUID, list[tuple[str, datetime]]] = defaultdict(list)
    jobs = {row["attempt__job_id"] for row in rows}
    decided: dict[UUID, list[tuple[datetime, str]]] = defaultdict(list)
    decisions = JobDecision.objects.filter(job__in=jobs, decision__in=["preempt", "resize"], at__lt=window.until)
    for job, at, decision in decisions.filter(at__gt=window.since).order_by("at").values_list("job", "at", "decision"):
        decided[job].append((at, decision))
    for attempt in {row["attempt_id"]: row for row in rows}.values():
        ended_at = attempt["attempt__ended_at"]
        if ended_at is None or ended_at > window.until:
            continue
        if attempt["attempt__outcome"] == "failed":
            found[attempt["attempt_id"]].append(("failed", ended_at))
        since = attempt["attempt__created_at"]
        last = [kind for at, kind in decided[attempt["attempt__job_id"]] if since <= at <= ended_at][-1:]
        found[attempt["attempt_id"]] += [("preempted" if kind == "preempt" else "resized", ended_at) for kind in last]
    for attempt_id, at in _checkpoints(window, {row["attempt_id"] for row in rows}):
        found[attempt_id].append(("checkpoint", at))
    return found


def _checkpoints(window: TimelineWindow, attempts: set[UUID]) -> list[tuple[UUID, datetime]]:
    rows = Checkpoint.objects.filter(attempt__in=attempts, at__gt=window.since, at__lt=window.until)
    found, seen = [], set[tuple[UUID, int]]()
    for attempt_id, at in rows.order_by("-at").values_list("attempt_id", "at")[:MOST_CHECKPOINTS]:
        place = (attempt_id, int(window.seconds(at) / (4 * window.pixel_s)))
        if place not in seen:
            seen.add(place)
            found.append((attempt_id, at))
    return found


def _waiting(user: User, window: TimelineWindow) -> tuple[int, list[dict[str, Any]]]:
    """How many queued jobs of the caller are predicted to start in the window, and the first ones."""
    if window.until <= window.now:
        return 0, []
    rows = Job.objects.visible_to(user).queued().filter(predicted_start_at__lt=window.until)
    columns = (
        "id", "predicted_start_at", "predicted_start_p90_at", "predicted_finish_at", "predicted_finish_p90_at"
    )  # fmt: skip
    found = [
        {
            "job": job,
            "start_p50_s": _clipped(start, window),
            "start_p90_s": _clipped(start_p90, window),
            "finish_p50_s": _clipped(finish, window),
            "finish_p90_s": _clipped(finish_p90, window),
        }
        for job, start, start_p90, finish, finish_p90 in rows.order_by("predicted_start_at", "id").values_list(
            *columns
        )[:MOST_WAITING]
    ]
    return (len(found) if len(found) < MOST_WAITING else rows.count()), found
