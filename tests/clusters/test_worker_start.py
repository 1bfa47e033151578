# SPDX-License-Identifier: Apache-2.0
"""A worker reports what its machine's sandbox lacks, where uploaded code runs on that machine."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.clusters.models import SandboxReport
from mlhub.clusters.worker_start import report_sandbox


@pytest.mark.django_db
@pytest.mark.parametrize(("sandbox", "n_reports"), [("local", 1), ("jobs", 0)])
def test_only_a_worker_that_runs_uploaded_code_itself_reports_its_sandbox(
    settings: Any, sandbox: str, n_reports: int
) -> None:
    settings.SANDBOX = sandbox
    report_sandbox()
    assert SandboxReport.objects.count() == n_reports
