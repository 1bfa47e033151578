# SPDX-License-Identifier: Apache-2.0
"""A log that grows faster than the platform takes it: its newest lines arrive, reports are not behind it, and the pod
does not stay for the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.launcher import shipping
from mlhub.runtime.launcher.shipping import Shipper, Tail
from mlhub.wire.report import LOG

LINE = "line {:06}\n"  # 12 bytes


class Api:
    """Stores what is sent, by stream, and then calls on_log with each batch of the log."""

    def __init__(self, on_log: Callable[[], None] = lambda: None) -> None:
        self.streams: dict[str, list[Any]] = {"log": [], "reports": []}
        self.on_profile = None
        self._on_log = on_log
        self.has_report = threading.Event()

    def send_lines(self, *, role: str, index: int, stream: str, first: int, lines: list[Any]) -> int:
        stored = self.streams[stream]
        assert first == len(stored)
        stored += lines
        if stream == "log":
            self._on_log()
        else:
            self.has_report.set()
        return len(stored)


@pytest.fixture
def shipper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Api], Shipper]:
    monkeypatch.setattr(shipping, "KEPT_BYTES", 1200)
    (tmp_path / "reports.jsonl").touch()

    def made(api: Api) -> Shipper:
        return Shipper(
            api,  # type: ignore[arg-type]
            role="worker",
            index=0,
            reports=tmp_path / "reports.jsonl",
            log=tmp_path / "output.log",
            on_final=lambda _: None,
        )

    return made


def written(folder: Path, first: int, n: int) -> None:
    with (folder / "output.log").open("a") as file:
        file.write("".join(LINE.format(number) for number in range(first, first + n)))


def test_what_is_too_far_behind_is_left_out_with_a_note_in_its_place(
    tmp_path: Path, shipper: Callable[[Api], Shipper], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "MAX_LAG_BYTES", 5000)
    written(tmp_path, 0, 1000)
    is_sent = threading.Event()
    api = Api(is_sent.set)
    found = shipper(api)
    found.start()
    assert is_sent.wait(60)
    written(tmp_path, 1000, 2)
    assert found.drain(timeout_s=120)
    note, *lines = api.streams["log"]
    assert note.startswith("mlhub: 10,812 bytes of the log are left out here")  # 901 of 1,000 lines
    assert lines == [LINE.format(number).strip() for number in range(901, 1002)]


def test_the_end_of_a_long_log_does_not_hold_the_pod(
    tmp_path: Path, shipper: Callable[[Api], Shipper], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "LOG_END_S", 0.0)
    written(tmp_path, 0, 50_000)
    api = Api()
    found = shipper(api)
    found._is_ending.set()  # all of it is there when the pod ends
    found.start()
    assert found.drain(timeout_s=120)
    lines = api.streams["log"]
    assert lines[:1000] == [LINE.format(number).strip() for number in range(1000)]  # the first batch
    assert "bytes of the log are left out here" in lines[1000]
    assert lines[1001:] == [LINE.format(number).strip() for number in range(49_901, 50_000)]


def test_reports_are_not_behind_a_log_that_never_ends(
    tmp_path: Path, shipper: Callable[[Api], Shipper], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "LOG_PASS_S", 0.1)
    is_flooding = threading.Event()
    is_flooding.set()

    def flood() -> None:
        if is_flooding.is_set():
            written(tmp_path, 0, 10)
            if not (tmp_path / "reports.jsonl").stat().st_size:
                (tmp_path / "reports.jsonl").write_text("{}\n")

    written(tmp_path, 0, 10)
    api = Api(flood)
    found = shipper(api)
    found.start()
    arrived = api.has_report.wait(60)
    is_flooding.clear()
    assert arrived
    assert found.drain(timeout_s=120)


def test_an_answer_that_was_lost_is_followed_by_the_same_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "KEPT_BYTES", 120)
    written(tmp_path, 0, 100)
    tail = Tail(tmp_path / "output.log", LOG)
    tail.skip()
    (note,), end = tail.batch(is_final=False)
    tail.acknowledge(0, n_sent=1, end=end)  # it did not arrive
    assert tail.batch(is_final=False)[0] == [note]
    tail.acknowledge(1, n_sent=1, end=end)
    lines, end = tail.batch(is_final=False)
    tail.acknowledge(4, n_sent=len(lines), end=end)  # three of them arrived
    assert tail.batch(is_final=False)[0] == lines[3:]
    assert lines == [LINE.format(number).strip() for number in range(91, 100)]
