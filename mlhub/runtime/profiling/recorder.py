# SPDX-License-Identifier: Apache-2.0
"""Records torch's profiler for some steps of a training, when asked to. It never ends or changes the training.

While nothing is asked for it costs one comparison a step; the file of requests is looked at a few times a second.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.pod import Pod
from mlhub.runtime.profiling.files import RecordingFiles, RecordingNotes
from mlhub.wire.profiles import PARTS, ProfileRequest

if TYPE_CHECKING:
    from torch.profiler import profile

LOOK_EVERY_S = 0.25
# a recording ends at the first step after one of these, so that neither trace nor memory grow without bound
MAX_RECORDED_S = 30.0
MAX_GROWTH_BYTES = 2**29
WRITE_S = 120.0  # that the end of a training waits for a trace to be written
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class StepRecorder:
    """Between any two steps, the thread that trains calls before_step() or after_step(), or both.

    epoch_steps: after how many steps the loop stops for an evaluation, which would not belong into the trace.
    heartbeat: says what the worker does while it is recorded.
    """

    def __init__(self, pod: Pod, *, epoch_steps: int | None = None, heartbeat: Heartbeat | None = None) -> None:
        self._rank, self._files, self._epoch_steps = pod.spec.index, RecordingFiles(pod), epoch_steps
        self._heartbeat = heartbeat
        self._look_at = 0.0
        self._known = ""
        self._request: ProfileRequest | None = None
        self._recording: RunningProfiler | None = None
        self._writer: threading.Thread | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is asked for or recorded any more."""
        return self._recording is None and self._request is None

    def before_step(self, step: int, now: float) -> None:
        """now: on time.perf_counter()."""
        if self._recording is not None or (self._request is None and now < self._look_at):
            return
        if now >= self._look_at:
            self._look_at = now + LOOK_EVERY_S
            self._look()
        if self._request is not None and self._is_time(step, self._request):
            self._begin(step, self._request)

    def after_step(self, *, began: float = 0.0, input_s: float = 0.0, sync_s: float = 0.0, wait_s: float = 0.0) -> None:
        """Counts a step, and ends the recording when it was the last one.

        began: when the step did, on time.perf_counter(); 0 where only the trace has its parts.
        """
        recording = self._recording
        if recording is None:
            return
        parts = {}
        if began:
            seconds, wait_s = time.perf_counter() - max(began, recording.began), min(wait_s, sync_s)
            compute_s = max(0.0, seconds - input_s - sync_s)
            parts = {"input": input_s, "compute": compute_s, "sync": sync_s - wait_s, "wait": wait_s}
        if self._attempt(lambda recording: recording.count(parts)) and recording.is_complete:
            self._end("")

    def end_early(self, why: str) -> None:
        """Ends a recording with the steps that it has. why: a sentence."""
        if self._recording is not None:
            self._end(why)

    def close(self, why: str) -> None:
        """Ends a recording, and waits until it is written."""
        self.end_early(why)
        if self._writer is not None:
            self._writer.join(WRITE_S)

    def _look(self) -> None:
        try:
            found = self._files.read_request()
        except (OSError, ValueError):
            return
        if found is not None and found.id != self._known:
            self._known = found.id
            self._request = found if self._rank in found.ranks else None

    def _is_time(self, step: int, request: ProfileRequest) -> bool:
        """Not so late in an epoch that steps would be missing, unless an epoch is shorter than that."""
        if self._writer is not None and self._writer.is_alive():
            return False
        if request.first_step is not None and step < request.first_step:
            return False
        if self._epoch_steps is None:
            return True
        place = step % self._epoch_steps
        return place == 0 or self._epoch_steps - place > request.steps

    def _begin(self, step: int, request: ProfileRequest) -> None:
        self._request = None
        n_left = None if self._epoch_steps is None else self._epoch_steps - step % self._epoch_steps
        try:
            self._recording = RunningProfiler(request, first_step=step, has_warmup=n_left is None or n_left > 1)
            self._files.mark_begun(request.id)
        except Exception as error:  # whatever torch or a disk may say: the training goes on
            self._recording = None
            self._give_up(request.id, error)
        else:
            self._listen(self._recording.observe)

    def _attempt(self, do: Callable[[RunningProfiler], object]) -> bool:
        """Whether it worked; else the recording is given up."""
        recording = self._recording
        assert recording is not None
        try:
            do(recording)
        except Exception as error:  # as above
            self._recording = None
            self._listen(None)
            self._give_up(recording.id, error)
            return False
        return True

    def _listen(self, listener: Callable[[str], None] | None) -> None:
        if self._heartbeat is not None:
            self._heartbeat.listener = listener

    def _end(self, why: str) -> None:
        """Stops the profiler in this thread, and writes the trace in another one."""
        recording = self._recording
        if recording is None or not self._attempt(RunningProfiler.stop):
            return
        self._recording = None
        self._listen(None)
        notes = recording.notes(why)
        if not notes.n_steps:
            self._attempt_notes(RecordingNotes(recording.id, reason=why or "No step was recorded."))
            return
        self._writer = threading.Thread(target=self._write, args=(recording, notes), name="profile", daemon=True)
        self._writer.start()

    def _write(self, recording: RunningProfiler, notes: RecordingNotes) -> None:
        try:
            recording.profile.export_chrome_trace(str(self._files.trace(recording.id)))
        except Exception as error:  # as above
            self._give_up(recording.id, error)
        else:
            self._attempt_notes(notes)

    def _give_up(self, recording_id: str, error: Exception) -> None:
        reason = f"torch's profiler failed: {type(error).__name__}: {error}"[:400]
        print(f"mlhub: nothing was recorded: {reason}", flush=True)
        self._attempt_notes(RecordingNotes(recording_id, reason=reason))

    def _attempt_notes(self, notes: RecordingNotes) -> None:
        try:
            self._files.write_notes(notes)
        except OSError as error:
            print(f"mlhub: the notes of a recording could not be written: {error}", flush=True)


class RunningProfiler:
    """A profiler that runs. has_warmup: one step more is made before the first that counts, as torch advises."""

    def __init__(self, request: ProfileRequest, *, first_step: int, has_warmup: bool) -> None:
        from torch import profiler

        self.id, self._steps = request.id, request.steps
        self._first_step, self._n_warmup = first_step, int(has_warmup)
        self._n_done = 0
        self._seconds = dict.fromkeys(PARTS, 0.0)
        self._activities: list[tuple[str, float]] = []
        self._resident_bytes = _resident_bytes()
        schedule = profiler.schedule(wait=0, warmup=self._n_warmup, active=request.steps, repeat=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no step to warm up with
            self.profile: profile = profiler.profile(
                activities=profiler.supported_activities(),  # type: ignore[no-untyped-call]
                schedule=schedule,
                profile_memory=True,
                acc_events=False,
            )
            self.profile.start()
        self.began = time.perf_counter()

    @property
    def is_complete(self) -> bool:
        """Whether the newest step was the last one."""
        if self._n_done >= self._steps:
            return True
        if self._n_done < 1:
            return False
        is_long = time.perf_counter() - self.began > MAX_RECORDED_S
        return is_long or _resident_bytes() - self._resident_bytes > MAX_GROWTH_BYTES

    def count(self, parts: dict[str, float]) -> None:
        """Counts a step, which has just ended; what it took, by part."""
        self.profile.step()
        if self._n_warmup:
            self._n_warmup -= 1
            self._first_step += 1
            self._activities.clear()
            self.began = time.perf_counter()
            return
        self._n_done += 1
        for part, seconds in parts.items():
            self._seconds[part] += seconds

    def observe(self, activity: str) -> None:
        """What the worker begins to do."""
        self._activities.append((activity, round((time.perf_counter() - self.began) * 1e6, 1)))

    def stop(self) -> None:
        self.profile.stop()

    def notes(self, why: str) -> RecordingNotes:
        n = self._n_done
        note = "" if n == self._steps else f"{n} of {self._steps} steps: {why or 'the trace became large.'}"
        seconds = self._seconds if any(self._seconds.values()) else {}
        return RecordingNotes(self.id, "", note, self._first_step, n, seconds, self._activities)


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * _PAGE_BYTES
