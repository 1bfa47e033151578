# SPDX-License-Identifier: Apache-2.0
"""An ensemble: every worker trains a model of its own, and all of them predict together.

Workers exchange nothing while they train. Member k is what one process trains from the seed + k, and is saved and
resumed as such; with `examples` parts it sees only its part of every batch. Source: dist-keras' EnsembleTrainer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch import Tensor, nn

from mlhub.runtime.checkpoints.optimizer_state import collect, merge, restore
from mlhub.runtime.checkpoints.step_folders import WEIGHTS, StepCheckpoint
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.ensemble import EnsembleModel, member_weights
from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.runtime.strategies.protocol import Barrier, Batch, ControlFlags, Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit.gradient_accumulation import accumulate
from mlhub.runtime.strategies.toolkit.process_group import CopiedState, ProcessGroupStrategy

MemberState = dict[str, Tensor]


class Ensemble(ProcessGroupStrategy):
    """Each worker trains one member."""

    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        super().__init__(pod, spec)
        self.n_parts = self.n_workers
        self.member = self.rank
        self._has_parts = spec.parameters["examples"] == "parts"
        self.order = 0 if self._has_parts else self.rank
        self._others: list[MemberState] = []

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        """Raises BadInputError for a checkpoint of another number of members."""
        own = None if resume is None else _read_member(resume, rank=self.rank, n_workers=self.n_workers)
        named = self.join_gang(model, optimizer, resume=None, plan=plan)
        self._model, self._trained = model, [p for _, p in named]
        if own is not None:
            model.load_state_dict(own[0])
            restore(optimizer, self._slices, merge(own[1]))
        return model

    def next(self, flags: ControlFlags) -> Batch | Barrier:
        work = super().next(flags)
        return Batch(work.step, 0, 1) if isinstance(work, Batch) and not self._has_parts else work

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.optimizer.zero_grad(set_to_none=True)
        loss_sum, weight = accumulate(losses, lambda: [p.grad for p in self._trained], self.local_noise, n=n)
        if weight:
            for parameter in self._trained:
                if parameter.grad is not None:
                    parameter.grad /= weight  # the mean over its own examples
            if self.plan.clip_norm is not None:
                nn.utils.clip_grad_norm_(self._trained, self.plan.clip_norm)
            self.scheduler.set(self.done)
            self.optimizer.step()
        return self.step_result(loss_sum if self._has_parts else loss_sum / self.n_workers, 0.0, n_bytes=0.0)

    def average_buffers(self, model: nn.Module) -> None:
        """Members have running statistics of their own."""

    def predictor(self, model: nn.Module) -> Callable[..., Any]:
        """Sends every member to all workers, which hold them until the next step."""
        members = []
        for rank in range(self.n_workers):
            state = {name: value.detach().clone() for name, value in model.state_dict().items()}
            for value in state.values() if self.n_workers > 1 else ():
                dist.broadcast(value, rank)
            members.append(state)
        self._others = members[1:]
        return EnsembleModel(model, members, votes=self.spec.parameters["combine"] == "vote")

    def extra_weights(self) -> MemberState:
        """All members but the first, as they were at the last evaluation."""
        return member_weights(self._others)

    def save_optimizer(self) -> CopiedState:
        if self.rank == 0:
            return super().save_optimizer()
        state = {name: value.detach().cpu().clone() for name, value in self._model.state_dict().items()}
        name = member_file(self.rank, self.n_workers)
        return CopiedState(
            {f"{name}-{WEIGHTS}": state, f"{name}-state.safetensors": collect(self.optimizer, self._slices)}
        )


def member_file(rank: int, n_workers: int) -> str:
    return f"member-{rank}-of-{n_workers}"


def _read_member(checkpoint: StepCheckpoint, *, rank: int, n_workers: int) -> tuple[MemberState, MemberState]:
    """Reads this member's weights and optimiser. Raises BadInputError when there were more or fewer members."""
    n_saved = 1 + sum(name.startswith("member-") and name.endswith(WEIGHTS) for name in checkpoint.files)
    if n_saved != n_workers:
        raise BadInputError(
            f"The checkpoint is of {n_saved} members, and there are {n_workers} workers.",
            field="max_workers",
            remedy=f"Give min_workers and max_workers {n_saved}: members are neither added nor lost by a resume.",
        )
    if rank == 0:
        return checkpoint.weights(), checkpoint.optimizer()
    name = checkpoint.folder / member_file(rank, n_workers)
    return load_file(f"{name}-{WEIGHTS}"), load_file(f"{name}-state.safetensors")
