# SPDX-License-Identifier: Apache-2.0
"""The error-feedback residual of an earlier attempt, when a job continues without compression: it is added once.

It is added to the mean gradient of the first step, after clipping, as the next compressed gradient would have had it.
So the sum of computed gradients and the sum of applied ones are equal in the end, whatever the strategies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from torch import Tensor

from mlhub.runtime.checkpoints.optimizer_state import merge, total_residual
from mlhub.runtime.checkpoints.step_folders import RESIDUALS, StepCheckpoint, write_tensors


class ErrorFeedbackResidual:
    """by_name: the residual of each parameter, in its shape or flat; empty when there is none."""

    def __init__(self, by_name: Mapping[str, Tensor]) -> None:
        self.by_name = dict(by_name)

    @classmethod
    def of(cls, resume: StepCheckpoint | None) -> ErrorFeedbackResidual:
        """The residual with which a job continues from a checkpoint."""
        return cls({} if resume is None else mean_residual(resume))

    def __bool__(self) -> bool:
        return bool(self.by_name)

    def add_to(self, gradients: Iterable[tuple[str, int, Tensor | None]], *, share: float = 1.0) -> None:
        """Adds the residual to gradients in place. It stays until clear(), since others may still add their shares.

        gradients: a parameter's name, and its gradient's elements from a position on. share: the fraction of the
        step's batch that this worker's gradient is of.
        """
        for name, start, gradient in gradients:
            if gradient is not None and name in self.by_name:
                part = self.by_name[name].reshape(-1)[start : start + gradient.numel()]
                gradient.add_(part.view_as(gradient).to(gradient.device), alpha=share)

    def clear(self) -> None:
        """Forgets the residual: the step in which it was added is done."""
        self.by_name = {}

    def write(self, folder: Path) -> None:
        """Writes the residual into a checkpoint from before that step."""
        if self.by_name:
            write_tensors(folder / RESIDUALS, self.by_name)


def mean_residual(saved: StepCheckpoint) -> dict[str, Tensor]:
    """The residual by parameter that each of any number of workers continues with.

    Servers add up what workers send, while here it is averaged: the sum of all residuals towards servers is what each
    worker has towards the mean.
    """
    return saved.residuals() or total_residual(merge(saved.optimizer()))
