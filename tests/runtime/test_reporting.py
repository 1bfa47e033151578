# SPDX-License-Identifier: Apache-2.0
"""What a pod reports can be stored, whatever the user's code put into its messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlhub.core.api.parsers import check_values
from mlhub.core.errors import InvalidInputError
from mlhub.runtime.reporting import Reporter

HOSTILE = "no \x00 such file: caf\udce9 \ud83d"


def test_a_failure_whose_message_holds_what_no_database_stores_is_reported_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        check_values({"message": HOSTILE})
    Reporter(tmp_path / "reports").failure("user_code", HOSTILE, f"ValueError: {HOSTILE}")
    (line,) = (tmp_path / "reports").read_text().splitlines()
    report = json.loads(line)
    check_values(report)
    assert report["message"] == "no \ufffd such file: caf\ufffd \ufffd"
    assert report["cause"] == "user_code"


def test_text_beyond_the_basic_plane_is_reported_as_it_is(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path / "reports")
    reporter.phase("stalled", detail={"doing": "\U0001f600 train", "steps": [1, 2.5, None]})
    report = json.loads((tmp_path / "reports").read_text())
    assert report["detail"]["detail"] == {"doing": "\U0001f600 train", "steps": [1, 2.5, None]}
