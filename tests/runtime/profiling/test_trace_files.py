# SPDX-License-Identifier: Apache-2.0
"""The trace that torch wrote becomes a bounded one and a summary, which agrees with torch's own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn, profiler

from mlhub.runtime.profiling import trace_events, trace_file
from mlhub.runtime.profiling.files import RecordingNotes
from mlhub.runtime.profiling.summary import summarise
from mlhub.runtime.profiling.trace_events import read_trace
from mlhub.runtime.profiling.trace_file import reduce_trace

NOTES = RecordingNotes("id", first_step=40, n_steps=2)


def written(path: Path, *events: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, "host_name": "secret-node", "traceEvents": list(events)}, indent=1))
    return path


def span(
    name: str, begin: float, duration: float, *, cat: str = "cpu_op", tid: Any = 1, link: int = -1
) -> dict[str, Any]:
    return {
        "ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": begin, "dur": duration,
        "args": {"External id": link},
    }  # fmt: skip


def memory(at: float, n_bytes: int) -> dict[str, Any]:
    return {
        "ph": "i",
        "name": "[memory]",
        "cat": "cpu_instant_event",
        "pid": 7,
        "tid": 1,
        "ts": at,
        "args": {"Bytes": n_bytes},
    }


def test_own_time_memory_and_device_time_count_for_the_innermost_operator(tmp_path: Path) -> None:
    raw = written(
        tmp_path / "raw.json",
        span("ProfilerStep#1", 0, 100, cat="user_annotation"),
        span("aten::linear", 10, 50, link=1),
        span("aten::addmm", 20, 30, link=2),
        memory(25, 4096), memory(50, -96), memory(65, 7),
        span("aten::addmm", 70, 5, link=3),
        span("sgemm", 500, 40, cat="kernel", tid=99, link=2),
        span("sgemm", 540, 20, cat="kernel", tid=99, link=3),
        span("gloo:all_reduce", 80, 10, cat="user_annotation"),
    )  # fmt: skip
    found = summarise(read_trace(raw))
    linear, addmm = found.operators["aten::linear"], found.operators["aten::addmm"]
    assert (linear.calls, addmm.calls) == (1, 2)
    assert (linear.self_cpu_s, linear.cpu_s) == (pytest.approx(20e-6), pytest.approx(50e-6))
    assert (addmm.self_cpu_s, addmm.device_s) == (pytest.approx(35e-6), pytest.approx(60e-6))
    assert (addmm.self_memory_bytes, linear.self_memory_bytes) == (4000, 0)
    assert found.seconds == pytest.approx({"input": 0, "compute": 90e-6, "sync": 10e-6, "wait": 0})
    assert "ProfilerStep#1" not in found.operators


def test_the_summary_of_a_real_recording_is_torchs_own(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as recorded:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(16, 32)).sum().backward()
            optimizer.step()
    recorded.export_chrome_trace(str(tmp_path / "raw.json"))
    ours = summarise(read_trace(tmp_path / "raw.json")).operators
    theirs = {row.key: row for row in recorded.key_averages() if row.key in ours}
    assert len(theirs) > 10
    for name, row in theirs.items():
        assert ours[name].calls == row.count, name
        assert ours[name].self_cpu_s == pytest.approx(row.self_cpu_time_total / 1e6, abs=2e-6, rel=0.01), name
        assert ours[name].cpu_s == pytest.approx(row.cpu_time_total / 1e6, abs=2e-6, rel=0.01), name
        assert ours[name].self_memory_bytes == row.self_cpu_memory_usage, name


def test_the_longest_events_stay_and_nothing_tells_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_file, "MAX_EVENTS", 4)
    raw = written(
        tmp_path / "raw.json",
        *(span(f"ProfilerStep#{i}", 900 + 100 * i, 100, cat="user_annotation") for i in (1, 2)),
        *(span(f"aten::op{i}", 1000 + 10 * i, i) for i in range(1, 9)),
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 1, "args": {"name": "thread 1 (python)"}},
    )  # fmt: skip
    notes = RecordingNotes(
        "id", first_step=40, n_steps=2, activities=[("input", 0.0), ("compute", 30.0), ("sync", 150.0)]
    )
    summary = reduce_trace(raw, tmp_path / "out.gz", notes)
    assert (summary["n_events"], summary["n_left_out"], summary["n_operators"]) == (4, 6, 8)
    text = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode()
    assert "secret-node" not in text
    found = [event for event in json.loads(text)["traceEvents"] if event["ph"] == "X"]
    by_name = {event["name"]: (event["ts"], event["dur"]) for event in found}
    assert by_name == {
        "reading": (0, 30), "computing": (30, 120), "exchanging": (150, 50),
        "step 41": (0, 100), "step 42": (100, 100), "aten::op8": (80, 8), "aten::op7": (70, 7),
    }  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b'{"traceEvents": [', b'{"traceEvents": [{"ph": "X", "cat": "cpu_op"}]}', b"\xff" * 50,
     b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "ts": "noon", "dur": 1}]}', b'{"traceEvents": [{"ph": "X"}'],
)  # fmt: skip
def test_what_is_no_trace_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "raw.json").write_bytes(content)
    with pytest.raises(ValueError):
        reduce_trace(tmp_path / "raw.json", tmp_path / "out.gz", NOTES)


def test_a_trace_is_read_piece_by_piece_wherever_a_piece_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [span(f"aten::öp{i}", i, 1) for i in range(50)]
    whole = read_trace(written(tmp_path / "raw.json", *events))
    monkeypatch.setattr(trace_events, "CHUNK", 61)
    pieces = read_trace(tmp_path / "raw.json")
    assert pieces.names.texts == whole.names.texts == [f"aten::öp{i}" for i in range(50)]
    assert pieces.begin == whole.begin
