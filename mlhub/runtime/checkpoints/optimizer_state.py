# SPDX-License-Identifier: Apache-2.0
"""Optimiser state as flat named tensors, which any number of workers and servers can read.

A key is "<parameter>|<state>|<start>": the state's elements of that parameter from `start` on, shape (length,). State
that is one number a parameter (a step count), or of another size than the parameter, has the start "whole".
The state "owed-by-<worker>" belongs to no optimiser: it is the residual of a worker's error feedback, the part of its
gradients that compression has left out so far (mlhub.runtime.compression).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

RESIDUAL_STATE = "owed-by-"  # part of the file format: older checkpoints contain it
EMPTY_STATE = "nothing"  # key of a file without state: plain SGD has none, and a file must hold a tensor


class ParameterSlice(NamedTuple):
    """A stretch of a parameter, and the tensor that an optimiser of this process updates for it."""

    parameter: str
    start: int
    tensor: Tensor


class MergedState(NamedTuple):
    """Saved state of all shards: flat tensors by (parameter, state), and values that are one a parameter."""

    flat: Mapping[tuple[str, str], Tensor]
    whole: Mapping[tuple[str, str], Tensor]


def collect(optimizer: torch.optim.Optimizer, slices: Sequence[ParameterSlice]) -> dict[str, Tensor]:
    """Copies the state of these slices by key, so that training can continue while it is written."""
    out: dict[str, Tensor] = {}
    for name, start, tensor in slices:
        for state, value in optimizer.state.get(tensor, {}).items():
            if not isinstance(value, Tensor):
                value = torch.tensor(value)
            if value.numel() == tensor.numel() and value.dim() > 0:
                out[f"{name}|{state}|{start}"] = value.detach().reshape(-1).cpu().clone()
            else:
                out[f"{name}|{state}|whole"] = value.detach().cpu().clone()
    return out


def merge(saved: Mapping[str, Tensor]) -> MergedState:
    """Merges the slices of saved state, however they were divided when they were saved."""
    pieces: dict[tuple[str, str], list[tuple[int, Tensor]]] = {}
    whole: dict[tuple[str, str], Tensor] = {}
    for key, value in saved.items():
        if key == EMPTY_STATE:
            continue
        name, state, start = key.rsplit("|", 2)
        if start == "whole":
            whole[name, state] = value
        else:
            pieces.setdefault((name, state), []).append((int(start), value))
    return MergedState({key: _concatenate(found) for key, found in pieces.items()}, whole)


def _concatenate(pieces: list[tuple[int, Tensor]]) -> Tensor:
    """Joins pieces (start, values); gaps become zeros, where a restarted server had not made a step when it saved."""
    out, end = list[Tensor](), 0
    for start, value in sorted(pieces, key=lambda piece: piece[0]):
        if start > end:
            out.append(value.new_zeros(start - end))
        out.append(value)
        end = start + value.numel()
    return torch.cat(out)


def restore(optimizer: torch.optim.Optimizer, slices: Sequence[ParameterSlice], saved: MergedState) -> None:
    """Gives the optimiser the saved state of its slices: the inverse of collect()."""
    for name, start, tensor in slices:
        state = optimizer.state[tensor]
        for (parameter, key), value in saved.flat.items():
            if parameter == name and not key.startswith(RESIDUAL_STATE):
                part = value[start : start + tensor.numel()]
                if part.numel() < tensor.numel():
                    part = torch.cat([part, part.new_zeros(tensor.numel() - part.numel())])
                state[key] = part.reshape(tensor.shape).clone().to(tensor.device)
        for (parameter, key), value in saved.whole.items():
            if parameter == name:
                state[key] = value.clone()


def residual_for_worker(
    saved: MergedState, sizes: Sequence[tuple[str, int]], *,
    worker: int, n_workers: int, mean: Mapping[str, Tensor] | None = None,
) -> Tensor:  # fmt: skip
    """The error-feedback residual that a worker continues with, shape (n_elements,).

    It is the worker's own, or an equal part of all residuals when the gang had another size: their sum is kept.
    sizes: names and elements of the parameters, in the order of the flat vector. mean: by parameter, the mean residual
    of workers without servers, who average gradients where servers add them up.
    """
    states = sorted({key for _, key in saved.flat if key.startswith(RESIDUAL_STATE)})
    if states == sorted(f"{RESIDUAL_STATE}{i}" for i in range(n_workers)):
        states, share = [f"{RESIDUAL_STATE}{worker}"], 1.0
    else:
        share = 1.0 / n_workers
    out = torch.zeros(sum(size for _, size in sizes))
    begin = 0
    for name, size in sizes:
        for state in states:
            if (name, state) in saved.flat:
                out[begin : begin + size] += share * saved.flat[name, state]
        if mean is not None and name in mean:
            out[begin : begin + size] += mean[name].reshape(-1) / n_workers
        begin += size
    return out


def total_residual(saved: MergedState) -> dict[str, Tensor]:
    """The sum of all workers' residuals by parameter, each flat; empty when nothing was compressed."""
    out: dict[str, Tensor] = {}
    for (name, state), value in saved.flat.items():
        if state.startswith(RESIDUAL_STATE):
            out[name] = out[name] + value if name in out else value
    return out
