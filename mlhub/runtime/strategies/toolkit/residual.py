"""What compressed gradients of an earlier attempt left out, when a job goes on without compression: paid once.

It is added to the mean gradient of the first step, after clipping, as the next compressed gradient would have had it.
So what was computed before the change and what arrived in the end are the same, whatever the strategies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from torch import Tensor

from mlhub.runtime.checkpoints.optimizer_state import join, owed_by_all
from mlhub.runtime.checkpoints.step_folders import RESIDUALS, Checkpoint, write_tensors


class ErrorFeedbackResidual:
    """by_name: in the parameters' shapes, or flat; empty when nothing is owed."""

    def __init__(self, by_name: Mapping[str, Tensor]) -> None:
        self.by_name = dict(by_name)

    @classmethod
    def of(cls, resume: Checkpoint | None) -> ErrorFeedbackResidual:
        return cls({} if resume is None else mean_owed(resume))

    def __bool__(self) -> bool:
        return bool(self.by_name)

    def pay(self, gradients: Iterable[tuple[str, int, Tensor | None]], *, share: float = 1.0) -> None:
        """gradients: a parameter's name, and its gradient's elements from a place on. share: of the step's batch, as
        this worker's gradient has it. Nothing is crossed off: others may still have to pay their shares."""
        for name, start, gradient in gradients:
            if gradient is not None and name in self.by_name:
                part = self.by_name[name].reshape(-1)[start : start + gradient.numel()]
                gradient.add_(part.view_as(gradient).to(gradient.device), alpha=share)

    def settle(self) -> None:
        """The step in which it was paid is done."""
        self.by_name = {}

    def write(self, folder: Path) -> None:
        """Into a checkpoint from before that step."""
        if self.by_name:
            write_tensors(folder / RESIDUALS, self.by_name)


def mean_owed(saved: Checkpoint) -> dict[str, Tensor]:
    """By parameter, what each of any number of workers goes on with. Servers add up what workers send, and here it is
    averaged: what all owed to servers together is what each owes here."""
    return saved.residuals() or owed_by_all(join(saved.optimizer()))
