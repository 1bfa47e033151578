# SPDX-License-Identifier: Apache-2.0
"""Random histories under every policy, in parts that can be interrupted: no starvation, no cycle, no broken quota.

    python -m benchmarks.histories --policies mlhub fair --histories 100000 --minutes 60

Each part plays PART histories that follow from the policy and the part's number; it is in the ledger once all of them
are played, and the next run goes on with the part after it, of the policy that has the fewest. Histories count for the
scheduler's sources that played them: a change of the scheduler begins anew. Written to
benchmarks/results/histories.json (the ledger) and benchmarks/results/histories.md (the page). Ends with 1 where a
history has a fault, which is printed, as small as it was found, and stays in the ledger.

What a history is, and what is a fault: tests/scheduler/test_histories.py and test_disturbed_histories.py. One that
counts is one of each.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import Phase as Stage

import scheduler
from scheduler import POLICIES
from tests.scheduler.cases import Case
from tests.scheduler.test_disturbed_histories import DisturbedWorld, History, disturbed
from tests.scheduler.test_histories import Arrival, faults, faults_at_rest, histories

LEDGER = Path(__file__).parent / "results" / "histories.json"
GOAL = 100_000
PART = 250


@dataclass(frozen=True)
class Played:
    """What is known of a policy under one state of the scheduler's sources (a prefix of their hash)."""

    policy: str
    sources: str
    parts: int = 0
    histories: int = 0
    rounds_s: float = 0.0
    last: str = ""
    faults: list[str] = field(default_factory=list)


class LedgerInUseError(Exception):
    """Another run writes this ledger."""


class HistoryLedger:
    """The file of what was played; written whole after each part, so that a kill costs the part that it interrupts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        entries = [Played(**entry) for entry in json.loads(path.read_text())] if path.exists() else []
        self._played = {(entry.policy, entry.sources): entry for entry in entries}

    def of(self, policy: str, sources: str) -> Played:
        return self._played.get((policy, sources), Played(policy, sources))

    def earlier(self, policy: str, sources: str) -> int:
        """Histories of the policy under other states of the sources."""
        return sum(p.histories for p in self._played.values() if p.policy == policy and p.sources != sources)

    def store(self, played: Played) -> None:
        self._played[played.policy, played.sources] = played
        entries = [asdict(self._played[key]) for key in sorted(self._played)]
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(entries, indent=1) + "\n")
        os.replace(beside, self._path)


@contextmanager
def open_ledger(path: Path) -> Iterator[HistoryLedger]:
    """Raises LedgerInUseError."""
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LedgerInUseError(
                f"{path} is written by another run. Wait for it, or name another --ledger."
            ) from error
        yield HistoryLedger(path)


def sources_hash() -> str:
    """A prefix of the SHA-256 of all modules of the scheduler, by their paths."""
    root, found = Path(scheduler.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def play(policy: str, part: int, n_histories: int) -> tuple[int, str | None]:
    """Plays a part's histories; returns how many there were, and the first fault, as small as it was found."""
    n_played, first = 0, None
    number = int.from_bytes(hashlib.sha256(f"{policy}/{part}".encode()).digest()[:8])

    @seed(number)
    @settings(
        max_examples=n_histories,
        database=None,
        deadline=None,
        phases=(Stage.generate, Stage.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(histories(), disturbed())
    def play_one(calm: tuple[Case, list[Arrival]], rough: History) -> None:
        nonlocal n_played, first
        n_played += 1
        for history, play_it in (
            (calm, lambda: faults(*calm, policy) + faults_at_rest(*calm, policy)),
            (rough, lambda: DisturbedWorld(rough).faults_of(policy)),
        ):
            try:
                found = play_it()
            except Exception as error:  # a round without a plan
                found = [f"{type(error).__name__}: {error}"]
            if found:
                first = f"part {part}: {'; '.join(found)} in {history!r}"
                raise AssertionError(first)

    try:
        play_one()
    except AssertionError:
        if first is None:
            raise
    return n_played, first


def run(ledger: HistoryLedger, policies: list[str], *, goal: int, until: float, part: int = PART) -> list[str]:
    """Plays parts until each policy has as many histories as asked for, or the time is over. Returns new faults."""
    sources, found = sources_hash(), []
    while time.monotonic() < until:
        open_ones = [played for name in policies if (played := ledger.of(name, sources)).histories < goal]
        open_ones = [played for played in open_ones if not played.faults]
        if not open_ones:
            break
        played = min(open_ones, key=lambda one: one.histories)
        began = time.process_time()
        n_played, fault = play(played.policy, played.parts, part)
        took_s = time.process_time() - began
        played = replace(
            played,
            parts=played.parts + 1,
            histories=played.histories + n_played,
            rounds_s=round(played.rounds_s + took_s, 1),
            last=f"{datetime.now(UTC):%Y-%m-%d}",
            faults=[*played.faults, *([] if fault is None else [fault])],
        )
        ledger.store(played)
        print(f"{played.policy}: {played.histories:,} histories, {took_s / n_played * 1e3:.0f} ms each", flush=True)
        if fault is not None:
            found.append(f"{played.policy}: {fault}")
    return found


def page(ledger: HistoryLedger, sources: str) -> str:
    """The table of all policies under these sources."""
    lines = [
        "# Random histories",
        "",
        "By `python -m benchmarks.histories`, in parts: clusters of up to four nodes of one or two GPU types, tenants",
        "with quotas, guarantees and rules of borrowing, up to seven jobs that come within twelve rounds. A fault is a",
        "tenant over its limits in a round, a job that fits and has not ended in three times what all jobs take one",
        "after the other (it starves, or is preempted without end), and a cluster that does not come to rest where",
        "nothing arrives and nothing ends. With each goes another one, of jobs that use every field, in which nodes,",
        "GPUs, limits and jobs come, change and go between rounds: there a fault is a round without a plan, or one",
        f"that gives what is not there. The aim is {GOAL:,} for each policy. Counted are those of the scheduler's",
        f"sources `{sources}`;",
        "what was played before these last changed is in the last column.",
        "",
        "| policy | histories | faults | processor time of one, ms | last part | histories of earlier sources |",
        "|---|---|---|---|---|---|",
    ]
    for name in sorted(POLICIES):
        played = ledger.of(name, sources)
        each = f"{played.rounds_s / played.histories * 1e3:.0f}" if played.histories else "-"
        lines.append(
            f"| {name} | {played.histories:,} | {len(played.faults)} | {each} | {played.last or '-'}"
            f" | {ledger.earlier(name, sources):,} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", nargs="+", choices=sorted(POLICIES), default=sorted(POLICIES), metavar="POLICY")
    parser.add_argument("--histories", type=int, default=GOAL, help=f"of each policy, in all; {GOAL} where not given")
    parser.add_argument("--minutes", type=float, default=10.0, help="no part begins after them")
    parser.add_argument("--ledger", type=Path, default=LEDGER)
    asked = parser.parse_args()
    try:
        with open_ledger(asked.ledger) as ledger:
            until = time.monotonic() + 60 * asked.minutes
            found = run(ledger, asked.policies, goal=asked.histories, until=until)
            asked.ledger.with_suffix(".md").write_text(page(ledger, sources_hash()))
    except LedgerInUseError as error:
        print(error, file=sys.stderr)
        return 2
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
