# SPDX-License-Identifier: Apache-2.0
"""What `make unit` leaves out is run by another command that CI calls."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
(LEFT_OUT,) = re.findall(r'pytest -m "not (\w+(?: and not \w+)*)"', MAKEFILE)
CI = re.findall(r"^make ([\w-]+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
(PARTS,) = re.findall(r"^PARTS := (.*)$", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("marker", LEFT_OUT.split(" and not "))
def test_a_marker_that_unit_leaves_out_has_a_command_of_its_own_that_ci_calls(marker: str) -> None:
    (command,) = re.findall(rf"^([\w-]+):.*\n(?:\t.*\n)*?\t.*pytest -m {marker} ", MAKEFILE, re.MULTILINE)
    assert command in CI or ("test" in CI and command in PARTS.split())
