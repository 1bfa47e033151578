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
