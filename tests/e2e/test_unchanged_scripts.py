# SPDX-License-Identifier: Apache-2.0
"""Scripts as people write them, from upload to model version, on the whole platform (all: `make test-scripts`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.platform import RunningPlatform
from tests.scripts.catalogue import script_named
from tests.scripts.run import run_all

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

NAMES = ("ddp_digits", "tensorboard_writer", "resume_checkpoints", "package_folder", "mlflow_client")


def test_scripts_without_a_changed_line_give_metrics_files_checkpoints_and_models(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    scripts = tuple(script_named(name) for name in NAMES)
    assert [script.n_lines_changed() for script in scripts] == [0] * len(scripts)
    person = platform.person("dora", organisation="Unchanged scripts")
    outcomes = run_all(platform, person, scripts, folder=tmp_path, seconds=600)
    assert {outcome.script.name: outcome.faults for outcome in outcomes} == dict.fromkeys(NAMES, ())
