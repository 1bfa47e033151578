# SPDX-License-Identifier: Apache-2.0
"""Who is there: the process group behind Horovod's words. Alone, without RANK in the environment, it is one process."""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist

LEAVE_S = 60.0  # how long the host of the store waits for the other workers to leave
POLL_S = 0.02

_is_alone = False


def begin() -> None:
    """Makes the process group, unless the script has made one."""
    global _is_alone
    _is_alone = int(os.environ.get("WORLD_SIZE", "1")) == 1 and not dist.is_initialized()
    if _is_alone or dist.is_initialized():
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")


def end() -> None:
    """Leaves the process group. Rank 0 leaves last: the store that the others use lives in its process."""
    global _is_alone
    _is_alone = False
    if dist.is_initialized():
        _leave_in_order()
        dist.destroy_process_group()


def _leave_in_order() -> None:
    """Counts this worker as gone; rank 0 then waits until all are, for at most LEAVE_S."""
    store, until = dist.distributed_c10d._get_default_store(), time.monotonic() + LEAVE_S
    try:
        n_left = store.add("hvd/left", 1)
        while dist.get_rank() == 0 and n_left < dist.get_world_size():
            if time.monotonic() > until:
                missing = dist.get_world_size() - n_left
                print(f"hvd.shutdown(): {missing} workers did not leave within {LEAVE_S:.0f} s.", file=sys.stderr)
                return
            time.sleep(POLL_S)
            n_left = store.add("hvd/left", 0)
    except RuntimeError as error:  # the host of the store was lost: there is nothing left to wait for
        print(f"hvd.shutdown(): the workers' store is gone ({error}).".split("\n")[0], file=sys.stderr)


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
