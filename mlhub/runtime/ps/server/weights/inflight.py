# SPDX-License-Identifier: Apache-2.0
"""What is under way in a shard: pushes that arrive chunk by chunk, the versions they go into, sums of all workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from mlhub.runtime.ps.rules import Contribution


@dataclass
class InflightPush:
    """A push under way. buffers: by chunk, what was received and is not used up yet. n_arrived: chunks.

    is_shared: buffers are the worker's memory, which is the worker's again after the reply.
    is_repeated: it was used before the server died, and only its reply is missing.
    """

    worker: int
    buffers: list[Tensor | None]
    number: int = 0
    is_repeated: bool = False
    n_arrived: int = 0
    is_over: bool = False  # nothing more of it will come
    is_discarded: bool = False
    is_shared: bool = False
    version: int | None = None  # that it goes into, once this is decided


@dataclass
class PendingVersion:
    """A version that is being made. n_missing: by chunk, how many of its pushes have not arrived there."""

    version: int
    parts: list[tuple[Contribution, InflightPush]]
    n_missing: list[int]
    n_to_apply: int


@dataclass
class PendingSum:
    """A sum to which every participant contributes once, and which all of them receive."""

    rows: dict[int, tuple[float, ...]] = field(default_factory=dict)
    generation: int = 0
    reply: tuple[float, ...] = ()
