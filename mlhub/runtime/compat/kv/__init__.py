# SPDX-License-Identifier: Apache-2.0
"""MXNet's kvstore verbs for any script: create, init, push, pull, an optimiser on the servers.

    from mlhub.runtime.compat import kv

    store = kv.create("dist_sync")
    store.init(0, torch.zeros(10))
    store.set_optimizer(kv.optimizer("sgd", learning_rate=0.1))
    store.push(0, gradient)
    store.pull(0, out=weights)

Over mlhub.runtime.compat.tables. As in MXNet dist_sync sums what all workers push; give the optimiser rescale_grad.
"""

from mlhub.runtime.compat.kv.optimizers import Optimizer, optimizer
from mlhub.runtime.compat.kv.store import KINDS, KVStore, create

__all__ = ["KINDS", "KVStore", "Optimizer", "create", "optimizer"]
