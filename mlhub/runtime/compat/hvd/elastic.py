# SPDX-License-Identifier: Apache-2.0
"""Horovod's elastic training, in MLHub's way: the gang starts anew, and goes on from the last commit.

    state = hvd.elastic.TorchState(model, optimizer, batch=0, epoch=0)

    @hvd.elastic.run
    def train(state): ...

Horovod keeps processes alive and changes the ring around them; here a gang that is preempted, resized or has lost a
worker is started again with another size, so that a commit is a file that outlives the attempt.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch
from torch import nn

from mlhub.runtime.compat.hvd.collectives import broadcast_object
from mlhub.runtime.compat.hvd.process_sets import init
from mlhub.runtime.compat.hvd.reductions import Max, allreduce
from mlhub.runtime.compat.hvd.world import is_initialized, rank, size
from mlhub.runtime.scripts import api
from mlhub.wire.exits import ExitCode

FILE = "horovod-elastic.pt"
P = ParamSpec("P")
T = TypeVar("T")


class ObjectState:
    """Values by name: numbers, texts, lists and tensors, as attributes."""

    def __init__(self, **values: Any) -> None:
        self._names, self._n_workers = tuple(values), size() if is_initialized() else 0
        self._on_reset: list[Callable[[], None]] = []
        for name, value in values.items():
            setattr(self, name, value)
        self._committed = self._saved()

    def register_reset_callbacks(self, callbacks: Sequence[Callable[[], None]]) -> None:
        """Called when training goes on with another number of workers."""
        self._on_reset.extend(callbacks)

    def commit(self) -> None:
        """What a next attempt goes on from. Leaves with the status "asked to leave, saved" when MLHub asks to."""
        self._committed = self._saved()
        path = _path()
        if path is not None and rank() == 0:
            aside = path.with_suffix(".new")
            torch.save({"n_workers": size(), "values": self._committed}, aside)
            aside.rename(path)
        self.check_host_updates()

    def check_host_updates(self) -> None:
        """Leaves when MLHub asks to, all workers after the same call."""
        if allreduce(torch.tensor([float(api.should_preempt())]), op=Max).item():
            sys.exit(ExitCode.PREEMPTED)

    def restore(self) -> None:
        """Back to the last commit."""
        self._load(copy.deepcopy(self._committed))

    def sync(self) -> None:
        """Every worker's values become worker 0's."""
        self._load(broadcast_object(self._saved(), 0))
        self._committed = self._saved()

    def resume(self) -> None:
        """From an earlier attempt's commit, if there is one; then all are alike."""
        path, before = _path(), self._n_workers
        if rank() == 0 and path is not None and path.exists():
            # weights_only: a checkpoint is no code
            found = torch.load(path, weights_only=True)
            before = int(found["n_workers"])
            self._load(found["values"])
        self.sync()
        before = broadcast_object(before, 0)
        if before not in (0, size()):
            for callback in self._on_reset:
                callback()

    def _saved(self) -> dict[str, Any]:
        return {name: copy.deepcopy(getattr(self, name)) for name in self._names}

    def _load(self, values: dict[str, Any]) -> None:
        for name in self._names:
            setattr(self, name, values[name])


class TorchState(ObjectState):
    """Also a model and an optimiser, which are loaded in place."""

    def __init__(
        self, model: nn.Module | None = None, optimizer: torch.optim.Optimizer | None = None, **values: Any
    ) -> None:
        self.model, self.optimizer = model, optimizer
        super().__init__(**values)

    def _saved(self) -> dict[str, Any]:
        out = super()._saved()
        for key, part in (("model.", self.model), ("optimizer.", self.optimizer)):
            if part is not None:
                out[key] = copy.deepcopy(part.state_dict())
        return out

    def _load(self, values: dict[str, Any]) -> None:
        super()._load(values)
        if self.model is not None:
            self.model.load_state_dict(values["model."])
        if self.optimizer is not None:
            self.optimizer.load_state_dict(values["optimizer."])


S = TypeVar("S", bound=ObjectState)


def run(train: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Goes on from the last commit, of this attempt or an earlier one, with all workers alike."""

    @functools.wraps(train)
    def resumed(state: S, *given: P.args, **more: P.kwargs) -> T:
        init()
        state.resume()
        return train(state, *given, **more)

    return resumed


def _path() -> Path | None:
    """None outside of a pod: then a commit is for restore() only."""
    folder = api.checkpoint_folder()
    return None if folder is None else folder / FILE
