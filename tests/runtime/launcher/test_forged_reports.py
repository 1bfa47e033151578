# SPDX-License-Identifier: Apache-2.0
"""A job whose code writes into its pod's reports or lists fails by its own fault, and half a report proves nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlhub.wire.exits import Cause, ExitCode
from tests.runtime.launcher.ingest_server import Ingest
from tests.runtime.launcher.test_launcher import Ship, _launch, until
from tests.runtime.scripts.test_script import gang as script_gang

PHASE = {"type": "phase", "at": 1.0, "phase": "x", "since_start_s": 1.0, "detail": {}}
TORN = ['{"type": "phase"', '{"type": "metri{"type": "phase", "phase": "x"}', '{"ty', "", "\x00" * 100]
FORGED = [
    "no report", "[1]", "3", '{"type": "wages"}', '{"type": "phase", "x": 1}', '{"type": "metrics" garbage}',
    "[" * 100_000, '"' + "x" * 2_000_000,
]  # fmt: skip


@pytest.mark.parametrize("line", FORGED)
def test_what_only_the_job_s_code_can_have_written_is_its_own_failure_once_the_reports_before_it_are_sent(
    ingest: Ingest, tmp_path: Path, line: str
) -> None:
    ingest.checks_reports = True
    ship = Ship(ingest, tmp_path)
    ship.reports.write_text(f"{json.dumps(PHASE)}\n{line}\n{json.dumps(PHASE)}\n")
    until(lambda: ship.ends)
    assert ship.shipper.is_forged
    sent, failure = ingest.streams["reports"]
    assert (sent, failure["type"], failure["cause"]) == (PHASE, "failure", Cause.USER_CODE)
    assert "Line 1 of the pod's reports is no report" in failure["message"]


@pytest.mark.parametrize("line", TORN)
def test_half_a_report_proves_nothing_against_the_job_s_code(ingest: Ingest, tmp_path: Path, line: str) -> None:
    """A full disk, or a loss of power, leaves such a line."""
    ship = Ship(ingest, tmp_path)
    ship.reports.write_text(f"{json.dumps(PHASE)}\n{line}\n")
    until(lambda: ship.ends)
    assert (ship.shipper.is_refused, ship.shipper.is_forged) == (True, False)
    assert ingest.streams["reports"] == [PHASE]


@pytest.mark.slow
def test_a_script_that_writes_into_its_reports_fails_by_its_own_fault(ingest: Ingest, tmp_path: Path) -> None:
    ingest.checks_reports = True
    code = "import time\nopen('../reports.jsonl', 'a').write('3\\n')\ntime.sleep(600)\n"
    gang = script_gang(tmp_path, code)
    assert _launch(gang, ingest).wait(120) == ExitCode.USER_CODE
    assert ingest.streams["reports"][-1]["cause"] == Cause.USER_CODE


LISTS = [
    "{garbage",
    '[1, {"a": 2}]',
    "3",
    "[" * 100_000,
    '{"/etc/passwd": "0"}',
    '{"../x": "0"}',
    '{"weights.safetensors": "0"}',
]


@pytest.mark.slow
@pytest.mark.parametrize("listed", LISTS)
def test_a_list_of_artifacts_that_the_script_wrote_is_its_own_failure(
    ingest: Ingest, tmp_path: Path, listed: str
) -> None:
    path = "../artifacts/artifacts.json"
    code = f"import os\nos.makedirs('../artifacts', exist_ok=True)\nopen({path!r}, 'w').write({listed!r})\n"
    assert _launch(script_gang(tmp_path, code), ingest).wait(120) == ExitCode.USER_CODE
    failure = ingest.streams["reports"][-1]
    assert (failure["type"], failure["cause"]) == ("failure", Cause.USER_CODE)
    assert "changed the list of the pod's artifacts" in failure["message"]
    assert not ingest.artifacts
