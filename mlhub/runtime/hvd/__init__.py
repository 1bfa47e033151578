"""Horovod's words for scripts that were written for it: import mlhub.runtime.hvd as hvd, or horovod.torch as ever.

    hvd.init()
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)

Over torch.distributed: gloo, or NCCL where there is a GPU. Not here: join(), process sets, sparse gradients.
Names, parameters and defaults are Horovod's own (its documentation of horovod.torch, version 0.28).
"""

import importlib.util
import sys
import types

from mlhub.runtime.hvd import elastic
from mlhub.runtime.hvd.collectives import (
    Adasum,
    Average,
    Compression,
    Handle,
    Max,
    Min,
    Product,
    ReduceOp,
    Sum,
    allgather,
    allgather_object,
    allreduce,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    alltoall,
    barrier,
    broadcast,
    broadcast_,
    broadcast_object,
    grouped_allreduce,
    poll,
    reducescatter,
    synchronize,
)
from mlhub.runtime.hvd.optimizer import DistributedOptimizer, broadcast_optimizer_state, broadcast_parameters
from mlhub.runtime.hvd.world import (
    cross_rank,
    cross_size,
    init,
    is_initialized,
    local_rank,
    local_size,
    rank,
    shutdown,
    size,
)

__all__ = [
    "Adasum", "Average", "Compression", "DistributedOptimizer", "Handle", "Max", "Min", "Product", "ReduceOp", "Sum",
    "allgather", "allgather_object", "allreduce", "allreduce_", "allreduce_async", "allreduce_async_", "alltoall",
    "barrier", "broadcast", "broadcast_", "broadcast_object", "broadcast_optimizer_state", "broadcast_parameters",
    "cross_rank", "cross_size", "elastic", "grouped_allreduce", "init", "is_initialized", "local_rank", "local_size",
    "poll", "rank", "reducescatter", "shutdown", "size", "stand_in", "synchronize",
]  # fmt: skip


def stand_in() -> None:
    """From now on `import horovod.torch` finds this, unless the image has Horovod itself."""
    if "horovod" in sys.modules or importlib.util.find_spec("horovod") is not None:
        return
    package, here = types.ModuleType("horovod"), sys.modules[__name__]
    package.__path__ = []
    package.torch = here  # type: ignore[attr-defined]
    sys.modules |= {"horovod": package, "horovod.torch": here, "horovod.torch.elastic": elastic}
