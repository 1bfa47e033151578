# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of scheduling rounds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlhub.embedded.checks import doctor


@pytest.mark.parametrize(
    ("status", "body", "detail"),
    [
        (200, {"finished_age_s": 1.66, "cause": None}, "The last scheduling round ended 2 s ago."),
        (
            503,
            {"finished_age_s": 240.2, "cause": "loop_away"},
            "The last scheduling round ended 240 s ago. The control loop does not run.",
        ),
        (503, {"finished_age_s": None, "cause": "rounds_fail"}, "No scheduling round has ended yet. Rounds fail."),
        (200, None, "Scheduling rounds are made."),
        (503, {"status": "unknown"}, 'What scheduling rounds do is not known: {"status": "unknown"}'),
        (0, None, "What scheduling rounds do is not known: Connection refused"),
        (502, None, "What scheduling rounds do is not known: 502"),
    ],
)
def test_what_rounds_do_is_said_in_words(
    status: int, body: dict[str, Any] | None, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = json.dumps(body) if body else "" if status else "Connection refused"
    monkeypatch.setattr(doctor, "_get", lambda _: (status, answer))
    result = doctor.check_rounds("http://x", remedy="")
    assert (result.is_ok, result.detail) == (status == 200, detail)
