# SPDX-License-Identifier: Apache-2.0
"""A job that only waits is looked at once; one that does more is looked at in every round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scheduler import JobSnapshot, SpeedObservation
from scheduler.api.snapshot import GangAllocation, Mode, NodeAllocation, Phase
from scheduler.round.notable_jobs import NotableJobs

PLAIN = JobSnapshot("a", "alice", 0.0, 1000, 256)
HELD = GangAllocation(Mode.ALL_REDUCE, 1, 0, (NodeAllocation("n0", (0,)),))
SEEN = SpeedObservation(Mode.ALL_REDUCE, 1, 0, 1, 1, "v100", 256, 0.1, 0.1, 0.0, 200, 0.0)
MORE: dict[str, dict[str, Any]] = {
    "it holds GPUs": {"phase": Phase.RUNNING, "allocation": HELD},
    "it was measured": {"observations": (SEEN,)},
    "its length is not known": {"length_is_known": False},
    "its batch may change": {"max_batch_size": 512},
    "it is a trial": {"study": "s"},
}


@pytest.mark.parametrize("more", MORE)
def test_a_job_that_does_more_than_wait_is_notable_in_every_round(more: str) -> None:
    known, job = NotableJobs(), replace(PLAIN, id="b", **MORE[more])
    for _ in range(2):
        assert known.among((PLAIN, job)) == [job]


@pytest.mark.parametrize("more", MORE)
def test_a_plain_job_becomes_notable_as_soon_as_it_does_more(more: str) -> None:
    known = NotableJobs()
    assert known.among((PLAIN,)) == []
    job = replace(PLAIN, **MORE[more])
    assert known.among((job,)) == [job]


def test_plain_jobs_that_are_gone_are_forgotten() -> None:
    known = NotableJobs()
    for number in range(50):
        known.among([replace(PLAIN, id=f"j{number}-{i}") for i in range(4)])
    assert known.n_known <= 2 * 4
