# SPDX-License-Identifier: Apache-2.0
"""The guide on failures lists the causes as they are declared."""

from __future__ import annotations

import re
from pathlib import Path

from mlhub.wire.exits import Cause, ExitCode

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "failures.md"


def test_the_guide_lists_every_cause_as_it_is_declared() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\d) \| (.*) \|$", PAGE.read_text(), re.M)
    assert rows == [(cause.value, cause.fault.value, str(cause.precedence), cause.message) for cause in Cause]


def test_every_exit_code_has_the_name_of_a_cause() -> None:
    assert {code.name for code in ExitCode} - {"DONE"} <= {cause.name for cause in Cause}


def test_no_remedy_names_a_time_that_is_a_setting_and_what_may_pass_is_resumed() -> None:
    assert not [cause for cause in Cause if re.search(r"\bday\b", cause.remedy)]
    passing = {Cause.KILLED, Cause.PEER_LOST, Cause.NODE_LOST, Cause.STORAGE_QUOTA, Cause.DISK_FULL, Cause.SECRET}
    assert not [cause for cause in passing if "resume the job" not in cause.remedy.lower()]
