# SPDX-License-Identifier: Apache-2.0
"""How often a training writes checkpoints."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import TrainingSpec
from tests.runtime.gang import Gang, write_blobs


@pytest.mark.slow
def test_writing_checkpoints_takes_at_most_a_tenth_of_the_time(tmp_path: Path) -> None:
    training = TrainingSpec(epochs=60, batch_size=8, checkpoint_every_s=0.0)
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=400), training=training)
    gang.start()
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    written = gang.reports("checkpoint")
    assert len(written) > 2
    began = [report["at"] - report["write_s"] for report in written]
    for report, (before, after) in zip(written, pairwise(began), strict=False):
        assert after - before > 9 * report["write_s"]
