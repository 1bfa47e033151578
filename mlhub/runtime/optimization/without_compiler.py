# SPDX-License-Identifier: Apache-2.0
"""Optimisers without torch's compiler: its import takes twice as long as that of torch itself, at every start.

torch imports the compiler (torch._dynamo, with SymPy) at the first call of some methods of Optimizer, and at the first
step, only to say that they are not to be compiled. While it is not imported, nothing compiles: these calls may go
straight through. Once user code has imported it, by torch.compile for instance, everything is as torch has it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

COMPILER = "torch._dynamo"
MARK = "__dynamo_disable"  # where torch._compile keeps what it made of a method at its first call
LAZILY_MARKED, STEPS = "torch._compile", "torch.optim.optimizer"  # the modules of the two kinds of wrappers

AnyFunction = Callable[..., Any]


def leave_compiler_out() -> None:
    """Keeps Optimizer and the optimisers of torch from importing the compiler. A version of torch that is built in
    another way, and optimisers of users, are left as they are. May be called again."""
    for method in vars(Optimizer).values():
        function = getattr(method, "__wrapped__", None)
        if function is not None and _module(method) == LAZILY_MARKED and not hasattr(function, MARK):
            setattr(function, MARK, _unmarked(function))
    for optimizer in _subclasses(Optimizer):
        step: Any = vars(optimizer).get("step")
        if hasattr(step, "__wrapped__") and _module(step) == STEPS and step.__code__.co_name == "_use_grad":
            optimizer.step = _without_compiler(step)  # type: ignore[method-assign]


def _unmarked(function: AnyFunction) -> AnyFunction:
    """The function itself; marked as torch would have marked it, once the compiler is there."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if COMPILER not in sys.modules:
            return function(*args, **kwargs)
        disable: AnyFunction = torch._dynamo.disable
        marked: AnyFunction = disable(function, True, wrapping=False)
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
