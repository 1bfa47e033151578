# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them."""

from datetime import UTC, datetime

import pytest

from mlhub.cli.output import Format, Output, duration, predicted, size, until

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""), (-3, "0 s"), (59.4, "59 s"), (59.9, "1 min"), (3599, "1 h"), (7500, "2 h 5 min"),
        (86400, "1 d 0 h"), (90000, "1 d 1 h"),
    ],
)  # fmt: skip
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_moments_lie_ahead_or_behind() -> None:
    assert until("2026-03-01T12:05:00Z", now=NOW) == "in 5 min"
    assert until("2026-03-01T11:59:30+00:00", now=NOW) == "30 s ago"
    assert until(None) == ""


def test_a_predicted_time_that_has_passed_is_overdue() -> None:
    assert predicted("2026-03-01T12:05:00Z", now=NOW) == "in 5 min"
    assert predicted("2026-03-01T11:59:00Z", now=NOW) == "overdue by 1 min"
    assert predicted(None) == ""


@pytest.mark.parametrize(("n_bytes", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**41, "2.0 TiB")])
def test_sizes(n_bytes: int, text: str) -> None:
    assert size(n_bytes) == text


def test_a_table_in_a_pipe_is_not_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"first": "a" * 100, "second": "b" * 100}
    Output(Format.TABLE).rows([row], {"FIRST": lambda r: r["first"], "SECOND": lambda r: r["second"]})
    assert capsys.readouterr().out.splitlines()[1].split() == ["a" * 100, "b" * 100]
