"""What a worker learns from at one step: losses of micro-batches, each computed when asked for; or the examples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

Read = Callable[[], tuple[Any, Tensor]]


class MicroBatches:
    """An iterator over losses with their shares of the step's batch.

    read: inputs and targets of the next one, ready for the model. forward: the module to train. input_s: spent reading.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        share: float,
        *,
        read: Read,
        forward: Callable[..., Any],
        loss: Callable[[Any, Tensor], Tensor],
        autocast: torch.dtype | None = None,
        device: str = "cpu",
    ) -> None:
        """sizes: examples of each micro-batch. share: of all of them in the step's batch."""
        self.input_s = 0.0
        self.loss = loss
        self.share = share
        self._sizes, self._read, self._forward = sizes, read, forward
        self._autocast, self._device = autocast, device
        self._losses = self._each()

    def __iter__(self) -> Iterator[tuple[Tensor, float]]:
        return self

    def __next__(self) -> tuple[Tensor, float]:
        return next(self._losses)

    def whole(self) -> tuple[Any, Tensor]:
        """Inputs and targets of all micro-batches together, for who computes the loss in another way."""
        found = [self._timed() for _ in self._sizes]
        inputs, targets = zip(*found, strict=True)
        return (inputs[0], targets[0]) if len(found) == 1 else (torch.cat(inputs), torch.cat(targets))

    def precision(self) -> AbstractContextManager[object]:
        return nullcontext() if self._autocast is None else torch.autocast(self._device, dtype=self._autocast)

    def _each(self) -> Iterator[tuple[Tensor, float]]:
        n = sum(self._sizes)
        for size in self._sizes:
            inputs, targets = self._timed()
            with self.precision():
                loss = self.loss(self._forward(inputs), targets)
            yield loss, self.share * (size / n)

    def _timed(self) -> tuple[Any, Tensor]:
        began = time.perf_counter()
        found = self._read()
        self.input_s += time.perf_counter() - began
        return found
