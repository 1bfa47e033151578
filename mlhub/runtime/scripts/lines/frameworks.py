# SPDX-License-Identifier: Apache-2.0
"""Reads metrics from the lines that frameworks print by themselves: Keras's progress and the Trainer of Hugging Face.

Keras writes "13/13 ... - accuracy: 0.9 - loss: 0.2" after a line "Epoch 2/4"; the last such line of an epoch counts, at
the step epoch x batches. The Trainer writes a dictionary of Python without its step, which is in the progress bar that
it draws again behind it; without a bar, the values of a name are numbered from 1. The table of its log_metrics(), which
begins with "***** eval metrics *****", belongs to the last step that a bar has shown. The bar of a second Trainer in a
script begins anew: its steps are added to those of the first. Pure.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, field

from mlhub.runtime.scripts.lines.epochs import EpochProgress
from mlhub.wire.report import MAX_STEP

PrintedPoint = tuple[int, dict[str, float]]  # the step, and values by name
LEFT_OUT = ("epoch", "step")
_INVISIBLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x08")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_EPOCH = re.compile(r"Epoch (\d+)/(\d+)")
_KERAS = re.compile(rf"(\d+)/(\d+) .*?((?: - [A-Za-z_][\w/]*: {_NUMBER})+)")
_KERAS_VALUE = re.compile(rf" - ([A-Za-z_][\w/]*): ({_NUMBER})")
_TABLE = re.compile(r"\*{5} \w+ metrics \*{5}")
_ROW = re.compile(r"(\w+) += +(\S+)")
_BAR = re.compile(r"\d+%\|[^|]*\| *(\d+)/(\d+) ")
_EPOCHS_SO_FAR = re.compile(r"'epoch': '?(\d+(?:\.\d+)?)")


@dataclass
class FrameworkLines:
    """Holds what it read until the next line shows that it is whole. progress: is kept up to date."""

    progress: EpochProgress = field(default_factory=EpochProgress)
    _held: PrintedPoint | None = None  # of Keras
    _unplaced: dict[str, float] | None = None  # of the Trainer
    _table: dict[str, float] | None = None  # of the Trainer
    _last_step: int = 0  # that a bar of the Trainer has shown with values, of all Trainers together
    _bar: tuple[int, int] = (0, 0)  # the step of that bar, and the steps of its training
    _loss_step: int = 0  # of the last training loss, as its bar shows it
    _before: int = 0  # steps of the Trainers before this one
    _epochs_so_far: float = 0.0  # of the Trainer, in the values that are not placed yet
    _epoch: int | None = None  # of Keras: the one that is being trained
    _n_epochs: int = 0  # of Keras
    _n_batches: int = 0  # of that epoch; 0: not known yet
    _batch: int = 0
    _n_seen: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def read(self, line: str) -> list[PrintedPoint]:
        """What became whole with this line."""
        text = _INVISIBLE.sub("", line).strip()
        if not text:
            return []
        released = self._release_unplaced(text)
        row = _ROW.fullmatch(text) if line.startswith("  ") else None  # rows are indented
        if self._table is not None and row is not None:
            if row[1] not in LEFT_OUT and (value := _number(row[2])) is not None:
                self._table[row[1]] = value
            return released
        released += self._release_table()
        if _TABLE.fullmatch(text) is not None:
            self._table = {}
        elif (epoch := _EPOCH.fullmatch(text)) is not None:
            released += self._release_held()
            self._epoch, self._n_epochs, self._n_batches, self._batch = int(epoch[1]), int(epoch[2]), 0, 0
        elif (progress := _KERAS.fullmatch(text)) is not None:
            released += self._keras(int(progress[1]), int(progress[2]), progress[3])
        elif (values := _dictionary(text)) is not None:
            self._unplaced = values
            so_far = _EPOCHS_SO_FAR.search(text)
            self._epochs_so_far = float(so_far[1]) if so_far is not None else 0.0
        else:
            released += self._release_held()
        return released

    def end(self) -> list[PrintedPoint]:
        """What is left when nothing more comes."""
        return [*self._release_unplaced(""), *self._release_table(), *self._release_held()]

    def _keras(self, batch: int, n_batches: int, values: str) -> list[PrintedPoint]:
        """Progress that begins again within an epoch is of an evaluation, which prints the same names."""
        is_training = self._epoch is not None and batch >= self._batch and self._n_batches in (0, n_batches)
        if not is_training:
            self._epoch = None
            return self._release_held()
        assert self._epoch is not None
        self._batch, self._n_batches = batch, n_batches
        self.progress.enter(self._epoch, part=batch / max(1, n_batches), total=self._n_epochs)
        if batch == n_batches:
            found = {match[1]: float(match[2]) for match in _KERAS_VALUE.finditer(values)}
            self._held = (self._epoch * n_batches, found)
        return []

    def _release_held(self) -> list[PrintedPoint]:
        held, self._held = self._held, None
        return [held] if held is not None and held[0] <= MAX_STEP else []

    def _release_table(self) -> list[PrintedPoint]:
        values, self._table = self._table, None
        return [(self._last_step, values)] if values else []

    def _release_unplaced(self, text: str) -> list[PrintedPoint]:
        values, self._unplaced = self._unplaced, None
        if values is None:
            return []
        bar = _BAR.match(text)
        if bar is not None:
            step, n_steps = int(bar[1][:15]), int(bar[2][:15])
            self._place(step, n_steps, is_loss="loss" in values)
            if step:  # the bar is of all epochs, of which there may be a part
                n_epochs = self._epochs_so_far * n_steps / step
                self.progress.reach(self._epochs_so_far, total=max(1, round(n_epochs)))
            return [(self._last_step, values)]
        for name in values:
            self._n_seen[name] += 1
        return [(max(self._n_seen[name] for name in values), values)]

    def _place(self, step: int, n_steps: int, *, is_loss: bool) -> None:
        """A training loss at a step that had one already, or of another length before the end of the former training,
        is of another Trainer; one that goes on from a checkpoint, for longer, begins behind that end.

        A bar of another length behind other values is that of an evaluation, which is drawn again, too.
        """
        last, n_before = self._bar
        if is_loss:
            if self._bar != (0, 0) and (step <= self._loss_step or (n_steps != n_before and step <= last)):
                self._before = self._last_step
            self._loss_step = step
        elif n_before not in (0, n_steps):
            return
        self._bar, self._last_step = (step, n_steps), self._before + step


def _dictionary(text: str) -> dict[str, float] | None:
    """The numbers of a dictionary such as {'loss': '0.5', 'epoch': 1.0} without a step; None for any other line."""
    if not text.startswith("{'") or not text.endswith("}"):
        return None
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(found, dict) or "epoch" not in found or "step" in found:
        return None
    numbers = {str(name): _number(value) for name, value in found.items() if name not in LEFT_OUT}
    return {name: value for name, value in numbers.items() if value is not None} or None


def _number(value: object) -> float | None:
    """Version 5 of the Trainer prints numbers as strings."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
