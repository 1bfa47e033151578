# SPDX-License-Identifier: Apache-2.0
"""The batch of a training that may grow: chosen after each epoch by the progress that it makes a second.

Goodput is examples a second times what each is worth. The worth follows from the gradient noise scale, measured while
training; the time of a step is a line in the batch, fitted to the sizes that this attempt has tried. Sizes double,
since nothing is known of those far beyond. Sources: Qiao et al., Pollux, OSDI '21, sec. 3; McCandlish et al., 2018.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from mlhub.wire import environment as names

MIN_GAIN = 1.05  # of goodput, below which a change is not worth its disturbance
MEMORY_SHARE = 0.9  # of a worker's memory that twice its peak may take
LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True)
class AdaptedBatch:
    """length: of the batch, in declared batches. passes: in which each worker computes its part. reason: for people."""

    length: int
    passes: int
    reason: str


def efficiency(length: int, *, batch_size: int, noise_scale: float) -> float:
    """What an example is worth in a batch of so many declared ones, relative to the declared batch; in (0, 1]."""
    return (noise_scale + batch_size) / (noise_scale + length * batch_size)


def learning_rate_factor(length: int, *, batch_size: int, noise_scale: float, rule: str) -> float:
    """The factor of the learning rate at a batch of so many declared ones.

    rule: "adascale" = the declared steps that such a step is worth (Johnson et al., ICML '20), for SGD; "square_root"
    of the length, for optimisers that divide by the gradient's size, such as Adam (Malladi et al., NeurIPS '22).
    """
    if rule == "adascale":
        return length * efficiency(length, batch_size=batch_size, noise_scale=noise_scale)
    return length**0.5 if rule == "square_root" else 1.0


class PassLimit:
    """How many declared batches a pass of all workers may hold, by the memory that passes took so far."""

    def __init__(self) -> None:
        self._length = 1

    def passes(self, length: int, memory_share: float) -> int:
        """Returns the passes of so many declared batches. One may grow to twice what was held before, where twice the
        peak memory fits; memory_share: the largest part of its memory that any worker has taken so far.
        """
        if length > self._length and 2 * memory_share <= MEMORY_SHARE:
            self._length = min(length, 2 * self._length)
        return -(-length // self._length)


class BatchAdapter:
    """Chooses the batch between the declared one and a largest. All workers must be given the same numbers."""

    def __init__(self, *, batch_size: int, max_batch_size: int) -> None:
        self._batch_size = batch_size
        self._most = max(1, max_batch_size // batch_size)
        self._step_s: dict[int, float] = {}  # by length, as measured last
        self._limit = PassLimit()
        self.current = AdaptedBatch(1, 1, "")

    def choose(self, *, step_s: float, noise_scale: float | None, memory_share: float) -> AdaptedBatch:
        """Returns the batch of the next epoch.

        step_s: mean seconds of a step of the last one. noise_scale: in examples; None: not known. memory_share: the
        largest part of its memory that any worker has taken so far.
        """
        now = self.current.length
        self._step_s[now] = step_s
        if noise_scale is None:
            return self.current
        goodputs = {length: self._goodput(length, noise_scale) for length in self._candidates()}
        best = max(goodputs, key=lambda length: goodputs[length])
        if best == now or goodputs[best] < MIN_GAIN * goodputs[now]:
            return self.current
        passes = self._limit.passes(best, memory_share)
        words = (
            f"The gradient noise scale is {noise_scale:.0f} examples: batches of {best * self._batch_size} make "
            f"{goodputs[best] / goodputs[now]:.2f} times the progress a second of those of {now * self._batch_size}."
        )
        self.current = AdaptedBatch(best, passes, words + (f" In {passes} passes, by memory." if passes > 1 else ""))
        return self.current

    def _candidates(self) -> list[int]:
        """Powers of two up to twice the longest that was tried, and to the most."""
        limit = min(self._most, 2 * max(self._step_s))
        return [2**i for i in range(limit.bit_length()) if 2**i <= limit]

    def _goodput(self, length: int, noise_scale: float) -> float:
        worth = efficiency(length, batch_size=self._batch_size, noise_scale=noise_scale)
        return length / self._seconds(length) * worth

    def _seconds(self, length: int) -> float:
        """Of a step. With one size tried, half of its time is assumed not to grow: the next epoch shows it."""
        if length in self._step_s:
            return self._step_s[length]
        lengths = np.array(sorted(self._step_s), dtype=float)
        seconds = np.array([self._step_s[int(n)] for n in lengths])
        if len(lengths) == 1:
            return float(seconds[0] * (0.5 + 0.5 * length / lengths[0]))
        slope, start = np.polyfit(lengths, seconds, 1)
        return float(max(max(slope, 0.0) * length + max(start, 0.0), seconds.max()))


def memory_share(device: torch.device, variables: Mapping[str, str] = os.environ) -> float:
    """The largest part of its memory that this worker has taken: of its GPU's, else of its pod's."""
    if device.type == "cuda":
        _, total = torch.cuda.mem_get_info(device)
        return torch.cuda.max_memory_allocated(device) / total
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return peak / _memory_limit(variables)


def _memory_limit(variables: Mapping[str, str]) -> int:
    """What the pod may take, by its environment, its control group or the machine."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    texts = [variables.get(names.MEMORY_BYTES, ""), *(_text(Path(file)) for file in LIMIT_FILES)]
    return min([*found, *(int(text) for text in texts if text.isdigit() and int(text))])


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
