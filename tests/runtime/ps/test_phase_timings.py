# SPDX-License-Identifier: Apache-2.0
"""Phases of a server's threads: timed only while a recording runs, and bounded."""

from __future__ import annotations

import threading

import pytest

from mlhub.runtime.ps.server import phase_timings
from mlhub.runtime.ps.server.phase_timings import PhaseTimings, ServerPhase


def test_spans_count_from_the_version_that_was_asked_for_to_the_last() -> None:
    timings = PhaseTimings()
    with timings.span(ServerPhase.RECEIVE):
        pass
    recording = timings.begin(2, from_version=5)
    for version in range(1, 10):
        with timings.span(ServerPhase.UPDATE, worker=version):
            timings.count_update(version)
    assert (recording.first_version, len(recording.updated_at)) == (5, 3)
    assert [span.worker for span in recording.spans] == [6, 7]  # what was under way when it began is not timed
    assert recording.is_complete.is_set()
    timings.end()
    timings.count_update(10)
    with timings.span(ServerPhase.SEND):
        pass
    assert len(recording.spans) == 2


def test_a_span_belongs_to_its_thread_and_is_kept_when_its_block_fails() -> None:
    timings = PhaseTimings()
    recording = timings.begin(100)
    timings.count_update(1)

    def fail() -> None:
        with pytest.raises(OSError, match="gone"), timings.span(ServerPhase.RECEIVE, worker=3):
            raise OSError("gone")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    (span,) = recording.spans
    assert (span.thread, span.worker, span.phase) == (thread.ident, 3, ServerPhase.RECEIVE)
    assert span.ended >= span.began


def test_a_recording_ends_with_the_most_spans_that_it_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase_timings, "MAX_SPANS", 3)
    timings = PhaseTimings()
    recording = timings.begin(100)
    timings.count_update(1)
    for _ in range(10):
        with timings.span(ServerPhase.SEND):
            pass
    assert len(recording.spans) == 3
    assert recording.is_complete.is_set()
