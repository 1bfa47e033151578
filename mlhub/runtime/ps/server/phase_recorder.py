# SPDX-License-Identifier: Apache-2.0
"""Records what the threads of a parameter server do during some updates, as a trace in torch's format.

torch's profiler follows the thread that starts it alone, and a server has one for each connection; so the server times
its own phases. A step of the trace is an update of the weights. It never ends or changes the training.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.pod import Pod
from mlhub.runtime.profiling.files import RecordingFiles, RecordingNotes
from mlhub.runtime.profiling.recorder import LOOK_EVERY_S, MAX_RECORDED_S
from mlhub.runtime.profiling.summary import STEP
from mlhub.runtime.ps.server.phase_timings import PhaseRecording, ServerPhase, Span
from mlhub.runtime.ps.server.shard import Shard
from mlhub.wire.profiles import PARTS, ProfileRequest

PART_OF = {
    ServerPhase.RECEIVE: "sync", ServerPhase.SEND: "sync", ServerPhase.EXCHANGE_ABOVE: "sync",
    ServerPhase.UPDATE: "compute", ServerPhase.WAIT: "wait", ServerPhase.IDLE: "wait",
}  # fmt: skip
COMMON_STEP_S = 60.0  # the step that workers record from is waited for so long: updates may be counted otherwise
UPDATES = 0  # the track of updates; those of threads follow


class ServerRecorder(threading.Thread):
    """Looks for requests a few times a second. is_restarted: requests that are there already were a predecessor's."""

    def __init__(self, pod: Pod, shard: Shard, *, is_restarted: bool = False) -> None:
        super().__init__(name="profile-requests", daemon=True)
        self._index, self._files, self._shard = pod.spec.index, RecordingFiles(pod), shard
        self._is_over = threading.Event()
        self._known = self._requested() if is_restarted else None

    def run(self) -> None:
        while not self._is_over.is_set():
            request = self._requested()
            if request is not None and request != self._known:
                self._known = request
                if self._index in request.servers:
                    self._record(request)
            self._is_over.wait(LOOK_EVERY_S)

    def end(self, *, timeout_s: float = 10.0) -> None:
        """The server ends: a recording that is under way is written with the updates that it has."""
        self._is_over.set()
        self.join(timeout_s)

    def _requested(self) -> ProfileRequest | None:
        try:
            return self._files.read_request()
        except (OSError, ValueError):
            return None

    def _record(self, request: ProfileRequest) -> None:
        timings = self._shard.timings
        try:
            self._shard.wait_started()
            self._files.mark_begun(request.id)
            # after first_step a worker makes one more step to warm up
            from_version = 0 if request.first_step is None else request.first_step + 1 - self._shard.first_step
            recording = timings.begin(request.steps, from_version=from_version)
            self._wait_while_recorded(recording)
            timings.end()
            self._files.write_notes(self._written(request, recording))
        except (OSError, PeerLostError) as error:
            timings.end()
            print(f"mlhub: nothing was recorded: {error}", flush=True)

    def _wait_while_recorded(self, recording: PhaseRecording) -> None:
        begins_by = time.monotonic() + COMMON_STEP_S
        until: float | None = None
        while not recording.is_complete.wait(LOOK_EVERY_S) and not self._is_over.is_set():
            now = time.monotonic()
            if now > begins_by:
                recording.from_version = 0
            if until is None and recording.updated_at:
                until = now + MAX_RECORDED_S
            if until is not None and now > until and len(recording.updated_at) > 1:
                return

    def _written(self, request: ProfileRequest, recording: PhaseRecording) -> RecordingNotes:
        """Writes the trace, and returns how the recording ended."""
        updated_at = list(recording.updated_at)
        n = len(updated_at) - 1
        if n < 1:
            return RecordingNotes(request.id, reason="The server made no update while it was recorded.")
        spans = [
            Span(one.thread, one.worker, one.phase, max(one.began, updated_at[0]), min(one.ended, updated_at[-1]))
            for one in list(recording.spans)
            if one.ended > updated_at[0] and one.began < updated_at[-1]
        ]
        events = [*_labels(spans), *_updates(updated_at), *_events(spans)]
        self._files.trace(request.id).write_text(json.dumps({"traceEvents": events}))
        note = "" if n == request.steps else f"{n} of {request.steps} updates: the server ended, or took long."
        first = self._shard.first_step + recording.first_version
        return RecordingNotes(request.id, "", note, first, n, _seconds(spans))


def _seconds(spans: Sequence[Span]) -> dict[str, float]:
    """By part: means of the threads that serve workers, so that all parts together are the time that passed."""
    workers = {one.worker for one in spans if one.worker is not None}
    found = dict.fromkeys(PARTS, 0.0)
    for one in spans:
        found[PART_OF[one.phase]] += (one.ended - one.began) / max(1, len(workers))
    return found


def _labels(spans: Sequence[Span]) -> Iterator[dict[str, Any]]:
    yield _label(UPDATES, "updates")
    workers = {one.thread: one.worker for one in spans if one.worker is not None}
    for thread in sorted({one.thread for one in spans}):
        yield _label(thread, f"worker {workers[thread]}" if thread in workers else f"thread {thread}")


def _label(thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": "server", "tid": thread, "args": {"name": name}}


def _updates(updated_at: Sequence[float]) -> Iterator[dict[str, Any]]:
    for number, (began, ended) in enumerate(pairwise(updated_at)):
        yield _event(UPDATES, f"{STEP}{number}", began, ended)


def _events(spans: Sequence[Span]) -> Iterator[dict[str, Any]]:
    for one in spans:
        yield _event(one.thread, one.phase, one.began, one.ended)


def _event(thread: int, name: str, began: float, ended: float) -> dict[str, Any]:
    return {
        "ph": "X", "cat": "user_annotation", "name": name, "pid": "server", "tid": thread,
        "ts": began * 1e6, "dur": (ended - began) * 1e6,
    }  # fmt: skip
