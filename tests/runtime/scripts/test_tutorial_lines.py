# SPDX-License-Identifier: Apache-2.0
"""Metrics in lines as people write them."""

from __future__ import annotations

import pytest

from mlhub.runtime.scripts.lines.frameworks import PrintedPoint
from mlhub.runtime.scripts.lines.tutorials import TutorialLines


def read(*lines: str) -> list[PrintedPoint]:
    parser = TutorialLines()
    return [point for line in lines if (point := parser.read(line)) is not None]


@pytest.mark.parametrize(
    ("lines", "points"),
    [
        (("Epoch 1/20, Loss: 3.5522", "Epoch 2/20, Loss: 3.1"), [(1, {"loss": 3.5522}), (2, {"loss": 3.1})]),
        (
            ("Epoch: 3 | Train Loss: 0.5 | Val. Loss: inf | LR: 1e-3",),
            [(3, {"loss": 0.5, "val_loss": float("inf"), "lr": 1e-3})],
        ),
        (
            (
                "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.3",
                "Train Epoch: 1 [640/60000 (1%)]\tLoss: 1.5",
                "Train Epoch: 2 [640/60000 (1%)]\tLoss: 0.5",
                "Test set: Average loss: 0.0480, Accuracy: 9845/10000 (98%)",
            ),
            [
                (0, {"loss": 2.3}),
                (640, {"loss": 1.5}),
                (60640, {"loss": 0.5}),
                (60640, {"test_average_loss": 0.048, "test_accuracy": 0.9845}),
            ],
        ),
        (
            ("Epoch 1\n", "-------", "loss: 2.303  [   64/60000]", "Test Error: ", " Accuracy: 50.9%, Avg loss: 2.15 "),
            [(64, {"loss": 2.303}), (64, {"accuracy": 50.9, "avg_loss": 2.15})],
        ),
        (
            ("[1,  2000] loss: 2.170", "[1,  4000] loss: 1.8", "[2,  2000] loss: 1.4"),
            [(2000, {"loss": 2.17}), (4000, {"loss": 1.8}), (6000, {"loss": 1.4})],
        ),
        (
            ("Epoch [1/5], Step [100/600], Loss: 0.5", "Epoch [2/5], Step [100/600], Loss: 0.25"),
            [(100, {"loss": 0.5}), (700, {"loss": 0.25})],
        ),
        (
            ("Epoch 0/24", "----------", "train Loss: 0.5 Acc: 0.8", "val Loss: 0.3 Acc: 0.9", "", "Best val Acc: 0.9"),
            [(0, {"loss": 0.5, "acc": 0.8}), (0, {"val_loss": 0.3, "val_acc": 0.9}), (0, {"best_val_acc": 0.9})],
        ),
        (
            ("step 0: train loss 4.2, val loss 4.3", "iter 10: loss 3.1, time 120.52ms, mfu -100.00%"),
            [(0, {"loss": 4.2, "val_loss": 4.3}), (10, {"loss": 3.1})],
        ),
        (
            ("Epoch: [0][  10/500]\tTime  0.2 ( 0.5)\tLoss 6.9e+00 (7.0e+00)\tAcc@1   0.50 (  0.20)",),
            [(10, {"loss": 6.9, "acc_1": 0.5})],
        ),
        (
            ("Epoch 1 Step 900 loss: 3", "Epoch 2 Step 1800 loss: 2"),
            [(900, {"loss": 3.0}), (1800, {"loss": 2.0})],
        ),
        (("2026-11-23 08:00:00,123 - INFO - Epoch 3: loss=0.5, gap=2",), [(3, {"loss": 0.5, "gap": 2.0})]),
        (
            ("Epoch 4 loss 0.5", "Accuracy of the network on the 10000 test images: 54 %"),
            [(4, {"loss": 0.5}), (4, {"test_accuracy": 54.0})],
        ),
    ],
)
def test_lines_of_common_scripts_are_metrics(lines: tuple[str, ...], points: list[PrintedPoint]) -> None:
    assert read(*lines) == points


def test_a_bar_counts_through_all_epochs_and_at_most_fifty_times_in_each() -> None:
    parser = TutorialLines()
    points = [
        point
        for epoch in (0, 1)
        for i in range(1, 251)
        if (
            point := parser.read(
                f"epoch {epoch}: {i * 100 // 250:3d}%|##  | {i}/250 [00:06<00:00, 36.81it/s, loss={i}]"
            )
        )
    ]
    assert [points[0], points[-1]] == [(1, {"loss": 1.0}), (500, {"loss": 250.0})]
    assert (250, {"loss": 250.0}) in points
    assert 80 <= len(points) <= 104
    assert [step for step, _ in points] == sorted({step for step, _ in points})


def test_what_lightning_shows_next_to_its_logger_is_left_to_the_files_of_that() -> None:
    assert read("Epoch 1/1  \u2501\u2501 16/16 225.09it/s v_num: 0.000", " train_loss: 0.332", "val_loss: 0.346") == []


@pytest.mark.parametrize(
    "line",
    [
        "the loss is 0.5",
        "Namespace(epochs=3, lr=0.1, step=2)",
        "Namespace(lr=0.1, epochs=3)",
        "loading with workers=4 from /data",
        "Epoch 5: saving the model to loss_3.pt",
        "Epoch 1: val_loss improved from inf to 0.5, saving model",
        "Epoch 3 took 12.5 s",
        "Found 3 classes, map: 10 files",
        "Files already downloaded and verified [3/4]",
        "{'loss': 0.5, 'epoch': 1.0}",
        "  eval_loss = 0.5",
        "13/13 \u2501\u2501 0s 5ms/step - accuracy: 0.9 - loss: 0.2",
        "Epoch 3: 100%|##| 16/16 [00:00<00:00, 50.00it/s, v_num=0, train_loss=0.5]",
        "  5%|#   | 5/100 [00:01<00:20, 3.00it/s]",
        "torch==2.1.0 loss-lib 3.0.1",
        "Accuracy: 0/0",
        "step 99999999999999999999 loss: 1",
        "epoch " * 20_000,  # by no rule does the time grow with the square of the length
        "10%|x|" + " " * 40_000 + "1/",
        "",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert read(line) == []
