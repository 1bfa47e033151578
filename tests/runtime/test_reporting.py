# SPDX-License-Identifier: Apache-2.0
"""What a pod reports can be stored, whatever the user's code put into its messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mlhub.core.api.parsers import check_values
from mlhub.core.errors import InvalidInputError
from mlhub.metrics.reports import read_report
from mlhub.runtime.reporting import Reporter
from mlhub.wire.report import ResultReport

HOSTILE = "no \x00 such file: caf\udce9 \ud83d"


def test_a_failure_whose_message_holds_what_no_database_stores_is_reported_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        check_values({"message": HOSTILE})
    Reporter(tmp_path / "reports").failure("user_code", HOSTILE, f"ValueError: {HOSTILE}")
    (line,) = (tmp_path / "reports").read_text().splitlines()
    report = json.loads(line)
    check_values(report)
    assert report["message"] == "no \ufffd such file: caf\ufffd \ufffd"
    assert report["cause"] == "user_code"


def test_text_beyond_the_basic_plane_is_reported_as_it_is(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path / "reports")
    reporter.phase("stalled", detail={"doing": "\U0001f600 train", "steps": [1, 2.5, None]})
    report = json.loads((tmp_path / "reports").read_text())
    assert report["detail"]["detail"] == {"doing": "\U0001f600 train", "steps": [1, 2.5, None]}


@pytest.mark.parametrize("value", [{"loss": 0.5}, "high", None, [0.5, 0.4]])
def test_a_metric_that_is_no_number_is_named(value: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"The metric train/loss is a \w+; report one number for each metric"):
        Reporter(tmp_path / "reports").metrics(step=1, epoch=0.0, values={"train/loss": value})


def test_the_final_metrics_of_any_code_are_a_report_that_the_platform_takes(tmp_path: Path) -> None:
    """It refuses a report with other names or values, and every further attempt would end in the same way."""
    values = {"eval/loss": np.float32(0.5), "eval/top 5": 0.9, "eval/r2": float("nan"), "x" * 999: 1, "größe\ud800": 2}
    many = {f"m{i}": 1.0 for i in range(999)}
    Reporter(tmp_path / "reports").result(steps=3, values=values | many, artifacts={})
    report = read_report(json.loads((tmp_path / "reports").read_text()), number=0)
    assert isinstance(report, ResultReport)
    assert report.metrics["eval/loss"] == 0.5
    assert report.metrics["eval/top_5"] == 0.9
    assert "eval/r2" not in report.metrics


def test_scalars_of_numpy_and_torch_are_numbers(tmp_path: Path) -> None:
    values = {"a": np.float32(0.5), "b": torch.tensor(0.25), "c": float("nan"), "d": True}
    Reporter(tmp_path / "reports").metrics(step=1, epoch=0.0, values=values)
    assert json.loads((tmp_path / "reports").read_text())["values"] == {"a": 0.5, "b": 0.25, "d": 1.0}
