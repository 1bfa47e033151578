# SPDX-License-Identifier: Apache-2.0
"""The result of a script that did not report one: the last value of each metric, and the step that it came to."""

from __future__ import annotations

import json
import time
from pathlib import Path

from mlhub.wire.report import MAX_VALUES, ResultReport


def result_of(reports: Path) -> ResultReport | None:
    """None when the script reported a result itself, or no metric at all. reports: the pod's file, a line each."""
    steps, metrics = 0, dict[str, float]()
    for line in reports.read_bytes().splitlines() if reports.exists() else ():
        try:
            found = json.loads(line)
        except ValueError:
            continue  # half a line, of a process that was killed
        match found.get("type"):
            case "result":
                return None
            case "progress":
                steps = max(steps, int(found["steps_done"]))
            case "metrics":
                steps = max(steps, int(found["step"]))
                metrics |= found["values"]
    newest = dict(list(metrics.items())[:MAX_VALUES])
    return ResultReport(at=time.time(), steps=steps, metrics=newest) if newest else None
