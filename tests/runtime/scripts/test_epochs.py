# SPDX-License-Identifier: Apache-2.0
"""How many epochs a script has trained, by what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.runtime.launcher.printed_metrics import PrintedFile
from mlhub.runtime.launcher.script_result import EpochReports
from mlhub.runtime.scripts.arguments import epochs_of
from mlhub.runtime.scripts.lines.epochs import REPORTS_PROGRESS, EpochProgress, announce_epochs
from mlhub.wire.report import ProgressReport
from tests.runtime.scripts.test_script import gang


def progress_of(tmp_path: Path, *lines: str, announced: int = 0) -> EpochProgress:
    log = tmp_path / "output.log"
    log.touch()
    printed = PrintedFile(log)
    log.write_text("".join(f"{line}\n" for line in lines))
    printed.new()
    printed.progress.total = printed.progress.total or announced
    return printed.progress


@pytest.mark.parametrize(
    ("lines", "announced", "place"),
    [
        (("Epoch 1/20, Loss: 3.5", "Epoch 2/20, Loss: 3.1"), 0, (2.0, 20)),
        (("epoch=0 loss=1.0", "epoch=1 loss=0.5"), 4, (2.0, 4)),
        (("epoch=1 loss=1.0",), 4, (1.0, 4)),
        (("epoch=1 loss=1.0",), 0, None),
        (("epoch=0 step=100 loss=1.0", "epoch=2 step=500 loss=0.5"), 4, (2.0, 4)),
        (('{"epoch": 0.5, "loss": 1.0}',), 2, (0.5, 2)),
        (("Epoch [1/5], Step [100/600], Loss: 0.5", "Epoch [2/5], Step [300/600], Loss: 0.25"), 0, (1.5, 5)),
        (("Train Epoch: 2 [30000/60000 (50%)]\tLoss: 0.5", "Test set: Average loss: 0.04"), 14, (1.5, 14)),
        (("Epoch 0/24", "----------", "train Loss: 0.5 Acc: 0.8", "val Loss: 0.3 Acc: 0.9"), 0, (1.0, 24)),
        (("Epoch 2/3: 100%|####| 50/50 [00:01<00:00, 30it/s, loss=0.5]",), 0, (2.0, 3)),
        (
            (
                "Epoch 2: 100%|####| 50/50 [00:01<00:00, 30it/s, loss=0.5]",
                "Epoch 2: 50%|##  | 5/10 [00:01<00:00, 30it/s, val_loss=0.5]",  # an evaluation
            ),
            4,
            (2.0, 4),
        ),
        (("Epoch 2/4", "13/13 - 1s - 3ms/step - accuracy: 0.9 - loss: 0.2"), 0, (2.0, 4)),
        (
            ("{'loss': '0.5', 'epoch': '1.5'}", " 50%|#####     | 30/60 [00:02<00:02, 12.33it/s]"),
            0,
            (1.5, 3),
        ),
        (("Epoch 7/3, Loss: 1",), 0, (3.0, 3)),
        (("Epoch 2/3, Loss: 1", "Epoch 1/9, Loss: 2"), 0, (1.0, 9)),  # it begins anew
        (("Epoch 3/3, Loss: 1", "Epoch 1/9, Loss: 2"), 0, (4.0, 12)),  # a second stage
        (("Epoch 3/3, Loss: 1", "Epoch 3/3, Loss: 1", "Epoch 1/3, Loss: 2", "Epoch 2/3, Loss: 2"), 0, (5.0, 6)),
        (("Epoch 1/1, Loss: 1", "Epoch 1/4, Loss: 2", "Epoch 4/4, Loss: 1", "Epoch 1/2, Loss: 2"), 0, (6.0, 7)),
        (("Epoch 0/2", "train Loss: 0.5", "Epoch 1/2", "train Loss: 0.5", "Epoch 0/3", "train Loss: 1"), 0, (3.0, 5)),
        (("Epoch 3/3, Loss: 1", "Epoch 2/3: val Loss: 2"), 0, (2.0, 3)),
        (("epoch=nan loss=1", "epoch=-3 loss=1", "epoch=1e300 loss=2"), 4, None),
        (("Loaded 3 epochs of data", "loss=0.5"), 4, None),
    ],
)
def test_epochs_are_read_from_what_scripts_print(
    lines: tuple[str, ...], announced: int, place: tuple[float, int] | None, tmp_path: Path
) -> None:
    assert progress_of(tmp_path, *lines, announced=announced).place == place


@pytest.mark.parametrize(
    ("option", "words", "epochs"),
    [
        ("'--epochs', default=5", [], 5),
        ("'--epochs', default=5", ["--epochs=7"], 7),
        ("'-e', '--num-epochs'", ["-e", "3"], 3),
        ("'--num_train_epochs', default=3.0", [], 3),
        ("'--num_train_epochs', default=0.5", [], None),
        ("'--epochs', default=LONG", [], None),
        ("'--epochs', default=5", ["--epochs"], None),
        ("'--steps', default=5", [], None),
    ],
)
def test_how_many_epochs_a_script_trains_is_in_its_options(
    option: str, words: list[str], epochs: int | None, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(f"parser.add_argument({option})")
    assert epochs_of(tmp_path / "train.py", words) == epochs


def reports_of(tmp_path: Path, *moments: tuple[float, float], is_final: bool = False) -> list[ProgressReport]:
    """moments: seconds, and epochs done by then."""
    clock = iter(at for at, _ in moments)
    reports = EpochReports(tmp_path, gang(tmp_path, "").spec(n_workers=2), clock=lambda: next(clock))
    progress, found = EpochProgress(total=10), list[ProgressReport]()
    for i, (_, done) in enumerate(moments):
        progress.reach(done)
        if report := reports.report(progress, is_final=is_final and i == len(moments) - 1):
            found.append(report)
    return found


def test_an_epoch_takes_what_passed_since_the_last_one_was_completed(tmp_path: Path) -> None:
    found = reports_of(tmp_path, (0, 1), (1, 1), (20, 2), (30, 2.5), (32, 2.75), (44, 3))
    assert [(r.steps_done, r.epoch, r.step_s) for r in found] == [(1, 1, 0), (2, 2, 20), (2, 2.5, 20), (3, 3, 24)]
    assert {(r.steps_total, r.n_workers) for r in found} == {(10, 2)}


def test_short_epochs_are_reported_together_and_the_last_ones_are_not_lost(tmp_path: Path) -> None:
    found = reports_of(tmp_path, (0, 1), (1, 2), (2, 4), (6, 7), (7, 9), (60, 9), is_final=True)
    assert [(r.steps_done, r.step_s) for r in found] == [(1, 0), (7, 1), (9, 0.5)]


def test_a_script_that_reports_its_progress_is_not_read(tmp_path: Path) -> None:
    announce_epochs(tmp_path, REPORTS_PROGRESS)
    assert reports_of(tmp_path, (0, 1), (20, 2)) == []
    (tmp_path / "epochs.json").write_text("[")  # a pod's disk may be full
    assert len(reports_of(tmp_path, (0, 1), (20, 2))) == 2
