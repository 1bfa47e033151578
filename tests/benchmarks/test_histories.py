# SPDX-License-Identifier: Apache-2.0
"""Tests of benchmarks/histories.py: a run goes on after the last whole part, and faults stay in the ledger."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchmarks import histories
from benchmarks.histories import LedgerInUseError, open_ledger, page, run, sources_hash


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "histories.json"


def go(path: Path, *policies: str, goal: int) -> list[str]:
    with open_ledger(path) as ledger:
        return run(ledger, list(policies), goal=goal, until=time.monotonic() + 600, part=3)


def test_a_run_goes_on_with_the_part_after_the_last_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert go(path, "fifo", "srtf", goal=3) == []
    parts = []
    play = histories.play
    monkeypatch.setattr(
        histories, "play", lambda policy, part, n: parts.append((policy, part)) or play(policy, part, n)
    )
    assert go(path, "fifo", "srtf", goal=6) == []
    assert parts == [("fifo", 1), ("srtf", 1)]
    with open_ledger(path) as ledger:
        assert [ledger.of(policy, sources_hash()).histories for policy in ("fifo", "srtf")] == [6, 6]
        assert "| fifo | 6 | 0 |" in page(ledger, sources_hash())
        assert "| fifo | 0 | 0 | - | - | 6 |" in page(ledger, "changed")


def test_a_part_that_is_interrupted_is_played_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> tuple[int, str | None]:
        raise KeyboardInterrupt

    assert go(path, "fifo", goal=3) == []
    monkeypatch.setattr(histories, "play", interrupted)
    with pytest.raises(KeyboardInterrupt):
        go(path, "fifo", goal=6)
    with open_ledger(path) as ledger:
        assert ledger.of("fifo", sources_hash()).parts == 1


def test_a_fault_is_returned_once_kept_and_ends_the_policy_s_parts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "faults", lambda *_: ["j0 has not ended"])
    [fault] = go(path, "fifo", goal=3)
    assert fault.startswith("fifo: part 0: j0 has not ended in (Case(")
    assert go(path, "fifo", goal=30) == []
    with open_ledger(path) as ledger:
        assert len(ledger.of("fifo", sources_hash()).faults) == 1


def test_two_runs_do_not_write_one_ledger(path: Path) -> None:
    with open_ledger(path), pytest.raises(LedgerInUseError, match="another run"), open_ledger(path):
        pass
