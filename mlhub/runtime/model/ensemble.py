# SPDX-License-Identifier: Apache-2.0
"""An ensemble: several states of one model that predict together, and how their weights are named in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

MEMBER = "member-"
VOTE_SMOOTHING = 1e-3  # votes, so that a class without any has a finite logarithm
State = Mapping[str, Tensor]


class EnsembleModel:
    """Predicts by the mean of the members' outputs, or by their votes for each class, as logarithms."""

    def __init__(self, model: nn.Module, members: Sequence[State], *, votes: bool = False) -> None:
        self._model, self._members, self._votes = model, members, votes

    def __call__(self, inputs: Any) -> Tensor:
        outputs = torch.stack([functional_call(self._model, dict(state), (inputs,)) for state in self._members])
        if not self._votes:
            return outputs.mean(0)
        votes = nn.functional.one_hot(outputs.argmax(-1), outputs.shape[-1]).sum(0) + VOTE_SMOOTHING
        return torch.log(votes / votes.sum(-1, keepdim=True))


def first_member(state: State) -> dict[str, Tensor]:
    """The first member's state out of the weights that an ensemble left; all weights of any other model."""
    return {name: value for name, value in state.items() if not name.startswith(MEMBER)}


def further_members(state: State) -> list[dict[str, Tensor]]:
    """The states of all other members, in order; empty for any other model."""
    found: dict[int, dict[str, Tensor]] = {}
    for name, value in state.items():
        if name.startswith(MEMBER):
            member, _, parameter = name.removeprefix(MEMBER).partition("/")
            found.setdefault(int(member), {})[parameter] = value
    return [found[index] for index in sorted(found)]


def member_weights(members: Sequence[State]) -> dict[str, Tensor]:
    """Names for the states of all members but the first, to be stored with the first one's."""
    states = enumerate(members, start=1)
    return {f"{MEMBER}{index}/{name}": value.cpu() for index, state in states for name, value in state.items()}
