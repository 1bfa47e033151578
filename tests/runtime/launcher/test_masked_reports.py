# SPDX-License-Identifier: Apache-2.0
"""Secrets are masked in what a report says, and leave the report one that the platform understands."""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from mlhub.runtime.launcher.printed_metrics import PrintedFile
from mlhub.runtime.launcher.shipping import Shipper
from mlhub.wire.masking import SecretMask
from mlhub.wire.report import metric_name


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


TOKEN = "hf_AbC-dEf+12/34=%Zz9"


def as_sent(
    folder: Path, *, log: str = "", reports: list[Any] | None = None, secrets: tuple[str, ...] = (TOKEN,)
) -> dict[str, list[Any]]:
    (folder / "reports.jsonl").write_text("".join(json.dumps(each) + "\n" for each in reports or []))
    (folder / "output.log").write_text(log)
    api = MemoryApi()
    found = shipper(folder, api, *secrets)
    found.start()
    assert found.drain(timeout_s=120)
    return api.streams


@pytest.mark.parametrize("before", ["", "u", "ab", "abc", "user:"])
@pytest.mark.parametrize("after", ["", "!", "!!", "\n"])
def test_a_secret_in_base64_is_masked_wherever_it_begins_in_what_is_encoded(
    tmp_path: Path, before: str, after: str
) -> None:
    whole = f"{before}{TOKEN}{after}".encode()
    for encoded in (base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()):
        (line,) = as_sent(tmp_path, log=f"it is {encoded}\n")["log"]
        left = line.removeprefix("it is ").replace("***", "").rstrip("=")
        assert line.startswith("it is ")
        assert "***" in line
        around = math.ceil(len(before) * 8 / 6) + math.ceil(len(after) * 8 / 6)
        assert len(left) <= around + 1  # of the secret itself no whole byte


def test_a_secret_in_hex_and_in_an_address_is_masked(tmp_path: Path) -> None:
    in_hex = TOKEN.encode().hex()
    shown = f"{in_hex} {in_hex.upper()} https://host/?t={quote(TOKEN, safe='')} {quote_plus(TOKEN)}\n"
    assert as_sent(tmp_path, log=shown)["log"] == ["*** *** https://host/?t=*** ***"]


def test_a_long_secret_in_wrapped_base64_is_masked(tmp_path: Path) -> None:
    secret = "".join(chr(33 + i % 90) for i in range(400))
    lines = as_sent(tmp_path, log=base64.encodebytes(secret.encode()).decode(), secrets=(secret,))["log"]
    assert lines[:-1] == ["***"] * 7
    assert len(lines[-1]) <= 4  # one byte and a half


def test_a_secret_is_masked_in_names_of_metrics(tmp_path: Path) -> None:
    named = {TOKEN: 1.0, f"train/{metric_name(TOKEN)}": 2.0, "train/loss": 0.5}
    reports = [{"type": "metrics", "step": 1, "values": named}, {"type": "result", "metrics": named}]
    kept = {"masked": 1.0, "train/masked": 2.0, "train/loss": 0.5}
    assert as_sent(tmp_path, reports=reports)["reports"] == [
        {"type": "metrics", "step": 1, "values": kept},
        {"type": "result", "metrics": kept},
    ]


def test_a_secret_that_is_printed_as_a_name_gives_no_metric_of_a_part_of_it(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    printed = PrintedFile(log, SecretMask([TOKEN, "loss"]))
    log.write_text(f'step=1 loss=0.5 {TOKEN}=3\n{{"step": 2, "loss": 0.25, "{TOKEN}": 1.0}}\n')
    names = {name for _, values in printed.new(is_final=True) for name in values}
    assert names == {"loss", "masked"}


def test_a_shipper_that_broke_off_has_not_sent_everything(tmp_path: Path) -> None:
    (tmp_path / "reports.jsonl").write_text("no report\n")
    found = shipper(tmp_path, MemoryApi())
    found.start()
    assert not found.drain(timeout_s=120)
    assert found.is_refused
