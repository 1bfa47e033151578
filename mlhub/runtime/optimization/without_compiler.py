# SPDX-License-Identifier: Apache-2.0
"""Optimisers and replicas without torch's compiler: its import takes as long as that of torch itself, at every start.

torch imports the compiler (torch._dynamo, with SymPy) at the first call of some methods of Optimizer, and at the first
step, only to say that they are not to be compiled. While it is not imported, nothing compiles: these calls may go
straight through. Once user code has imported it, by torch.compile for instance, everything is as torch has it.
DistributedDataParallel marks a method in the same way, and asks the compiler as it is made how it would be compiled.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

COMPILER = "torch._dynamo"
MARK = "__dynamo_disable"  # where torch._compile keeps what it made of a method at its first call
NOT_COMPILED = "ddp_optimizer"  # the compiler's default mode of replicas: an eager model is not touched
LAZILY_MARKED, STEPS = "torch._compile", "torch.optim.optimizer"  # the modules of the two kinds of wrappers

AnyFunction = Callable[..., Any]


def leave_compiler_out() -> None:
    """Keeps Optimizer, the optimisers of torch and the steps of its replicas from importing the compiler. A version of
    torch that is built in another way, and optimisers of users, are left as they are. May be called again."""
    for method in vars(Optimizer).values():
        _leave_unmarked(method, recursive=True)
    # a context manager around what is marked
    _leave_unmarked(
        getattr(vars(DistributedDataParallel).get("_inside_ddp_forward"), "__wrapped__", None), recursive=False
    )
    for optimizer in _subclasses(Optimizer):
        step: Any = vars(optimizer).get("step")
        if hasattr(step, "__wrapped__") and _module(step) == STEPS and step.__code__.co_name == "_use_grad":
            optimizer.step = _without_compiler(step)  # type: ignore[method-assign]


@contextlib.contextmanager
def replicas_without_compiler() -> Iterator[None]:
    """Within the block DistributedDataParallel is made without the compiler, unless that is there already."""
    if COMPILER in sys.modules:
        yield
        return
    stand_in = SimpleNamespace(utils=SimpleNamespace(get_optimize_ddp_mode=lambda: NOT_COMPILED))
    vars(torch)["_dynamo"] = stand_in
    try:
        yield
    finally:
        if vars(torch).get("_dynamo") is stand_in:
            del vars(torch)["_dynamo"]  # torch imports it when it is asked for


def _leave_unmarked(method: Any, *, recursive: bool) -> None:
    function = getattr(method, "__wrapped__", None)
    if function is not None and _module(method) == LAZILY_MARKED and not hasattr(function, MARK):
        setattr(function, MARK, _unmarked(function, recursive=recursive))


def _unmarked(function: AnyFunction, *, recursive: bool) -> AnyFunction:
    """The function itself; marked as torch would have marked it, once the compiler is there."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if COMPILER not in sys.modules:
            return function(*args, **kwargs)
        disable: AnyFunction = torch._dynamo.disable
        marked: AnyFunction = disable(function, recursive, wrapping=False)
        setattr(function, MARK, marked)
        return marked(*args, **kwargs)

    return call


def _without_compiler(step: Any) -> AnyFunction:
    """A step with gradients off, unless the optimiser is differentiable; torch's own, once the compiler is there."""
    function: AnyFunction = step.__wrapped__

    @functools.wraps(function)
    def call(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if COMPILER in sys.modules:
            return step(self, *args, **kwargs)
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return function(self, *args, **kwargs)

    return call


def _subclasses(parent: type[Optimizer]) -> list[type[Optimizer]]:
    found = parent.__subclasses__()
    return [*found, *(below for child in found for below in _subclasses(child))]


def _module(function: Any) -> str:
    """Where a function is defined, whatever name it was given by functools.wraps."""
    return str(getattr(function, "__globals__", {}).get("__name__", ""))
