# SPDX-License-Identifier: Apache-2.0
"""Whether the workers of a script train together: what they need for it on processors, and a warning when they did not.

Many scripts name NCCL, which has no meaning without an accelerator: there they get gloo.

Scripts that form no process group run once on each worker, train the same model several times, and succeed.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# of NVIDIA, AMD, WSL, Intel and others, TPUs and other accelerators
DEVICE_FILES = ("nvidia[0-9]*", "kfd", "dxg", "dri/renderD*", "accel*", "davinci[0-9]*", "vfio")
WITHOUT_TORCH_GROUPS = ("tensorflow", "jax", "mxnet")
ALONE = """\
mlhub: WARNING: this script ran on {n} workers, and none called torch.distributed.init_process_group(). Each of them
mlhub: trained by itself on what it read, and the model is that of worker 0. Form a process group (Lightning:
mlhub: num_nodes={n}, strategy="ddp"; Accelerate and the Trainer of Hugging Face do it by themselves), or ask for one
mlhub: worker."""


def has_accelerator(variables: Mapping[str, str], *, devices: Path = Path("/dev")) -> bool:
    """Whether this pod may see an accelerator; True in doubt. It neither imports torch nor wakes a driver."""
    if variables.get("CUDA_VISIBLE_DEVICES") == "":
        return False
    try:
        if version("torch").endswith("+cpu"):
            return False
    except PackageNotFoundError:
        return False
    return any(True for pattern in DEVICE_FILES for _ in devices.glob(pattern))


def use_gloo_for_nccl(code: Path) -> None:
    """On a pod without an accelerator: process groups for which code of this folder names nccl are made with gloo.

    Does nothing, and does not import torch, where no file names it.
    """
    if not any(b"nccl" in path.read_bytes().lower() for path in code.rglob("*.py")):
        return
    try:
        import torch.distributed as dist
        from torch.distributed import distributed_c10d
    except ImportError:
        return
    for name in ("init_process_group", "new_group"):
        with_gloo = _with_gloo(getattr(dist, name))
        setattr(dist, name, with_gloo)
        setattr(distributed_c10d, name, with_gloo)


def _with_gloo(make_group: Callable[..., Any]) -> Callable[..., Any]:
    place = list(inspect.signature(make_group).parameters).index("backend")

    @functools.wraps(make_group)
    def made(*args: Any, **options: Any) -> Any:
        backend = args[place] if len(args) > place else options.get("backend")
        if not (isinstance(backend, str) and "nccl" in backend.lower()):
            return make_group(*args, **options)
        print(
            f"mlhub: this pod has no GPU, so its process group has the backend gloo in place of {backend}", flush=True
        )
        if len(args) > place:
            return make_group(*args[:place], "gloo", *args[place + 1 :], **options)
        return make_group(*args, **{**options, "backend": "gloo"})

    return made


def warning_of(n_workers: int, *, n_servers: int = 0) -> str | None:
    """What to print in the end of a script whose workers trained alone; None when they did not, or it is not known.

    n_servers: of the job; with some, workers may train together by their tables.
    """
    loaded = sys.modules.get("torch.distributed.distributed_c10d")
    has_other_means = n_servers > 0 or any(name in sys.modules for name in WITHOUT_TORCH_GROUPS)
    if n_workers == 1 or loaded is None or has_other_means:
        return None
    # torch remembers how the default group was made, after the group was destroyed, too
    has_formed = loaded.is_initialized() or getattr(loaded, "_default_pg_init_method", "") is not None
    return None if has_formed else ALONE.format(n=n_workers)
