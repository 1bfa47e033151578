# SPDX-License-Identifier: Apache-2.0
"""Metrics in what Keras and the Trainer of Hugging Face print by themselves."""

from __future__ import annotations

from pathlib import Path

from mlhub.runtime.launcher.printed_metrics import PrintedFile
from mlhub.runtime.scripts.lines.frameworks import FrameworkLines

BAR = "\x1b[1m{n}/13\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m━━\x1b[0m \x1b[1m0s\x1b[0m 9ms/step - accuracy: {a} - loss: {l}"
CAUGHT_UP = " 33%|███▎      | 10/30 [00:00<00:00, 29.20it/s]"


def read(*lines: str) -> list[tuple[int, dict[str, float]]]:
    reader = FrameworkLines()
    return [point for line in lines for point in reader.read(line)] + reader.end()


def test_an_epoch_of_keras_is_one_point_with_its_validation_and_an_evaluation_is_none() -> None:
    assert read(
        "Epoch 1/2",
        BAR.format(n=" 1", a=0.1, l=0.9) + "\b" * 80,
        BAR.format(n="13", a=0.5, l=0.7),
        BAR.format(n="13", a=0.5, l=0.7) + " - val_loss: 6e-1",
        "Epoch 2/2",
        BAR.format(n="13", a=0.75, l=0.5),
        BAR.format(n=" 1", a=0.0, l=8.0),
        BAR.format(n="13", a=0.0, l=8.0),
    ) == [(13, {"accuracy": 0.5, "loss": 0.7, "val_loss": 0.6}), (26, {"accuracy": 0.75, "loss": 0.5})]


def test_keras_is_read_with_one_line_for_each_epoch_too() -> None:
    lines = ("Epoch 3/4", "16/16 - 1s - 60ms/step - accuracy: 0.9000 - loss: 0.3000")
    assert read(*lines) == [(48, {"accuracy": 0.9, "loss": 0.3})]


def test_the_trainer_of_hugging_face_prints_its_step_in_the_bar_behind_its_values() -> None:
    printed = "{'loss': '3.196', 'learning_rate': '5e-05', 'epoch': '0.5'}"
    assert read(printed, "   ", CAUGHT_UP, CAUGHT_UP) == [(10, {"loss": 3.196, "learning_rate": 5e-05})]


def test_the_table_of_its_metrics_belongs_to_the_last_step() -> None:
    rows = (
        "  epoch         =        4.0",
        "  eval_accuracy = 0.75",
        "  eval_runtime  = 0:00:00.08",
        "  total_flos = 0GF",
    )
    lines = ("{'loss': '1', 'epoch': '4'}", CAUGHT_UP, "***** eval metrics *****", *rows, "lr = 5")
    assert read(*lines) == [(10, {"loss": 1.0}), (10, {"eval_accuracy": 0.75})]


def trainer_bar(step: int, of: int) -> str:
    return f" {100 * step // of}%|###   | {step}/{of} [00:00<00:00, 29.20it/s]"


def test_steps_of_a_second_trainer_are_added_to_those_of_the_first() -> None:
    loss, tested = "{'loss': '1', 'epoch': '1'}", "{'eval_loss': '2', 'epoch': '1'}"
    first = (loss, trainer_bar(10, 20), loss, trainer_bar(20, 20), tested, trainer_bar(20, 20))
    same_length = (loss, trainer_bar(10, 20), tested, trainer_bar(10, 20), loss, trainer_bar(20, 20))
    longer = (loss, trainer_bar(20, 40), loss, trainer_bar(40, 40))
    steps = [step for step, _ in read(*first, *same_length, *longer)]
    assert steps == [10, 20, 20, 30, 30, 40, 60, 80]


def test_a_training_that_goes_on_for_longer_and_the_bars_of_evaluations_are_of_the_same_trainer() -> None:
    loss, tested = "{'loss': '1', 'epoch': '1'}", "{'eval_loss': '2', 'epoch': '1'}"
    lines = (loss, trainer_bar(10, 20), tested, trainer_bar(3, 3), loss, trainer_bar(20, 20), loss, trainer_bar(30, 40))
    assert [step for step, _ in read(*lines)] == [10, 10, 20, 30]


def test_without_a_bar_its_values_are_numbered_by_name() -> None:
    lines = ("{'loss': 2.0, 'epoch': 0.5}", "{'loss': 1.0, 'epoch': 1.0}", "{'eval_loss': 3.0, 'epoch': 1.0}", "done")
    assert read(*lines) == [(1, {"loss": 2.0}), (2, {"loss": 1.0}), (1, {"eval_loss": 3.0})]


def test_other_dictionaries_and_sentences_are_no_metrics() -> None:
    lines = (
        "{'lr': 0.1, 'layers': 2}",
        "{'epoch': [}",
        "3/4 of the files - loss: none",
        "12/13 - loss: 0.5",
        CAUGHT_UP,
    )
    assert read(*lines) == []


def test_what_the_last_line_shows_arrives_in_the_end(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    printed = PrintedFile(log)
    log.write_text("Epoch 1/1\n2/2 - 1s - 60ms/step - loss: 0.5\nstep=7 acc=1\n2 files\n{'loss': 4.0, 'epoch': 1}")
    assert printed.new() == [(2, {"loss": 0.5}), (7, {"acc": 1.0})]
    assert printed.new(is_final=True) == [(1, {"loss": 4.0})]
