# SPDX-License-Identifier: Apache-2.0
"""How many of its epochs a script has trained, by what it prints: the progress of a job whose script reports none.

An epoch takes one worker or many through the same data, so the time that it takes says what workers are worth; the time
of a step does not, where each worker has a batch of its own. Pure, but for the file with the number of epochs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

MAX_EPOCHS = 1_000_000
FILE = "epochs.json"  # in the pod's folder of work
REPORTS_PROGRESS = 0  # in place of a number of epochs: the script says itself how far it is


@dataclass
class EpochProgress:
    """done: epochs of the present stage so far, with the part of the one that is trained now; None before a line has
    said it. total: those of the stage, 0 as long as it is not known. A stage, such as fine-tuning after pretraining,
    begins when the epochs of the one before are all trained and are counted from the first one again."""

    done: float | None = None
    total: int = 0
    before: int = 0  # epochs of the stages that ended
    _first: int = 1  # many count their epochs from 0
    _epoch: float = -1.0

    def enter(self, epoch: float, *, part: float = 1.0, total: int = 0) -> None:
        """A line of this epoch. part: of the epoch that is trained, from 0 to 1. total: as the line has it, or 0."""
        if not 0 <= epoch <= MAX_EPOCHS:  # which no NaN is either
            return
        if epoch == 0:
            self._first = 0
        if epoch <= max(1, self._first):
            self._end_stage(total, starts_anew=epoch < self._epoch)
        done = epoch if epoch != int(epoch) else epoch - self._first + min(1.0, max(0.0, part))
        if self.done is not None and epoch >= self._epoch:
            done = max(done, self.done)  # a bar that begins again within an epoch is of an evaluation
        self._epoch = epoch
        self.reach(done, total=total)

    def reach(self, done: float, *, total: int = 0) -> None:
        """So many epochs are trained."""
        if 0 < total <= MAX_EPOCHS:
            self.total = total
        if done >= 0:
            self.done = done

    def _end_stage(self, total: int, *, starts_anew: bool) -> None:
        """If all epochs of the present stage are trained, and a line is of the first epoch again, or of another number
        of them."""
        is_complete = self.done is not None and self.total > 0 and self.done >= self.total
        if is_complete and (starts_anew or total not in (0, self.total)):
            self.before += self.total
            self.done, self.total, self._epoch = None, 0, -1.0

    @property
    def place(self) -> tuple[float, int] | None:
        """Epochs trained, and all that are known of; None where one of them is not known."""
        if self.done is None or self.total == 0:
            return None
        return self.before + min(self.done, float(self.total)), self.before + self.total


def announce_epochs(work: Path, epochs: int) -> None:
    """For the launcher: how many epochs the script trains, by its options, or REPORTS_PROGRESS."""
    (work / f"{FILE}.new").write_text(json.dumps(epochs))
    (work / f"{FILE}.new").replace(work / FILE)


def announced_epochs(work: Path) -> int | None:
    """What the script's process announced; None when nothing, or nothing that can be read."""
    try:
        found = json.loads((work / FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, int) and 0 <= found <= MAX_EPOCHS else None
