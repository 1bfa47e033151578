"""What a strategy declares about itself, without torch: parameters with types and bounds, schemes, other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlhub.wire.launch import Mode


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
class Scheme:
    """mode: what it runs on; None: either. is_lockstep: all workers make every step together, one batch a step;
    otherwise each takes batches of its own. survives: a worker's death does not end the attempt. is_resizable: a
    checkpoint may be resumed by another number of workers. most_workers: never more."""

    about: str
    mode: Mode | None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    is_lockstep: bool = True
    survives: bool = False
    is_resizable: bool = True
    most_workers: int | None = None

    @property
    def servers_come_back(self) -> bool:
        """A parameter server that dies is replaced alone, and goes on from what it kept."""
        return self.survives and self.mode is Mode.PARAMETER_SERVER


@dataclass(frozen=True)
class Preset:
    """given: parameter values it stands for. aliases: its own parameter names -> ours. products: a parameter of ours
    -> its own names, with their defaults, that make it when multiplied."""

    scheme: str
    given: Mapping[str, Any] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    products: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


COMPRESSIONS = (
    "none", "fp16", "one_bit", "scaled_sign", "two_bit", "dithering", "top_k", "random_k",
)  # compression.py  # fmt: skip
FEWER_BYTES: Mapping[str, Parameter] = {
    "compression": Parameter(str, "none", choices=COMPRESSIONS),
    "threshold": Parameter(float, 0.5, minimum=0.0, above_minimum=True),
    "density": Parameter(float, 0.01, minimum=0.0, maximum=1.0, above_minimum=True),
    "levels": Parameter(int, 7, minimum=1, maximum=127),
    "partition": Parameter(str, "linear", choices=("linear", "natural")),
    "norm": Parameter(str, "max", choices=("max", "l2")),
    "feedback": Parameter(bool, True),
}
PERIOD = Parameter(int, 10, minimum=1, maximum=100_000)
WARMUP = Parameter(int, 0, minimum=0)  # steps of one process's training before the scheme begins
