# SPDX-License-Identifier: Apache-2.0
"""Which of many progress reports of one batch are looked at.

A training of short epochs reports many times a second, and what could not be sent comes at once. Each report is a dozen
queries, while the transaction holds the job's row, for which scheduling rounds wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from mlhub.wire.report import ProgressReport, Report

MOST = 20  # at even distances, and as many changes of the batch size: a pod may name another one each time


def without_close_progress(reports: Sequence[Report]) -> list[Report]:
    """The reports, of progress a few: the first, the newest, some in between, and the newest of each batch size.

    The steps of one that is left out count with those of the next.
    """
    places = [place for place, report in enumerate(reports) if isinstance(report, ProgressReport)]
    if len(places) <= MOST:
        return list(reports)
    stride = -(-len(places) // MOST)
    kept = {places[0], *places[::-1][::stride]}
    changes = [a for a, b in pairwise(places) if _batch_size(reports[a]) != _batch_size(reports[b])]
    kept |= {*changes[-MOST:]}
    left_out = set(places) - kept
    return [report for place, report in enumerate(reports) if place not in left_out]


def _batch_size(report: Report) -> int:
    assert isinstance(report, ProgressReport)
    return report.batch_size
