# SPDX-License-Identifier: Apache-2.0
"""Carries requests for a recording to the trainer, and its trace to the platform. Standard library only.

The trace is read here, in a process of its own, so that the training does not wait for it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlhub.runtime.pod import Pod
from mlhub.runtime.profiling.files import RecordingFiles, RecordingNotes
from mlhub.runtime.profiling.trace_file import reduce_trace
from mlhub.runtime.reporting import Reporter
from mlhub.wire.profiles import MAX_TEXT, MAX_TRACE_BYTES, PHASE, ProfileRequest, trace_name

PERIOD_S = 0.25
MAX_RAW_BYTES = 2**31


class TraceRefusedError(Exception):
    """The platform does not take a trace, for the reason in the message."""


TraceUpload = Callable[[str, Path, str], None]  # of a name, a file and its SHA-256; raises TraceRefusedError


class ProfileCourier:
    """One for a pod. receive() may be called from any thread, for as long as the request stands."""

    def __init__(self, pod: Pod, reporter: Reporter, *, upload: TraceUpload) -> None:
        self._pod, self._reporter, self._upload = pod, reporter, upload
        self._lock = threading.Lock()
        self._files = RecordingFiles(pod)
        self._known: set[str] = set()
        self._threads: list[threading.Thread] = []
        self._has_ended = threading.Event()

    def receive(self, raw: Any) -> None:
        """Hands a request to the trainer, once. What this version does not understand is passed over."""
        try:
            request = ProfileRequest.from_json(raw)
        except ValueError:
            return
        if request.id in self._known or self._has_ended.is_set():
            return
        self._known.add(request.id)
        try:
            self._files.write_request(request)
        except OSError as error:
            self._fail(request.id, f"The pod could not write the request: {error}")
            return
        thread = threading.Thread(target=self._follow, args=(request.id,), name="profile-courier", daemon=True)
        with self._lock:
            thread.start()
            self._threads.append(thread)

    def end(self, *, timeout_s: float) -> None:
        """The trainer has ended: sends what it left, waits so long for that, and passes over what is not there."""
        self._has_ended.set()
        until = time.monotonic() + timeout_s
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _follow(self, recording_id: str) -> None:
        has_begun = False
        while True:
            is_last = self._has_ended.is_set()
            if not has_begun and self._files.has_begun(recording_id):
                has_begun = True
                self._reporter.phase(PHASE, recording=recording_id, state="recording")
            try:
                notes = self._files.read_notes(recording_id)
            except (OSError, ValueError) as error:
                self._fail(recording_id, f"The trainer left notes that cannot be read: {error}")
                return
            if notes is not None:
                self._hand_in(notes)
                self._files.remove(recording_id)
                return
            if is_last:
                return
            self._has_ended.wait(PERIOD_S)

    def _hand_in(self, notes: RecordingNotes) -> None:
        if notes.reason:
            self._fail(notes.id, notes.reason)
            return
        raw = self._files.trace(notes.id)
        reduced = raw.with_suffix(".gz")
        try:
            if raw.is_symlink() or raw.stat().st_size > MAX_RAW_BYTES:
                raise ValueError(f"it has more than {MAX_RAW_BYTES:,} bytes")
            summary = reduce_trace(raw, reduced, notes)
            size_bytes = reduced.stat().st_size
            if size_bytes > MAX_TRACE_BYTES:
                raise ValueError(f"it has {size_bytes:,} bytes; record fewer steps")
            with reduced.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            self._upload(trace_name(notes.id, self._pod.spec.index, self._pod.spec.role), reduced, sha256)
        except TraceRefusedError as error:
            self._fail(notes.id, str(error))
            return
        except (OSError, ValueError, RecursionError) as error:
            self._fail(notes.id, f"The trace could not be used: {error}")
            return
        self._reporter.phase(
            PHASE, recording=notes.id, state="done", first_step=notes.first_step, n_steps=notes.n_steps,
            note=notes.note[:MAX_TEXT], summary=summary,
        )  # fmt: skip

    def _fail(self, recording_id: str, reason: str) -> None:
        self._reporter.phase(PHASE, recording=recording_id, state="failed", reason=reason[:MAX_TEXT])
