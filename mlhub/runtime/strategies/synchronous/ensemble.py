"""An ensemble: every worker trains a model of its own, and predictions are put together from all of them.

Nothing travels while they train. Member k is what one process trains from the seed + k, and is saved and resumed as
such; with `examples` parts it sees only its part of every batch. Source: dist-keras' EnsembleTrainer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.func import functional_call

from mlhub.runtime.checkpoints.optimizer_state import collect, join, restore
from mlhub.runtime.checkpoints.step_folders import WEIGHTS, Checkpoint
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.runtime.strategies.protocol import Barrier, Batch, ControlFlags, Losses, StepResult, TrainingPosition
from mlhub.runtime.strategies.toolkit.gradient_accumulation import accumulate
from mlhub.runtime.strategies.toolkit.process_group import Copied, ProcessGroupStrategy

State = dict[str, Tensor]


class Ensemble(ProcessGroupStrategy):
    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        super().__init__(pod, spec)
        self.n_parts = self.n_workers
        self.member = self.rank
        self._has_parts = spec.parameters["examples"] == "parts"
        self.order = 0 if self._has_parts else self.rank
        self._others: list[State] = []

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        """Raises BadInputError for a checkpoint of another number of members."""
        own = None if resume is None else _own(resume, rank=self.rank, n_workers=self.n_workers)
        named = self.join(model, optimizer, resume=None, course=course)
        self._model, self._trained = model, [p for _, p in named]
        if own is not None:
            model.load_state_dict(own[0])
            restore(optimizer, self._owned, join(own[1]))
        return model

    def next(self, wishes: ControlFlags) -> Batch | Barrier:
        order = super().next(wishes)
        return Batch(order.step, 0, 1) if isinstance(order, Batch) and not self._has_parts else order

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.optimizer.zero_grad(set_to_none=True)
        told, weight = accumulate(losses, lambda: [p.grad for p in self._trained], self.gauge, n=n)
        if weight:
            for parameter in self._trained:
                if parameter.grad is not None:
                    parameter.grad /= weight  # the mean of its own examples
            if self.course.clip_norm is not None:
                nn.utils.clip_grad_norm_(self._trained, self.course.clip_norm)
            self.scheduled.set(self.done)
            self.optimizer.step()
        return self.told(told if self._has_parts else told / self.n_workers, 0.0, n_bytes=0.0)

    def average_buffers(self, model: nn.Module) -> None:
        """Members share nothing."""

    def predictor(self, model: nn.Module) -> Callable[..., Any]:
        """Called by all: afterwards every worker has every member, until the next step."""
        members = []
        for rank in range(self.n_workers):
            state = {name: value.detach().clone() for name, value in model.state_dict().items()}
            for value in state.values() if self.n_workers > 1 else ():
                dist.broadcast(value, rank)
            members.append(state)
        self._others = members[1:]
        return Committee(model, members, votes=self.spec.parameters["combine"] == "vote")

    def further_weights(self) -> State:
        """All members but the first, as the last evaluation met them."""
        states = enumerate(self._others, start=1)
        return {f"member-{k}/{name}": value.cpu() for k, state in states for name, value in state.items()}

    def save_optimizer(self) -> Copied:
        if self.rank == 0:
            return super().save_optimizer()
        state = {name: value.detach().cpu().clone() for name, value in self._model.state_dict().items()}
        name = member_file(self.rank, self.n_workers)
        return Copied({f"{name}-{WEIGHTS}": state, f"{name}-state.safetensors": collect(self.optimizer, self._owned)})


class Committee:
    """Several states of one model as one: the mean of what they say, or the votes for each class, as logarithms."""

    def __init__(self, model: nn.Module, members: Sequence[Mapping[str, Tensor]], *, votes: bool = False) -> None:
        self._model, self._members, self._votes = model, members, votes

    def __call__(self, inputs: Any) -> Tensor:
        said = torch.stack([functional_call(self._model, dict(state), (inputs,)) for state in self._members])
        if not self._votes:
            return said.mean(0)
        chosen = nn.functional.one_hot(said.argmax(-1), said.shape[-1]).sum(0)
        return torch.log((chosen + 1e-3) / (chosen + 1e-3).sum(-1, keepdim=True))


def member_file(rank: int, n_workers: int) -> str:
    return f"member-{rank}-of-{n_workers}"


def _own(checkpoint: Checkpoint, *, rank: int, n_workers: int) -> tuple[State, State]:
    """This member's weights and optimiser. Raises BadInputError when there were more or fewer members."""
    n_saved = 1 + sum(name.startswith("member-") and name.endswith(WEIGHTS) for name in checkpoint.files)
    if n_saved != n_workers:
        raise BadInputError(
            f"The checkpoint is of {n_saved} members, and there are {n_workers} workers.",
            field="max_workers",
            remedy=f"Give min_workers and max_workers {n_saved}: members are neither made nor lost on the way.",
        )
    if rank == 0:
        return checkpoint.weights(), checkpoint.optimizer()
    name = checkpoint.folder / member_file(rank, n_workers)
    return load_file(f"{name}-{WEIGHTS}"), load_file(f"{name}-state.safetensors")
