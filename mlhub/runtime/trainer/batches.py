"""What a worker learns from at a step: its examples, ready for the device, and the randomness that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mlhub.runtime.data import augmentation
from mlhub.runtime.data.prefetching import Micros, Prefetcher
from mlhub.runtime.data.readers import Split
from mlhub.runtime.data.sampling import Indices, Schedule
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.model.contract import Contract
from mlhub.runtime.model.hyperparameters import Settings
from mlhub.runtime.strategies.protocol import Batch, Strategy
from mlhub.runtime.trainer.microbatches import MicroBatches

AUTOCAST = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class ExampleSource:
    """Where examples come from, and which of them make which step."""

    data: Split
    schedule: Schedule
    settings: Settings
    seed: int

    def share(self, order: Batch) -> tuple[Indices, float]:
        """Positions of the examples to learn from, and their part of the step's batch."""
        whole = self.schedule.batch(order.step)
        own = self.schedule.share(order.step, rank=order.part, n_workers=order.parts)
        # without examples a worker takes part in the step, and weighs nothing
        return (own, len(own) / len(whole)) if len(own) else (whole[:1], 0.0)

    def micro(self, own: Indices) -> list[Indices]:
        """As many micro-batches as there are examples for, at most accumulation_steps."""
        n = min(self.settings.accumulation_steps, len(own))
        return np.array_split(own, n) if n > 1 else [own]

    def seed_of(self, order: Batch) -> int:
        return self.seed * 1_000_003 + order.step * 1_009 + order.part


class BatchSource:
    """All of a training. Raises BadInputError when its examples cannot be augmented as asked."""

    def __init__(
        self, source: ExampleSource, contract: Contract, strategy: Strategy, pulse: Heartbeat, *, n_workers: int
    ) -> None:
        augmentation.check(source.settings.augment, source.data.facts.get("input_shape", ()))
        self._source, self._contract, self._strategy, self._pulse = source, contract, strategy, pulse
        self._n_workers = n_workers
        self._device = strategy.device()
        self._feed = Prefetcher(self._made, self._foreseen)

    def begin(self, order: Batch, module: nn.Module) -> tuple[MicroBatches, int]:
        """The step's losses of the module, and of how many micro-batches. What is random in it does not depend on what
        was before, so that dropout survives a resume."""
        own, share = self._source.share(order)
        sizes = [len(positions) for positions in self._source.micro(own)]
        ready = Micros()

        def read() -> tuple[Any, Tensor]:
            if not ready:
                ready.extend(self._feed.take(order))
            inputs, targets = ready.pop(0)
            inputs = self._contract.preprocess(inputs.to(self._device, non_blocking=True))
            found = inputs, targets.to(self._device, non_blocking=True)
            self._pulse.beat("compute")
            return found

        _set_seed(self._source.seed_of(order), self._device)
        lesson = MicroBatches(
            sizes,
            share,
            read=read,
            forward=module,
            loss=self._contract.loss,
            autocast=AUTOCAST[self._source.settings.precision],
            device=self._device.type,
        )
        return lesson, len(sizes)

    def close(self) -> None:
        self._feed.close()

    def _made(self, order: Batch) -> Micros:
        """An order's micro-batches, on their way to the device. In another thread: with no randomness but its own."""
        own, _ = self._source.share(order)
        data, wanted = self._source.data, self._source.settings.augment
        generator = torch.Generator().manual_seed(self._source.seed_of(order)) if wanted else None
        found = []
        for positions in self._source.micro(own):
            inputs, targets = data.batch(data.train[positions])
            if generator is not None:
                inputs = augmentation.augmented(inputs, wanted, generator)
            if self._device.type == "cuda":
                inputs, targets = inputs.pin_memory(), targets.pin_memory()
            found.append((inputs, targets))
        return found

    def _foreseen(self, order: Batch) -> Batch | None:
        """In lockstep everybody knows the next step; at their own pace workers take what is left."""
        is_known = self._strategy.is_lockstep or (self._n_workers == 1 and order.parts == 1)
        is_last = order.step + 1 == self._source.schedule.steps_total
        return replace(order, step=order.step + 1) if is_known and not is_last else None


def _set_seed(value: int, device: torch.device) -> None:
    """torch.manual_seed() seeds every kind of device, and writes down who asked for each that is not in use."""
    torch.default_generator.manual_seed(value)
    if device.type == "cuda":
        torch.cuda.manual_seed(value)
