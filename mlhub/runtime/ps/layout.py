# SPDX-License-Identifier: Apache-2.0
"""How shards divide a model: all parameters in one flat float32 vector, cut into equal stretches, one a shard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mlhub.runtime.compression.codecs import Codec
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.optimization.ftrl import FTRL
from mlhub.runtime.ps.embedding_tables import EmbeddingTablePlan
from mlhub.runtime.ps.wire.frames import CHUNK_BYTES

# Kernels take this many elements at once and round the few that are left another way: cuts in between would be seen.
GRAIN = 64

# A shard is updated, sent and received in chunks of this many elements.
CHUNK_ELEMENTS = CHUNK_BYTES // 4

# Optimisers whose step treats every element alike: only these may be cut anywhere.
ELEMENTWISE = ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "FTRL")


def optimizer_class(name: str) -> type[torch.optim.Optimizer] | None:
    """One of torch's, or our own (ftrl.py)."""
    found: type[torch.optim.Optimizer] | None = FTRL if name == "FTRL" else getattr(torch.optim, name, None)
    return found


@dataclass(frozen=True)
class ParameterSegment:
    """Elements [start, start + length) of a parameter, at offset in the shard; group: which of the optimiser's."""

    parameter: str
    start: int
    length: int
    offset: int
    group: int


@dataclass(frozen=True)
class ShardPlan:
    """What one server receives at START. options: of each parameter group, as torch.optim takes them."""

    size: int  # elements
    n_workers: int
    segments: tuple[ParameterSegment, ...]
    optimizer: str
    options: tuple[Mapping[str, Any], ...]
    resume_from: str | None = None  # folder of a checkpoint
    strategy: Mapping[str, Any] = field(default_factory=lambda: {"name": "bsp"})  # strategies/schema.py
    work: Mapping[str, Any] | None = None  # leases.Work, when workers go at their own pace
    rates: Mapping[str, Any] | None = None  # rates.LearningRates
    start: int = 0  # versions that were made before
    tables: tuple[EmbeddingTablePlan, ...] = ()  # embeddings that travel row by row; not among the segments

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> ShardPlan:
        """Raises TypeError, KeyError or ValueError for anything else than a plan."""
        segments = tuple(ParameterSegment(**segment) for segment in raw["segments"])
        tables = tuple(EmbeddingTablePlan(**table) for table in raw["tables"])
        plan = cls(**{**raw, "segments": segments, "options": tuple(raw["options"]), "tables": tables})
        if plan.optimizer not in ELEMENTWISE:
            raise ValueError(f"the optimiser {plan.optimizer!r} is not one of {', '.join(ELEMENTWISE)}")
        if sum(s.length for s in segments) != plan.size:
            raise ValueError("the segments do not add up to the shard's size")
        return plan

    def optimizer_for(
        self, weights: Tensor, *, begin: int, end: int
    ) -> tuple[torch.optim.Optimizer, list[SegmentPlace]]:
        """The optimiser of elements [begin, end) of the shard, over views of `weights`, and where its parameters lie.

        weights: of those elements, shape (end - begin,).
        """
        groups: list[list[nn.Parameter]] = [[] for _ in self.options]
        places = []
        for segment in self.segments:
            first, last = max(segment.offset, begin), min(segment.offset + segment.length, end)
            if first >= last:
                continue
            parameter = nn.Parameter(weights[first - begin : last - begin])
            groups[segment.group].append(parameter)
            places.append(
                SegmentPlace(segment.parameter, segment.start + first - segment.offset, first - begin, parameter)
            )
        kind = optimizer_class(self.optimizer)
        assert kind is not None  # from_json() has looked
        make: Callable[..., torch.optim.Optimizer] = kind
        return make([{"params": g, **o} for g, o in zip(groups, self.options, strict=True) if g]), places


class SegmentPlace(NamedTuple):
    """Elements of a parameter from `start` on, at `offset` in a chunk; tensor: what the optimiser updates for them."""

    parameter: str
    start: int
    offset: int
    tensor: nn.Parameter


def bounds(n_elements: int, n_shards: int, *, is_whole: bool = False) -> list[tuple[int, int]]:
    """Start and end of each shard's stretch of the flat vector; sizes differ by GRAIN elements at most.

    Of vectors too short for that, by one. is_whole: all of it is in the first shard.
    """
    if is_whole:
        return [(0, n_elements), *[(n_elements, n_elements)] * (n_shards - 1)]
    grain = GRAIN if n_elements >= GRAIN * n_shards else 1
    cuts = [round(i * n_elements / n_shards / grain) * grain for i in range(n_shards)]
    return list(pairwise([*cuts, n_elements]))


def plan_shards(
    named: Iterable[tuple[str, nn.Parameter]],
    optimizer: torch.optim.Optimizer,
    *,
    n_shards: int,
    n_workers: int,
    resume_from: str | None,
    is_whole: bool = False,
    **more: Any,
) -> list[ShardPlan]:
    """more: strategy, work, rates, start of the ShardPlan, when they are not the defaults.

    Raises BadInputError when the optimiser or a parameter cannot live on servers.
    """
    kind = type(optimizer).__name__
    if kind not in ELEMENTWISE or type(optimizer) is not optimizer_class(kind):
        raise BadInputError(
            f"The optimiser {kind} cannot be cut into stretches, as servers and the strategy sharded do.",
            field="build_optimizer",
            remedy=f"Use one of {', '.join(ELEMENTWISE)} (the last in mlhub.runtime.model) or the strategy all_reduce.",
        )
    group_of = {id(p): i for i, g in enumerate(optimizer.param_groups) for p in g["params"]}
    options = tuple(_plain({k: v for k, v in g.items() if k != "params"}) for g in optimizer.param_groups)
    places, offset = [], 0
    for name, parameter in named:
        if id(parameter) not in group_of:
            raise BadInputError(
                f"The optimiser does not hold the parameter {name}.",
                field="build_optimizer",
                remedy="Give it all parameters that require a gradient, or set requires_grad to False on the others.",
            )
        places.append((name, offset, parameter.numel(), group_of[id(parameter)]))
        offset += parameter.numel()
    plans = []
    for begin, end in bounds(offset, n_shards, is_whole=is_whole):
        segments = []
        for name, at, length, group in places:
            first, last = max(at, begin), min(at + length, end)
            if first < last:
                segments.append(ParameterSegment(name, first - at, last - first, first - begin, group))
        size = end - begin
        plans.append(ShardPlan(size, n_workers, tuple(segments), kind, options, resume_from, **more))
    return plans


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    plain = {}
    for key, value in options.items():
        if isinstance(value, tuple | list):
            value = [float(v) for v in value]
        if not isinstance(value, bool | int | float | str | list | None):
            raise BadInputError(
                f"The optimiser's option {key} is a {type(value).__name__}.",
                field="build_optimizer",
                remedy="Use plain numbers, or pin the mode all_reduce.",
            )
        plain[key] = value
    return plain


def push_bytes(n_elements: int, codec: Codec | None) -> int:
    """Bytes of a push of a shard; encoded chunk by chunk."""
    if codec is None:
        return 4 * n_elements
    whole, rest = divmod(n_elements, CHUNK_ELEMENTS)
    return whole * codec.n_bytes(CHUNK_ELEMENTS) + (codec.n_bytes(rest) if rest else 0)
