# SPDX-License-Identifier: Apache-2.0
"""The scheduler's decision on a batch, on its way from the API to the trainer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlhub.runtime.launcher.ingest_api import IngestApi, RefusedError
from mlhub.wire.launch import BatchDecision
from tests.runtime.launcher.ingest_server import Ingest


def test_a_decision_on_the_batch_is_left_for_the_trainer_and_an_impossible_one_refused(
    ingest: Ingest, tmp_path: Path
) -> None:
    file = tmp_path / "batch.json"
    api = IngestApi(ingest.url, "attempt", "token", batch_decision=file)
    for size in (None, 64, 128):
        ingest.decision = None if size is None else {"batch_size": size, "noise_scale": 900.0, "reason": "Why."}
        api.send_lines(role="worker", index=0, stream="reports", first=0, lines=[])
        assert file.exists() == (size is not None)
    assert BatchDecision.from_json(json.loads(file.read_text())) == BatchDecision(128, 900.0, "Why.")
    ingest.decision = {"batch_size": -1}
    with pytest.raises(RefusedError, match="batch_size is -1"):
        api.send_lines(role="worker", index=0, stream="reports", first=0, lines=[])
    assert json.loads(file.read_text())["batch_size"] == 128
