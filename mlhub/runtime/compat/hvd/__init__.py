# SPDX-License-Identifier: Apache-2.0
"""Horovod's API for scripts that were written for it: import mlhub.runtime.compat.hvd as hvd, or horovod.torch.

    hvd.init()
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)

Over torch.distributed: gloo, or NCCL where there is a GPU. Names, parameters and defaults are Horovod's own (its
documentation of horovod.torch, version 0.28); AverageOfPresent is ours.
"""

import importlib.util
import sys
import types

import torch

from mlhub.runtime.compat.hvd import elastic
from mlhub.runtime.compat.hvd.collectives import (
    allgather_async,
    allgather_object,
    alltoall_async,
    barrier,
    broadcast_,
    broadcast_async,
    broadcast_async_,
    broadcast_object,
    grouped_allgather,
    grouped_allgather_async,
    join,
)
from mlhub.runtime.compat.hvd.compression import Compression
from mlhub.runtime.compat.hvd.gradients import allgather, allreduce, alltoall, broadcast, grouped_allreduce
from mlhub.runtime.compat.hvd.handles import Handle, poll, synchronize
from mlhub.runtime.compat.hvd.optimizer import DistributedOptimizer, broadcast_optimizer_state, broadcast_parameters
from mlhub.runtime.compat.hvd.process_sets import (
    ProcessSet,
    add_process_set,
    get_process_set_ids_and_ranks,
    global_process_set,
    init,
    remove_process_set,
    shutdown,
    start_timeline,
    stop_timeline,
)
from mlhub.runtime.compat.hvd.reductions import (
    Adasum,
    Average,
    AverageOfPresent,
    Max,
    Min,
    Product,
    ReduceOp,
    Sum,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    grouped_allreduce_,
    grouped_allreduce_async,
    grouped_allreduce_async_,
    grouped_reducescatter,
    reducescatter,
    reducescatter_async,
    sparse_allreduce_async,
)
from mlhub.runtime.compat.hvd.world import (
    cross_rank,
    cross_size,
    is_initialized,
    local_rank,
    local_size,
    rank,
    size,
)

__all__ = [
    "Adasum", "Average", "AverageOfPresent", "Compression", "DistributedOptimizer", "Handle", "Max", "Min",
    "ProcessSet", "Product", "ReduceOp", "Sum", "add_process_set", "allgather", "allgather_async", "allgather_object",
    "allreduce", "allreduce_", "allreduce_async", "allreduce_async_", "alltoall", "alltoall_async", "barrier",
    "broadcast", "broadcast_", "broadcast_async", "broadcast_async_", "broadcast_object", "broadcast_optimizer_state",
    "broadcast_parameters", "ccl_built", "cross_rank", "cross_size", "cuda_built", "ddl_built", "elastic",
    "get_process_set_ids_and_ranks", "global_process_set", "gloo_built", "gloo_enabled", "grouped_allgather",
    "grouped_allgather_async", "grouped_allreduce", "grouped_allreduce_", "grouped_allreduce_async",
    "grouped_allreduce_async_", "grouped_reducescatter", "init", "is_homogeneous", "is_initialized", "join",
    "leave",
    "local_rank", "local_size", "mpi_built", "mpi_enabled", "mpi_threads_supported", "nccl_built", "poll", "rank",
    "reducescatter", "reducescatter_async", "remove_process_set", "rocm_built", "shutdown", "size",
    "sparse_allreduce_async", "stand_in", "start_timeline", "stop_timeline", "synchronize",
]  # fmt: skip


def gloo_built() -> bool:
    return torch.distributed.is_gloo_available()


gloo_enabled = gloo_built


def nccl_built() -> bool:
    return torch.distributed.is_nccl_available()


def cuda_built() -> bool:
    return torch.cuda.is_available()


def mpi_built() -> bool:
    """Returns False: the platform does not use it."""
    return False


mpi_enabled = mpi_threads_supported = ccl_built = ddl_built = rocm_built = mpi_built


def is_homogeneous() -> bool:
    """Returns True: all pods have equally many workers."""
    return True


def stand_in() -> None:
    """From now on `import horovod.torch` finds this, unless the image has Horovod itself."""
    if "horovod" in sys.modules or importlib.util.find_spec("horovod") is not None:
        return
    package, here = types.ModuleType("horovod"), sys.modules[__name__]
    package.__path__ = []
    package.torch = here  # type: ignore[attr-defined]
    sys.modules |= {"horovod": package, "horovod.torch": here, "horovod.torch.elastic": elastic}


def leave() -> None:
    """At the end of a script that did not call shutdown() itself."""
    if is_initialized() and global_process_set.process_set_id is not None:
        shutdown()
