"""How a model lies over shards: all parameters in one flat float32 vector, cut into equal stretches, one a shard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError

# Optimisers whose step treats every element alike: only these may be cut anywhere.
ELEMENTWISE = ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop")


@dataclass(frozen=True)
class Segment:
    """Elements [start, start + length) of a parameter, at offset in the shard; group: which of the optimiser's."""

    parameter: str
    start: int
    length: int
    offset: int
    group: int


@dataclass(frozen=True)
class ShardPlan:
    """What one server is told at START. options: of each parameter group, as torch.optim takes them."""

    size: int  # elements
    n_workers: int
    segments: tuple[Segment, ...]
    optimizer: str
    options: tuple[Mapping[str, Any], ...]
    resume_from: str | None = None  # folder of a checkpoint

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> ShardPlan:
        """Raises TypeError, KeyError or ValueError for anything else than a plan."""
        segments = tuple(Segment(**segment) for segment in raw["segments"])
        plan = cls(**{**raw, "segments": segments, "options": tuple(raw["options"])})
        if plan.optimizer not in ELEMENTWISE:
            raise ValueError(f"the optimiser {plan.optimizer!r} is not one of {', '.join(ELEMENTWISE)}")
        if sum(s.length for s in segments) != plan.size:
            raise ValueError("the segments do not add up to the shard's size")
        return plan

    def build(self, weights: Tensor, gradient: Tensor) -> tuple[torch.optim.Optimizer, list[nn.Parameter]]:
        """The optimiser over views of the shard's flat vectors, and its parameters in the order of the segments."""
        groups: list[list[nn.Parameter]] = [[] for _ in self.options]
        parameters = []
        for segment in self.segments:
            end = segment.offset + segment.length
            parameter = nn.Parameter(weights[segment.offset : end])
            parameter.grad = gradient[segment.offset : end]
            groups[segment.group].append(parameter)
            parameters.append(parameter)
        kind = getattr(torch.optim, self.optimizer)
        named = [{"params": g, **o} for g, o in zip(groups, self.options, strict=True) if g]
        return kind(named), parameters


def bounds(n_elements: int, n_shards: int) -> list[tuple[int, int]]:
    """Start and end of each shard's stretch of the flat vector; sizes differ by one element at most."""
    cuts = [round(i * n_elements / n_shards) for i in range(n_shards + 1)]
    return list(pairwise(cuts))


def plan_shards(
    named: Iterable[tuple[str, nn.Parameter]],
    optimizer: torch.optim.Optimizer,
    *,
    n_shards: int,
    n_workers: int,
    resume_from: str | None,
) -> list[ShardPlan]:
    """Raises BadInputError when the optimiser or a parameter cannot live on servers."""
    kind = type(optimizer).__name__
    if kind not in ELEMENTWISE or type(optimizer) is not getattr(torch.optim, kind, None):
        raise BadInputError(
            f"The optimiser {kind} cannot run on parameter servers.",
            field="build_optimizer",
            remedy=f"Use one of {', '.join(ELEMENTWISE)} from torch.optim, or pin the mode all_reduce.",
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
    for begin, end in bounds(offset, n_shards):
        segments = []
        for name, at, length, group in places:
            first, last = max(at, begin), min(at + length, end)
            if first < last:
                segments.append(Segment(name, first - at, last - first, first - begin, group))
        plans.append(ShardPlan(end - begin, n_workers, tuple(segments), kind, options, resume_from))
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
