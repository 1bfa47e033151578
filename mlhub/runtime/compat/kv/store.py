# SPDX-License-Identifier: Apache-2.0
"""The kvstore: each key is a table (mlhub.runtime.compat.tables) whose clock ticks at every push.

dist_sync: a key's values of all workers are summed before anybody may pull them; dist_async: each is used as it comes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.compat.kv.optimizers import Optimizer, read_off
from mlhub.runtime.compat.kv.sending import Sender
from mlhub.runtime.compat.tables.connection import Connection, alone, connect
from mlhub.runtime.compat.tables.table import Table
from mlhub.runtime.compression.codecs import ErrorFeedback, codec_for

# MXNet's kinds -> staleness of the tables
KINDS: Mapping[str, int | None] = {
    "local": 0, "device": 0, "dist": 0, "dist_sync": 0, "dist_device_sync": 0, "dist_sync_device": 0, "p3": 0,
    "dist_async": None, "dist_async_device": None, "dist_device_async": None,
}  # fmt: skip
LARGE = 1_000_000  # elements: larger keys are cut over all servers (MXNET_KVSTORE_BIGARRAY_BOUND)
PREFIX = "kv/"
Key = int | str
StoreValue = Tensor | Sequence[Tensor]


def create(name: str = "local") -> KVStore:
    """Raises ValueError for a kind that is not of KINDS, BadInputError when the gang has no servers."""
    if name not in KINDS:
        more = " Use mlhub.runtime.compat.hvd for those." if name in ("horovod", "byteps", "nccl") else ""
        raise ValueError(f"There is no kvstore {name!r}; known: {', '.join(KINDS)}.{more}")
    return KVStore(name, alone() if name in ("local", "device") else connect())


class KVStore:
    """Of one worker. Keys and values may be lists of one length; a value may be a list of tensors, which are summed
    (MXNet's devices)."""

    def __init__(self, kind: str, connection: Connection) -> None:
        self.type = kind
        self._connection, self._staleness = connection, KINDS[kind]
        self._tables: dict[Key, tuple[Table, Table, torch.Size]] = {}  # to ask, to push; the value's shape
        self._sender = Sender()
        connection.before_close.append(self._sender.flush)
        self._optimizer: Optimizer | None = None
        self._compression: dict[str, Any] | None = None
        self._residuals: dict[Key, ErrorFeedback] = {}

    @property
    def rank(self) -> int:
        return self._connection.rank

    @property
    def num_workers(self) -> int:
        return self._connection.n_workers

    @staticmethod
    def is_capable(capability: str) -> bool:
        return capability.lower() == "optimizer"

    def init(self, key: Key | Sequence[Key], value: StoreValue | Sequence[StoreValue]) -> None:
        """Worker 0's value counts. Raises ValueError for a key that is there."""
        for one, given in _pairs(key, value):
            if one in self._tables:
                raise ValueError(f"The key {one!r} was initialised already.")
            first = _summed(given).detach().float()
            self._tables[one] = self._made(one, first)

    def push(self, key: Key | Sequence[Key], value: StoreValue | Sequence[StoreValue], priority: int = 0) -> None:
        """Returns before it is sent; keys of higher priority go first. A sparse tensor's rows are pushed alone.

        Raises ValueError for a key that was not initialised, or another shape.
        """
        for one, given in _pairs(key, value):
            _, table, shape = self._of(one)
            if self._staleness is None and self._optimizer is None:
                raise ValueError(f"{self.type} adds nothing up: call set_optimizer() before push().")
            pushed = _summed(given).detach()
            if pushed.shape != shape:
                raise ValueError(f"{one!r} has the shape {list(shape)}, and {list(pushed.shape)} was pushed.")
            self._send(one, table, pushed, priority)

    def pull(
        self, key: Key | Sequence[Key], out: StoreValue | Sequence[StoreValue] | None = None, priority: int = 0,
        ignore_sparse: bool = True,  # noqa: ARG002 (MXNet's signature)
    ) -> Any:  # fmt: skip
        """Into out, or returned; under dist_sync once all workers have pushed what this one has."""
        found = []
        for one, room in _pairs(key, out):
            table, _, shape = self._of(one)
            self._sender.flush(one, priority=priority)
            rooms = [] if room is None else [room] if isinstance(room, Tensor) else list(room)
            if rooms and _is_plain(rooms[0], shape):
                table.get_into(rooms[0])
                found.append(rooms[0])
            else:
                found.append(table.get().view(shape))
            for tensor in rooms:
                if tensor is not found[-1]:
                    tensor.detach().copy_(found[-1])
        return found if isinstance(key, list | tuple) else found[0]

    def pushpull(
        self, key: Key | Sequence[Key], value: StoreValue | Sequence[StoreValue], out: Any = None, priority: int = 0
    ) -> Any:
        """Out, or the values themselves, become what the store then holds."""
        self.push(key, value, priority)
        return self.pull(key, value if out is None else out, priority)

    def broadcast(
        self, key: Key | Sequence[Key], value: StoreValue | Sequence[StoreValue], out: Any, priority: int = 0
    ) -> None:
        """Worker 0's value, to all."""
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(
        self, key: Key, out: Tensor | None = None, priority: int = 0, row_ids: Tensor | Sequence[int] = ()
    ) -> Tensor:
        """These rows, shape (k, ...), each once, in order, as MXNet has it; out, of the key's shape, gets them, too."""
        table, _, shape = self._of(key)
        self._sender.flush(key, priority=priority)
        ids = torch.unique(torch.as_tensor(row_ids, dtype=torch.int64).reshape(-1))
        rows = table.get(ids).view(-1, *shape[1:])
        if out is not None:
            out.detach()[ids.to(out.device)] = rows.to(out)
        return rows

    def set_optimizer(self, optimizer: Optimizer | torch.optim.Optimizer | str) -> None:
        """From now on pushes are gradients, and servers step. Waits for all workers, who give the same.

        Raises ValueError for what servers do not have.
        """
        self._optimizer = read_off(optimizer)
        self._sender.flush()
        self.barrier()
        if self.rank == 0:
            options = dict(self._optimizer.options)
            request = {"verb": "optimise", "prefix": PREFIX, "name": self._optimizer.name, "options": options}
            self._connection.asking.ask_all(request)
        self.barrier()

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """{"type": "2bit", "threshold": 0.5}; also 1bit, fp16, none. What a push leaves out is added to the next one.

        Raises ValueError for another type.
        """
        names = {"2bit": "two_bit", "1bit": "one_bit", "fp16": "fp16", "none": "none"}
        given = dict(compression_params)
        kind = str(given.pop("type", "2bit"))
        if kind not in names or given.keys() - {"threshold"}:
            raise ValueError(f"The compression {dict(compression_params)} is unknown: give type 2bit, 1bit or fp16.")
        self._compression = {"compression": names[kind], "threshold": float(given.get("threshold", 0.5))}
        if kind == "none":
            self._compression = None
        self._residuals.clear()

    def barrier(self) -> None:
        """Waits for all workers."""
        self._sender.flush()
        self._connection.barrier()

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:  # noqa: ARG002
        """One worker's, between two steps: a safetensors file of the servers' optimiser, by key and row."""
        from safetensors.torch import save_file

        self._sender.flush()
        content = {
            f"{table.name}|{key}": values.contiguous()
            for table, _, _ in self._tables.values()
            for key, values in table.export().items()
            if key != "rows"
        }
        save_file(content, fname)

    def load_optimizer_states(self, fname: str) -> None:
        """One worker's, after init() and set_optimizer() on any number of servers."""
        from safetensors.torch import load_file

        content = load_file(fname)
        for table, _, _ in self._tables.values():
            own = {k.partition("|")[2]: v for k, v in content.items() if k.startswith(f"{table.name}|")}
            if own:
                table.restore(own, also_rows=False)

    def close(self) -> None:
        """All that was pushed is sent; nothing more may be pushed."""
        self._sender.flush()
        self._sender.close()
        self._connection.before_close.remove(self._sender.flush)

    def _made(self, key: Key, first: Tensor) -> tuple[Table, Table, torch.Size]:
        """Tables have rows; a tensor of one number is one row."""
        n = first.shape[0] if first.dim() else 1
        only = None if first.numel() > LARGE else zlib.crc32(str(key).encode()) % self._connection.n_servers
        update = self._optimizer or Optimizer("assign")
        pair = [
            Table(
                line, f"{PREFIX}{key}", (n, *(first.shape[1:] or (1,))), initial=initial, staleness=self._staleness,
                optimizer=update.name, options=update.options, ticks=True, only=only,
            )
            for line, initial in (
                (self._connection.asking, first.reshape(n, *(first.shape[1:] or (1,)))),
                (self._connection.pushing, None),
            )
        ]  # fmt: skip
        return pair[0], pair[1], first.shape

    def _send(self, key: Key, table: Table, pushed: Tensor, priority: int) -> None:
        if pushed.is_sparse:
            own = pushed.coalesce()
            ids, rows = own.indices()[0].cpu(), own.values().float().cpu()
            self._sender.send(key, lambda: table.add(ids, rows.view(ids.numel(), *table.row_shape)), priority=priority)
            return
        values = pushed.float().cpu().reshape(table.n_rows or 1, *table.row_shape)
        if self._compression is None:
            kept = values.clone() if values.data_ptr() == pushed.data_ptr() else values
            self._sender.send(key, lambda: table.add(None, kept), priority=priority)
            return
        compression = self._compression
        feedback = self._residuals.get(key)
        if feedback is None:
            codec = codec_for(compression)
            assert codec is not None
            feedback = self._residuals[key] = ErrorFeedback(codec, torch.zeros(values.numel()))
        flat, encoder = values.reshape(-1), feedback
        parts = [(encoder.encode(flat[a:b], begin=a), b - a) for a, b in table.stretches]
        self._sender.send(key, lambda: table.add_encoded(parts, compression), priority=priority)

    def _of(self, key: Key) -> tuple[Table, Table, torch.Size]:
        if key not in self._tables:
            raise ValueError(f"The key {key!r} was not initialised: call init() on every worker first.")
        return self._tables[key]


def _pairs(key: Any, value: Any) -> list[tuple[Key, Any]]:
    if not isinstance(key, list | tuple):
        return [(key, value)]
    if value is None:
        return [(one, None) for one in key]
    if len(key) != len(value):
        raise ValueError(f"{len(key)} keys, and {len(value)} values.")
    return list(zip(key, value, strict=True))


def _is_plain(room: Tensor, shape: torch.Size) -> bool:
    """Whether what comes may be written there as it is."""
    return room.shape == shape and room.dtype == torch.float32 and room.device.type == "cpu" and room.is_contiguous()


def _summed(value: StoreValue) -> Tensor:
    if isinstance(value, Tensor):
        return value
    total = value[0].detach().clone()
    for other in value[1:]:
        total += other.to(total.device)
    return total
