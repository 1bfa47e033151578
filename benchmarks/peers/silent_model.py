"""watched_model.py where MLHub measures nothing: what measuring costs is the difference."""

from __future__ import annotations

import math

import torch
from watched_model import build_model, build_optimizer, loss

from mlhub.runtime.beats import Pulse
from mlhub.runtime.chronicle import Chronicle
from mlhub.runtime.errors import NotANumberError
from mlhub.runtime.noise import Jury
from mlhub.runtime.strategies.all_reduce import AllReduce

__all__ = ["build_model", "build_optimizer", "loss"]


def _step(_self: Chronicle, done: int, *, result: object, **_times: float) -> None:
    found = getattr(result, "loss", None)
    if found is not None and not math.isfinite(found):
        raise NotANumberError(f"The loss is {found} after step {done}.")


def _backward(_self: AllReduce, found: torch.Tensor, *, is_last: bool) -> None:  # noqa: ARG001
    torch.autograd.backward(found)


Chronicle.step = _step  # type: ignore[method-assign,assignment]
AllReduce._backward = _backward  # type: ignore[method-assign]
Pulse.beat = lambda *_, **__: None  # type: ignore[method-assign]
Jury.is_due = property(lambda _: False, lambda *_: None)  # type: ignore[assignment]
