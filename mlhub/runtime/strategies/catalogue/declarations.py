# SPDX-License-Identifier: Apache-2.0
"""What a strategy declares about itself, without torch: its implementation, its parameters with types and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlhub.wire.launch import SyncMode


@dataclass(frozen=True)
class Parameter:
    """kind: int, float, bool or str. minimum is allowed itself, unless above_minimum. choices: of a str."""

    kind: type[Any]
    default: Any
    minimum: float | None = None
    maximum: float | None = None
    above_minimum: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class StrategyDeclaration:
    """One strategy of the catalogue; its name is the key under which it stands there.

    about: a description for users. mode: the mode that it runs in; None: either. implementation: "module:Class",
    relative to mlhub.runtime.strategies; it is imported only by jobs that use it.
    is_lockstep: all workers make every step together, on one batch; otherwise each leases batches of its own.
    survives: the death of a worker does not end the attempt. is_resizable: a checkpoint may be resumed by another
    number of workers. max_workers: an upper bound of the strategy itself.
    """

    about: str
    mode: SyncMode | None
    implementation: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    is_lockstep: bool = True
    survives: bool = False
    is_resizable: bool = True
    max_workers: int | None = None

    @property
    def servers_come_back(self) -> bool:
        """Whether a parameter server that dies is restarted alone, and continues from its own snapshot."""
        return self.survives and self.mode is SyncMode.PARAMETER_SERVER


@dataclass(frozen=True)
class Preset:
    """A named parameter set of a strategy, often by the name and with the defaults of another framework.

    given: parameter values. aliases: the preset's own parameter names -> the strategy's. products: a parameter of the
    strategy -> names of the preset, with their defaults, whose product is its value.
    """

    strategy: str
    given: Mapping[str, Any] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    products: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


COMPRESSIONS = (
    "none", "fp16", "one_bit", "scaled_sign", "two_bit", "dithering", "top_k", "random_k",
)  # implemented in mlhub.runtime.compression  # fmt: skip
COMPRESSION: Mapping[str, Parameter] = {
    "compression": Parameter(str, "none", choices=COMPRESSIONS),
    "threshold": Parameter(float, 0.5, minimum=0.0, above_minimum=True),
    "density": Parameter(float, 0.01, minimum=0.0, maximum=1.0, above_minimum=True),
    "levels": Parameter(int, 7, minimum=1, maximum=127),
    "partition": Parameter(str, "linear", choices=("linear", "natural")),
    "norm": Parameter(str, "max", choices=("max", "l2")),
    "feedback": Parameter(bool, True),
}
PERIOD = Parameter(int, 10, minimum=1, maximum=100_000)
WARMUP = Parameter(int, 0, minimum=0)  # steps of one process's training before the strategy begins
