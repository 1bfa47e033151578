# SPDX-License-Identifier: Apache-2.0
"""Tables on parameter servers, for scripts: what Angel, Petuum and Multiverso call matrices, PSTables and tables.

    from mlhub.runtime.compat import tables

    weights = tables.table("weights", (1000, 8), staleness=2, optimizer="adagrad", options={"learning_rate": 0.1})
    rows = weights.get([3, 5])            # sees all that every worker added up to its clock - staleness - 1
    weights.add([3, 5], gradient)         # or inc, increment
    weights.clock()
    weights.call("norm"), weights.call("top_k", k=10)

A script finds its gang's servers by itself; alone and outside of a job, one runs in its own process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from mlhub.runtime.compat.tables.connection import connect, leave, server_of
from mlhub.runtime.compat.tables.table import Table

__all__ = ["Table", "barrier", "leave", "load", "n_servers", "n_workers", "rank", "save", "server_of", "table"]

FROM_STRATEGY = -1


def table(
    name: str, shape: int | Sequence[int | None], *,
    dtype: torch.dtype = torch.float32, initial: float | Tensor = 0.0, staleness: int | None = FROM_STRATEGY,
    optimizer: str = "add", options: Mapping[str, float] | None = None,
) -> Table:  # fmt: skip
    """A table of all workers, who make it alike. shape: (rows, ...); (None, ...): rows by key, made when named.

    initial: one number, or worker 0's tensor. staleness: 0 is BSP, None ASP; by default what the job's strategy sets,
    or ASP. optimizer: what is done with what is added: add, assign, sgd, adagrad, adam, ftrl.
    Raises ValueError for what means nothing, BadInputError when the gang has no servers.
    """
    found = connect()
    own = found.staleness if staleness == FROM_STRATEGY else staleness
    return Table(
        found.asking, name, shape, dtype=dtype, initial=initial, staleness=own, optimizer=optimizer, options=options
    )


def rank() -> int:
    return connect().rank


def n_workers() -> int:
    return connect().n_workers


def n_servers() -> int:
    return connect().n_servers


def barrier() -> None:
    """Waits for all workers that have not left."""
    connect().barrier()


def save(path: str, *tables: Table) -> None:
    """One worker's, between two clocks: all rows and the optimisers' state, as a safetensors file."""
    from safetensors.torch import save_file

    content = {f"{one.name}|{key}": values.contiguous() for one in tables for key, values in one.export().items()}
    save_file(content, path)


def load(path: str, *tables: Table) -> None:
    """What save() wrote, maybe on another number of servers. Raises KeyError for a table that is not in the file."""
    from safetensors.torch import load_file

    content = load_file(path)
    for one in tables:
        own = {key.partition("|")[2]: values for key, values in content.items() if key.startswith(f"{one.name}|")}
        if not own:
            raise KeyError(f"{path} holds no table {one.name}.")
        one.restore(own)
