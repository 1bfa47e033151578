# SPDX-License-Identifier: Apache-2.0
"""How many files the repository's own last commits of each kind touched: `make touched`. CONTRIBUTING.md promises few.

A commit is of a kind if it adds (or, for declarations in one file, changes) a file that the kind's pattern names.
Tests, documents, migrations and generated files do not count: they follow.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEWEST = 3
FOLLOWS = re.compile(
    r"^(tests|docs|benchmarks)/|/migrations/|\.md$|\.test\.tsx?$|frontend/openapi\.yaml$|schema\.d\.ts$|frontend/src/testing/"
)


@dataclass(frozen=True)
class KindOfChange:
    """pattern: of the files that a commit of the kind adds; changes: or of the one file in which it changes a line that
    matches `line`."""

    name: str
    pattern: str = ""
    changes: str = ""
    line: str = ""


KINDS = (
    KindOfChange("a scheduling policy", r"^scheduler/policies/(?!toolkit/)(\w+\.py|\w+/policy\.py)$"),
    KindOfChange("a strategy", r"^mlhub/runtime/strategies/(?!toolkit/|catalogue/)(\w+/)?\w+\.py$"),
    KindOfChange("a dataset format", changes="mlhub/wire/formats.py", line=r'^\+    "\w+": DatasetFormat'),
    KindOfChange("a measurement of pods", changes="mlhub/wire/measurements.py", line=r'^\+    "\w+": Measurement'),
    KindOfChange("a job state", changes="mlhub/jobs/states.py", line=r"^\+    [A-Z_]+ = "),
    KindOfChange("a failure cause", changes="mlhub/wire/exits.py", line=r'^\+    [A-Z_]+ = ("|\($)'),
    KindOfChange("a dashboard page", r"^frontend/src/features/[\w/]+Page\.tsx$"),
)


@dataclass(frozen=True)
class Touched:
    """A commit and the files it touched that somebody had to write."""

    commit: str
    subject: str
    files: tuple[str, ...]


def newest(kind: KindOfChange) -> Iterator[Touched]:
    """The kind's newest commits, at most NEWEST."""
    found = 0
    for commit in _commits(kind):
        status = _git("show", "--format=%s", "--name-status", "-M40%", commit).splitlines()
        rows = [line.split("\t") for line in status[1:] if "\t" in line]
        if kind.pattern and not any(row[0] == "A" and re.search(kind.pattern, row[-1]) for row in rows):
            continue
        files = tuple(row[-1] for row in rows if not FOLLOWS.search(row[-1]))
        yield Touched(commit[:8], status[0], files)
        found += 1
        if found == NEWEST:
            return


def _commits(kind: KindOfChange) -> list[str]:
    if kind.pattern:
        folder = kind.pattern.lstrip("^").split("(")[0].split("[")[0]
        return _git("log", "--no-merges", "--diff-filter=A", "--format=%H", "--", folder).split()
    return _git("log", "--no-merges", "--format=%H", f"-G{kind.line[3:]}", "--", kind.changes).split()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    for kind in KINDS:
        print(kind.name)
        for one in newest(kind):
            print(f"  {one.commit} {len(one.files):3d} files  {one.subject}")
