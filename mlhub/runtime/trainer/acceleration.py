# SPDX-License-Identifier: Apache-2.0
"""Options that change how fast a model computes and not what it learns: precision, compilation, memory format."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.hyperparameters import Settings

COMPILERS = ("c++", "g++", "clang++")


def check_machine(settings: Settings, device: torch.device) -> None:
    """Raises BadInputError, with the remedy, for an option that this machine cannot carry out."""
    if settings.precision == "bfloat16" and device.type == "cuda" and not _has_bfloat16():
        raise _bad("precision", f"{torch.cuda.get_device_name(device)} has no bfloat16.", "Give float16 or float32.")
    if settings.compile and device.type == "cuda" and importlib.util.find_spec("triton") is None:
        raise _bad("compile", "torch has no Triton here, which compiles for GPUs.", "Leave compile out.")
    if settings.compile and device.type == "cpu" and _compiler() is None:
        raise _bad(
            "compile",
            "This machine has no C++ compiler, by which torch compiles for processors.",
            "Leave compile out, or install one (c++, g++ or clang++).",
        )


def accelerate(model: nn.Module, settings: Settings, *, cache: Path) -> nn.Module:
    """Returns the model with the options applied; the names of its state stay. cache: for compiled code.

    What cannot be compiled runs as it is written, with a warning in the job's log.
    """
    if settings.memory_format == "channels_last":
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if settings.compile:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache / "inductor"))
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # in this process: a pod has few processors
        from torch._dynamo import config  # seconds of imports, which other jobs do without

        config.suppress_errors = True
        _compile(model)
    return model


def in_format(inputs: Any, settings: Settings) -> Any:
    """Images in the memory format of the model; anything else as it is."""
    if settings.memory_format == "channels_last" and isinstance(inputs, Tensor) and inputs.dim() == 4:
        return inputs.contiguous(memory_format=torch.channels_last)
    return inputs


def _compile(model: nn.Module) -> None:
    """Compiles the calls of a model in place, so that its type and the names of its state stay.

    Module.compile() does nothing for modules of torch itself, such as Sequential: Dynamo starts in no file of torch,
    but in this function.
    """

    def call(*arguments: Any, **named: Any) -> Any:
        return model._call_impl(*arguments, **named)  # type: ignore[no-untyped-call]

    model._compiled_call_impl = torch.compile(call)


def _has_bfloat16() -> bool:
    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def _compiler() -> str | None:
    return os.environ.get("CXX") or next((name for name in COMPILERS if shutil.which(name)), None)


def _bad(name: str, message: str, remedy: str) -> BadInputError:
    return BadInputError(message, field=f"hyperparameters.{name}", remedy=remedy, code="invalid_hyperparameter")
