# SPDX-License-Identifier: Apache-2.0
"""docs/guides/guarantees.md: each guarantee with its cases, and when each was last seen to hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.matrix import CASES, GUARANTEES, UNPROVEN, Case

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "guarantees.md"
NEVER = "not yet"
ROW = re.compile(r"\| `(tests/[^`]+)` \| (\d{4}-\d\d-\d\d|" + NEVER + r") \|$", re.MULTILINE)

HEAD = """# Guarantees

What MLHub guarantees, and the test of each: which component was hit by which fault in which phase, and what came of it.
The last column is the day on which the test last passed; one that has not passed since it was entered says so.
`make chaos` writes this page from `tests/chaos/matrix.py`.

`make chaos` runs what fits into ten minutes (`MINUTES=30` for more), `make soak HOURS=1` lets faults come at random,
with a seed that repeats them (`SEED=`). Commits are enumerated, not sampled: an operation runs in a process of its own,
which is killed before and after its first COMMIT, its second, and so on until it comes to its end.
"""


def last_passes() -> dict[str, str]:
    """The days that the guide has, by node id; "not yet" among them."""
    return dict(ROW.findall(GUIDE.read_text())) if GUIDE.exists() else {}


def written(passes: Mapping[str, str]) -> str:
    """The guide's text with these days."""
    parts = [HEAD]
    for name, sentence in GUARANTEES.items():
        parts.append(f"\n## {name}: {sentence[0].lower() + sentence[1:].rstrip('.')}\n")
        if name in UNPROVEN:
            parts.append(f"\n{UNPROVEN[name]}\n")
        rows = [_row(case, passes) for case in CASES if case.guarantee == name]
        if rows:
            parts.append("\n| component | fault | phase | outcome | test | last pass |\n|---|---|---|---|---|---|\n")
            parts.extend(rows)
    return "".join(parts)


def _row(case: Case, passes: Mapping[str, str]) -> str:
    what = f"| {case.component} | {case.fault} | {case.phase} | {case.outcome} "
    return f"{what}| `{case.node_id}` | {passes.get(case.node_id, NEVER)} |\n"
