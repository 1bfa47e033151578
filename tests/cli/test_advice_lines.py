# SPDX-License-Identifier: Apache-2.0
"""What would help a job, and when it is done, as `mlhub why` and `mlhub ps` print it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mlhub.cli.commands.training.jobs import COLUMNS, analysis_lines


def printed(**over: Any) -> str:
    action = {
        "sentence": "Raise the quota of vision to 2 CPUs; an admin of Acme can.",
        "by": "administrator",
        "tenant": "vision",
        "starts_now": True,
        "start_at": datetime.now(UTC).isoformat(),
        "finish_at": None,
        "gain_s": 600.0,
        "n_delayed": 0,
    }
    ahead = {"jobs": [], "n_others": 0}
    (line,) = analysis_lines({"blockers": [], "ahead": ahead, "actions": [action | over]})
    return line


def test_of_a_quota_only_the_sentence_says_who_can_raise_it() -> None:
    assert printed() == (
        "Would help: Raise the quota of vision to 2 CPUs; an admin of Acme can. It starts in the next round, "
        "10 min earlier; no other job ends later."
    )
    priority = printed(sentence="Raise its priority to 60.", tenant="")
    assert "Raise its priority to 60. (an administrator may) It starts" in priority


@pytest.mark.parametrize(
    ("n", "words"), [(0, "no other job ends later."), (1, "1 job ends later."), (2, "2 jobs end later.")]
)
def test_jobs_that_it_delays_are_counted(n: int, words: str) -> None:
    assert printed(n_delayed=n).endswith(f"; {words}")


@pytest.mark.parametrize("age_s", [2, 3600])
def test_a_start_that_the_answer_took_longer_than_is_not_in_the_past(age_s: int) -> None:
    start_at = (datetime.now(UTC) - timedelta(seconds=age_s)).isoformat()
    assert "It starts in the next round, " in printed(starts_now=False, start_at=start_at)


def test_a_later_start_is_told_by_its_distance() -> None:
    start_at = (datetime.now(UTC) + timedelta(hours=5, minutes=30)).isoformat()
    assert "It starts in 5 h " in printed(starts_now=False, start_at=start_at)


def test_a_predicted_finish_that_has_passed_is_overdue_rather_than_past() -> None:
    finish_at = (datetime.now(UTC) - timedelta(minutes=3)).isoformat()
    row = {"state": "running", "predicted_finish_at": finish_at}
    assert COLUMNS["FINISHES"](row) == "overdue by 3 min"
    assert "It finishes overdue" not in printed(start_at=None, finish_at=finish_at)
