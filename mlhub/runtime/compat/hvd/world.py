# SPDX-License-Identifier: Apache-2.0
"""Who is there: the process group behind Horovod's words. Alone, without RANK in the environment, it is one process."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist

_is_alone = False


def begin() -> None:
    """Makes the process group, unless the script has made one."""
    global _is_alone
    _is_alone = int(os.environ.get("WORLD_SIZE", "1")) == 1 and not dist.is_initialized()
    if _is_alone or dist.is_initialized():
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")


def end() -> None:
    global _is_alone
    _is_alone = False
    if dist.is_initialized():
        dist.destroy_process_group()


def is_initialized() -> bool:
    return _is_alone or dist.is_initialized()


def rank() -> int:
    """Raises ValueError before init()."""
    _check()
    return 0 if _is_alone else dist.get_rank()


def size() -> int:
    """Workers in all. Raises ValueError before init()."""
    _check()
    return 1 if _is_alone else dist.get_world_size()


def local_rank() -> int:
    """Which GPU of its pod: each worker has a pod of its own. Raises ValueError before init()."""
    _check()
    return int(os.environ.get("LOCAL_RANK", "0"))


def local_size() -> int:
    """Raises ValueError before init()."""
    _check()
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def cross_rank() -> int:
    """Which pod. Raises ValueError before init()."""
    return rank() // local_size()


def cross_size() -> int:
    """Pods. Raises ValueError before init()."""
    return max(1, size() // local_size())


def _check() -> None:
    if not is_initialized():
        raise ValueError("Horovod has not been initialized; use hvd.init().")
