"""Optimiser state as flat named tensors that any number of workers and servers can read.

Key: "<parameter>|<state>|<start>": the state's elements of that parameter from `start` on, shape (length,). State that
is one number a parameter (a step count), or of another size than the parameter, has the start "whole".
The state "owed-by-<worker>" is no optimiser's: what a worker's compressed gradients left out so far (compression.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

OWED = "owed-by-"
NOTHING = "nothing"  # key of a file without state: plain SGD has none, and a file must hold something


class Owned(NamedTuple):
    """A stretch of a parameter, and the tensor that an optimiser here updates for it."""

    parameter: str
    start: int
    tensor: Tensor


def collect(optimizer: torch.optim.Optimizer, owned: Sequence[Owned]) -> dict[str, Tensor]:
    """Copies, so that training can go on while they are written."""
    out: dict[str, Tensor] = {}
    for name, start, tensor in owned:
        for state, value in optimizer.state.get(tensor, {}).items():
            if not isinstance(value, Tensor):
                value = torch.tensor(value)
            if value.numel() == tensor.numel() and value.dim() > 0:
                out[f"{name}|{state}|{start}"] = value.detach().reshape(-1).cpu().clone()
            else:
                out[f"{name}|{state}|whole"] = value.detach().cpu().clone()
    return out


class Joined(NamedTuple):
    """Saved state put together: flat by parameter and state, and what is one value a parameter."""

    flat: Mapping[tuple[str, str], Tensor]
    whole: Mapping[tuple[str, str], Tensor]


def join(saved: Mapping[str, Tensor]) -> Joined:
    """Whoever owned which stretch when it was saved."""
    pieces: dict[tuple[str, str], list[tuple[int, Tensor]]] = {}
    whole: dict[tuple[str, str], Tensor] = {}
    for key, value in saved.items():
        if key == NOTHING:
            continue
        name, state, at = key.rsplit("|", 2)
        if at == "whole":
            whole[name, state] = value
        else:
            pieces.setdefault((name, state), []).append((int(at), value))
    return Joined({key: _joined(found) for key, found in pieces.items()}, whole)


def _joined(parts: list[tuple[int, Tensor]]) -> Tensor:
    """A stretch may be missing: its server came back without any state, and had not made a step when it was saved."""
    out, end = list[Tensor](), 0
    for start, value in sorted(parts, key=lambda p: p[0]):
        if start > end:
            out.append(value.new_zeros(start - end))
        out.append(value)
        end = start + value.numel()
    return torch.cat(out)


def restore(optimizer: torch.optim.Optimizer, owned: Sequence[Owned], saved: Joined) -> None:
    """The inverse of collect."""
    for name, start, tensor in owned:
        found = optimizer.state[tensor]
        for (parameter, key), value in saved.flat.items():
            if parameter == name and not key.startswith(OWED):
                part = value[start : start + tensor.numel()]
                if part.numel() < tensor.numel():
                    part = torch.cat([part, part.new_zeros(tensor.numel() - part.numel())])
                found[key] = part.reshape(tensor.shape).clone().to(tensor.device)
        for (parameter, key), value in saved.whole.items():
            if parameter == name:
                found[key] = value.clone()


def owed(
    saved: Joined, sizes: Sequence[tuple[str, int]], *,
    worker: int, n_workers: int, mean: Mapping[str, Tensor] | None = None,
) -> Tensor:  # fmt: skip
    """The residual to go on with, shape (n_elements,): its own, or an equal part of all when the gang was another.

    sizes: names and elements of the parameters, in the order of the flat vector. mean: by parameter, what workers
    without servers owed, who average where servers add up. Nothing that is owed gets lost.
    """
    owners = sorted({key for _, key in saved.flat if key.startswith(OWED)})
    if owners == sorted(f"{OWED}{i}" for i in range(n_workers)):
        owners, share = [f"{OWED}{worker}"], 1.0
    else:
        share = 1.0 / n_workers
    out = torch.zeros(sum(size for _, size in sizes))
    begin = 0
    for name, size in sizes:
        for owner in owners:
            if (name, owner) in saved.flat:
                out[begin : begin + size] += share * saved.flat[name, owner]
        if mean is not None and name in mean:
            out[begin : begin + size] += mean[name].reshape(-1) / n_workers
        begin += size
    return out


def owed_by_all(saved: Joined) -> dict[str, Tensor]:
    """By parameter, flat: the sum over workers; empty where nothing is owed."""
    out: dict[str, Tensor] = {}
    for (name, state), value in saved.flat.items():
        if state.startswith(OWED):
            out[name] = out[name] + value if name in out else value
    return out
