# SPDX-License-Identifier: Apache-2.0
"""The batches of a training: from a batch's step to the losses of its micro-batches, ready for the backward pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mlhub.runtime.data import augmentation
from mlhub.runtime.data.augmentation_options import check_augment
from mlhub.runtime.data.prefetching import MicroBatchTensors, Prefetcher
from mlhub.runtime.data.readers import Split
from mlhub.runtime.data.sampling import Indices, Schedule
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.model.contract import Contract
from mlhub.runtime.model.hyperparameters import Settings
from mlhub.runtime.strategies.protocol import Batch, Strategy
from mlhub.runtime.trainer.acceleration import in_format

AUTOCAST = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class ExampleSource:
    """The examples, and which of them make which step."""

    data: Split
    schedule: Schedule
    settings: Settings
    seed: int

    def share(self, batch: Batch) -> tuple[Indices, float]:
        """Positions of the examples of this part of the batch, and the fraction of the batch that they are."""
        whole = self.schedule.batch(batch.step, length=batch.length)
        own = self.schedule.share(batch.step, rank=batch.part, n_workers=batch.parts, length=batch.length)
        # a worker without examples takes part in the step with one that has no weight
        return (own, len(own) / len(whole)) if len(own) else (whole[:1], 0.0)

    def micro_batches(self, own: Indices, *, passes: int = 1) -> list[Indices]:
        """Splits positions into micro-batches: accumulation_steps a pass, if there are as many examples."""
        n = min(self.settings.accumulation_steps * passes, len(own))
        return np.array_split(own, n) if n > 1 else [own]

    def seed_of(self, batch: Batch) -> int:
        return self.seed * 1_000_003 + batch.step * 1_009 + batch.part


class BatchSource:
    """Gives the losses of each batch of a training, and reads the next examples meanwhile.

    Raises BadInputError when the examples cannot be augmented as asked.
    """

    def __init__(
        self, source: ExampleSource, contract: Contract, strategy: Strategy, heartbeat: Heartbeat, *, n_workers: int
    ) -> None:
        check_augment(source.settings.augment, source.data.facts)
        self._source, self._contract, self._strategy, self._heartbeat = source, contract, strategy, heartbeat
        self._n_workers = n_workers
        self._device = strategy.device()
        self._prefetcher = Prefetcher(self._read, self._next_batch)

    def losses(self, batch: Batch, module: nn.Module) -> MicroBatches:
        """The losses of the module on a batch, each computed when it is asked for.

        The random state is set by the step alone, so that dropout is the same after a resume.
        """
        own, share = self._source.share(batch)
        sizes = [len(positions) for positions in self._source.micro_batches(own, passes=batch.passes)]
        _set_seed(self._source.seed_of(batch), self._device)
        return MicroBatches(
            sizes,
            share,
            tensors=self._tensors(batch),
            forward=module,
            loss=self._contract.training_loss or self._contract.loss,
            autocast=AUTOCAST[self._source.settings.precision],
            device=self._device.type,
        )

    def close(self) -> None:
        self._prefetcher.close()

    def _tensors(self, batch: Batch) -> Iterator[tuple[Any, Tensor]]:
        """Inputs and targets of each micro-batch, on the device and preprocessed."""
        for inputs, targets in self._prefetcher.get(batch):
            prepared = self._contract.preprocess(inputs.to(self._device, non_blocking=True))
            prepared = in_format(prepared, self._source.settings)
            moved = targets.to(self._device, non_blocking=True)
            self._heartbeat.record("compute")
            yield prepared, moved

    def _read(self, batch: Batch) -> MicroBatchTensors:
        """Reads and augments the micro-batches of a batch. It runs in another thread, with its own random state."""
        own, _ = self._source.share(batch)
        data, augment = self._source.data, self._source.settings.augment
        generator = torch.Generator().manual_seed(self._source.seed_of(batch)) if augment else None
        found = []
        for positions in self._source.micro_batches(own, passes=batch.passes):
            chosen = data.train[positions]
            if generator is None:
                inputs, targets = data.batch(chosen)
            else:
                inputs, targets = augmentation.batch(data, chosen, augment, generator)
            if self._device.type == "cuda":
                inputs, targets = inputs.pin_memory(), targets.pin_memory()
            found.append((inputs, targets))
        return found

    def _next_batch(self, batch: Batch) -> Batch | None:
        """The batch after this one, where it can be known: asynchronous workers lease whatever batch is left."""
        is_known = self._strategy.is_lockstep or (self._n_workers == 1 and batch.parts == 1)
        following = batch.step + batch.length
        if not is_known or following >= self._source.schedule.steps_total:
            return None
        return replace(batch, step=following, length=self._strategy.length_at(following))


class MicroBatches:
    """An iterator over the losses of a batch's micro-batches with their shares of the step's batch.

    n: how many micro-batches there are. input_s: seconds spent so far on reading them.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        share: float,
        *,
        tensors: Iterator[tuple[Any, Tensor]],
        forward: Callable[..., Any],
        loss: Callable[[Any, Tensor], Tensor],
        autocast: torch.dtype | None = None,
        device: str = "cpu",
    ) -> None:
        """sizes: examples of each micro-batch. share: the fraction of the step's batch that all of them are.

        tensors: inputs and targets of each, ready for the model. forward: the module to train.
        """
        self.n, self.share, self.loss = len(sizes), share, loss
        self.input_s = 0.0
        self._sizes, self._tensors, self._forward = sizes, tensors, forward
        self._autocast, self._device = autocast, device
        self._losses = self._compute()

    def __iter__(self) -> Iterator[tuple[Tensor, float]]:
        return self

    def __next__(self) -> tuple[Tensor, float]:
        return next(self._losses)

    def whole(self) -> tuple[Any, Tensor]:
        """Inputs and targets of all micro-batches together, for strategies that compute the loss themselves."""
        found = [self._timed_read() for _ in self._sizes]
        inputs, targets = zip(*found, strict=True)
        return (inputs[0], targets[0]) if len(found) == 1 else (torch.cat(inputs), torch.cat(targets))

    def precision(self) -> AbstractContextManager[object]:
        return nullcontext() if self._autocast is None else torch.autocast(self._device, dtype=self._autocast)

    def _compute(self) -> Iterator[tuple[Tensor, float]]:
        n_examples = sum(self._sizes)
        for size in self._sizes:
            inputs, targets = self._timed_read()
            with self.precision():
                loss = self.loss(self._forward(inputs), targets)
            yield loss, self.share * (size / n_examples)

    def _timed_read(self) -> tuple[Any, Tensor]:
        began = time.perf_counter()
        found = next(self._tensors)
        self.input_s += time.perf_counter() - began
        return found


def _set_seed(value: int, device: torch.device) -> None:
    """Seeds this device only; torch.manual_seed() would also record a traceback for every kind that is not in use."""
    torch.default_generator.manual_seed(value)
    if device.type == "cuda":
        torch.cuda.manual_seed(value)
