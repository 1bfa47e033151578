# SPDX-License-Identifier: Apache-2.0
"""Secrets are masked in what a report says, and leave the report one that the platform understands."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.launcher.shipping import Shipper
from mlhub.wire.masking import SecretMask


class MemoryApi:
    """Stores what is sent, by stream."""

    def __init__(self) -> None:
        self.streams: dict[str, list[Any]] = {}
        self.on_profile = None  # nobody asks for one

    def send_lines(self, *, role: str, index: int, stream: str, first: int, lines: list[Any]) -> int:
        stored = self.streams.setdefault(stream, [])
        assert first == len(stored)
        stored += lines
        return len(stored)


def shipper(folder: Path, api: MemoryApi, *secrets: str) -> Shipper:
    return Shipper(
        api,  # type: ignore[arg-type]
        role="worker",
        index=0,
        reports=folder / "reports.jsonl",
        log=folder / "output.log",
        on_final=lambda _: None,
        mask=SecretMask(secrets),
    )


def test_a_secret_that_occurs_in_numbers_and_names_of_fields_leaves_reports_whole(tmp_path: Path) -> None:
    said = [
        {"type": "metrics", "step": 54321, "values": {"train/loss": 0.15432}},
        {"type": "phase", "phase": "training", "detail": {"step": 5432, "words": ["the loss of", "training 5432"]}},
        {"type": "failure", "cause": "user_code", "message": 'no "quoted" user_code', "traceback": "5432"},
    ]
    (tmp_path / "reports.jsonl").write_text("".join(json.dumps(each) + "\n" for each in said))
    (tmp_path / "output.log").write_text("port 5432\n")
    api = MemoryApi()
    found = shipper(tmp_path, api, "5432", "loss", "phase", "training", "user_code", '"quoted"')
    found.start()
    assert found.drain(timeout_s=120)
    assert api.streams["log"] == ["port ***"]
    assert api.streams["reports"] == [
        said[0],
        {"type": "phase", "phase": "training", "detail": {"step": 5432, "words": ["the *** of", "*** ***"]}},
        {"type": "failure", "cause": "user_code", "message": "no *** ***", "traceback": "***"},
    ]


def test_a_shipper_that_broke_off_has_not_sent_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    (tmp_path / "reports.jsonl").write_text("no report\n")
    found = shipper(tmp_path, MemoryApi())
    found.start()
    assert not found.drain(timeout_s=120)
    assert [each.exc_type for each in errors] == [json.JSONDecodeError]
