# SPDX-License-Identifier: Apache-2.0
"""The simulator against published figures, on traces small enough to make by formula or to carry along.

The 60 jobs are Tiresias' example trace (SymbioticLab/Tiresias, 60_job.csv, Apache-2.0): GPUs, submission, duration.
"""

from __future__ import annotations

import pytest

from scheduler import policy_named
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.reports.summary import summary
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob

SIXTY_JOBS = """
1,0,164 8,30,147 2,53,127 1,79,121 4,99,121 8,132,138 1,176,121 2,204,124 2,227,155 1,252,126 1,282,230
1,311,368 2,337,131 8,363,196 1,401,121 1,434,180 4,471,143 2,504,122 1,531,189 1,554,125 1,583,536 2,611,126
1,645,123 8,680,121 4,707,121 1,733,121 1,761,121 8,793,121 1,827,152 1,861,121 1,892,141 1,918,121 8,944,125
1,973,121 8,1008,305 4,1042,121 4,1067,123 1,1100,121 2,1139,121 1,1165,121 1,1194,122 2,1223,123 1,1248,263
1,1274,209 1,1315,158 2,1347,121 1,1381,121 8,1414,121 8,1447,126 1,1471,1800 4,1499,126 1,1537,130 4,1580,121
1,1612,121 4,1644,171 8,1676,135 2,1701,133 4,1729,128 4,1750,122 1,1779,122
"""


def sixty_jobs() -> Trace:
    rows = [line.split(",") for line in SIXTY_JOBS.split()]
    jobs = tuple(TraceJob(str(i), float(at), int(n), float(s)) for i, (n, at, s) in enumerate(rows))
    return Trace("60_job", "tiresias", jobs)


@pytest.mark.parametrize(
    ("policy", "n_nodes", "published_s"),
    [
        ("fifo", 4, 200.8),
        ("backfill", 4, 190.7),
        ("srtf", 4, 192.1),
        ("srsf", 4, 195.9),
        ("fifo", 2, 1556.5),
        ("backfill", 2, 715.3),
        ("srtf", 2, 519.9),
        ("srsf", 2, 563.4),
    ],
)
def test_average_completion_times_are_the_published_ones(policy: str, n_nodes: int, published_s: float) -> None:
    environment = CountingEnvironment(sixty_jobs(), uniform_cluster(n_nodes=n_nodes, n_gpus=4))
    figures = summary(simulate(environment, policy=policy_named(policy, {})), nodes=environment.nodes)
    assert figures["n_completed"] == 60
    assert figures["avg_jct_s"] == pytest.approx(published_s, abs=0.051)  # published to one decimal
