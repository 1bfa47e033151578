# SPDX-License-Identifier: Apache-2.0
"""Metrics in what a script prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.runtime.launcher.printed_metrics import PrintedFile, PrintedMetrics


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("step=10 loss=0.5 acc=0.25", (10, {"loss": 0.5, "acc": 0.25})),
        ("step=10, loss=5e-1, eval/acc=25%", (10, {"loss": 0.5, "eval/acc": 25.0})),
        ("2026-11-23 08:00:00 INFO epoch=3 | val_loss=.125 (12 ms)", (3, {"val_loss": 0.125})),
        ("epoch=1 global_step=40 loss=1", (40, {"loss": 1.0})),
        ("loss=0.5", (1, {"loss": 0.5})),
        ('{"step": 7, "loss": 0.25, "phase": "train", "is_best": true}', (7, {"loss": 0.25})),
    ],
)
def test_pairs_and_objects_are_metrics(line: str, read: tuple[int, dict[str, float]]) -> None:
    assert PrintedMetrics().read(line) == read


@pytest.mark.parametrize(
    "line",
    [
        "Namespace(epochs=3, lr=0.1, step=2)",
        "loading with workers=4 from /data",
        "step=3",
        "the loss is 0.5",
        "step=-1 loss=0.5",
        "step=nan loss=0.5",
        "url=http://host/?x=1",
        '{"step": 7}',
        '{"broken',
        '{"loss": 1' + "0" * 400 + "}",
        '{"loss": ' + "[" * 4000,
        f"step={2**53 + 2} loss=0.5",
        '{"step": 1e300, "loss": 0.5}',
        "",
    ],
)
def test_settings_and_sentences_are_none(line: str) -> None:
    assert PrintedMetrics().read(line) is None


def test_a_value_without_a_step_belongs_to_the_last_that_was_named_or_is_numbered() -> None:
    numbered, named = PrintedMetrics(), PrintedMetrics()
    assert [numbered.read(f"loss={x}") for x in (3, 2)] == [(1, {"loss": 3.0}), (2, {"loss": 2.0})]
    named.read("step=20 loss=1")
    assert named.read("val_loss=0.5") == (20, {"val_loss": 0.5})


def test_lines_are_read_once_as_they_become_whole_and_the_last_in_the_end(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_text("step=1 loss=9\n")  # of another attempt
    printed = PrintedFile(log)
    with log.open("a") as file:
        file.write("step=2 loss=2\r 50%|###| 1/2 [00:01]\rstep=3 lo")
        file.flush()
        assert printed.new() == [(2, {"loss": 2.0})]
        file.write("ss=3")
    assert printed.new() == []
    assert printed.new(is_final=True) == [(3, {"loss": 3.0})]
    assert printed.new(is_final=True) == []


def test_a_line_that_never_ends_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.launcher.printed_metrics.MAX_READ_BYTES", 64)
    log = tmp_path / "output.log"
    printed = PrintedFile(log)
    log.write_text("x" * 5000 + "\nstep=1 loss=0.5\n")
    assert printed.new() == [(1, {"loss": 0.5})]
