# SPDX-License-Identifier: Apache-2.0
"""The device on which a worker computes: its pod's accelerator, else the processor."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch

from mlhub.runtime.errors import GpuUnavailableError
from mlhub.wire import environment as names

VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"
NOT_USED = ("cpu", "mps")  # Apple's has no float64, in which workers sum their metrics


def training_device(variables: Mapping[str, str] = os.environ) -> torch.device:
    """Returns the accelerator of this process, as the pod's environment shows it; the processor where there is none.

    CUDA_VISIBLE_DEVICES hides the GPUs of others from torch itself; an empty one hides all. variables: LOCAL_RANK is
    the number of the pod's own among the visible ones.

    Raises GpuUnavailableError where it shows a GPU and CUDA does not start: training on the processor would leave a GPU
    idle that others wait for.
    """
    found = torch.accelerator.current_accelerator(check_available=True)
    if found is None or found.type in NOT_USED:
        if variables.get(VISIBLE_GPUS, "").partition(",")[0] not in ("", "-1"):
            raise GpuUnavailableError(f"The GPU {variables[VISIBLE_GPUS]} cannot be used: {_why_no_cuda()}")
        return torch.device("cpu")
    return device_of(found.type, n_visible=torch.accelerator.device_count(), local_rank=variables.get(names.LOCAL_RANK))


def device_of(kind: str, *, n_visible: int, local_rank: str | None) -> torch.device:
    """Returns the device of a local rank. A pod that sees one device uses it, whatever its rank on the node is.

    Raises ValueError for a rank that is no number.
    """
    if n_visible == 0:
        return torch.device("cpu")
    rank = int(local_rank or 0)
    return torch.device(kind, rank if 0 <= rank < n_visible else 0)


def make_current(device: torch.device) -> None:
    """Lets code that names no index, such as a user's `.cuda()`, use the same device."""
    if device.type == "cuda":
        torch.cuda.set_device(device)


def _why_no_cuda() -> str:
    if not torch.backends.cuda.is_built():  # type: ignore[no-untyped-call]
        return f"torch {torch.__version__} was built without CUDA."
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        return str(error)
    return "torch finds no such device."
