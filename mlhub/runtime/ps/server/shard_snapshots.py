# SPDX-License-Identifier: Apache-2.0
"""What a server leaves on its disk, so that its next incarnation can go on: its shard, now and then, and the log of
what workers did together, always.

The shard is copied a chunk at a time, while others are trained on: chunks are of different moments, and each knows
whose pushes are in it. File: per part a line of JSON, which names its tensors, and then their bytes.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.server.shard import Shard
from mlhub.runtime.ps.server.weights.chunks import ChunkCopy
from mlhub.runtime.ps.server.write_ahead_log import WriteAheadLog
from mlhub.runtime.ps.wire.sockets import bytes_of

SHARE = 0.005  # of a processor that copying may take: a shard that takes longer to copy is copied less often


class SnapshotWriter:
    """Stores one server's shard. folder: the server's own, which all its incarnations share."""

    def __init__(self, folder: Path, *, every_s: float) -> None:
        """every_s: seconds from the end of one copy to the beginning of the next, at least."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path, self._log = folder / "shard", WriteAheadLog(folder / "journal")
        self._every_s = every_s
        self._is_ending = threading.Event()
        self._thread: threading.Thread | None = None
        self.restored_at = 0.0  # when the copy that this server went on from was begun: seconds since the epoch
        self.n_snapshots, self.processor_s = 0, 0.0  # copies so far, and what they took

    def begin(self, shard: Shard) -> None:
        """The shard is started, or restored."""
        shard.coordination.record_in(self._log)
        self._thread = threading.Thread(target=self._run, args=(shard,), name="snapshot writer", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._is_ending.set()

    def restore(self, shard: Shard) -> None:
        """Starts the shard as it was. Raises OSError, ValueError, KeyError."""
        with self._path.open("rb") as file:
            parts = _read(file)
            head, _ = next(parts)
            self.restored_at = head["at"]
            plan = replace(ShardPlan.from_json(head["plan"]), resume_from=None)
            shard.start(plan, torch.empty(plan.size), [torch.empty(t.n_rows, t.width) for t in plan.tables])
            shard.restore(head)
            for part, tensors in parts:
                used = dict(part["used"])
                if "chunk" in part:
                    shard.chunks[part["chunk"]].restore_copy(ChunkCopy(tensors, used), version=head["rule"]["version"])
                else:
                    shard.tables[part["table"]].restore_rows(part["begin"], part["end"], tensors, used)
        shard.coordination.restore(self._log)
        self.begin(shard)

    def _run(self, shard: Shard) -> None:
        pause_s = 0.0
        while not self._is_ending.wait(pause_s):
            began_s = time.thread_time()
            try:
                self.write(shard)
                self.n_snapshots += 1
            except OSError as error:
                print(f"snapshot writer: the shard could not be stored: {error}", flush=True)
            took_s = time.thread_time() - began_s
            self.processor_s += took_s
            pause_s = max(self._every_s, took_s / SHARE)

    def write(self, shard: Shard) -> None:
        """Stores a copy now. The copy before stays until the new one is on the disk."""
        new, at = self._path.with_suffix(".new"), time.time()
        with new.open("wb") as file:
            _write(file, {"at": at, **shard.state()}, {})
            for index, chunk in enumerate(shard.chunks):
                copy = chunk.copy()
                _write(file, {"chunk": index, "used": list(copy.used.items())}, copy.tensors)
            for index, table in enumerate(shard.tables):
                for begin, end, tensors, used in table.copies():
                    _write(file, {"table": index, "begin": begin, "end": end, "used": list(used.items())}, tensors)
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._path)


def has_snapshot(folder: Path) -> bool:
    """Whether a server can go on from what is there."""
    return (folder / "shard").exists() and (folder / "journal").exists()


def _write(file: IO[bytes], part: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    layouts = [[name, str(t.dtype).removeprefix("torch."), list(t.shape)] for name, t in tensors.items()]
    file.write(json.dumps({**part, "tensors": layouts}).encode() + b"\n")
    for tensor in tensors.values():
        file.write(bytes_of(tensor.reshape(-1)))


def _read(file: IO[bytes]) -> Iterator[tuple[dict[str, Any], dict[str, Tensor]]]:
    for line in iter(file.readline, b""):
        part, tensors = json.loads(line), {}
        for name, dtype, shape in part["tensors"]:
            tensor = torch.empty(shape, dtype=getattr(torch, dtype))
            if tensor.numel() and file.readinto(bytes_of(tensor.reshape(-1))) != tensor.nbytes:  # type: ignore[attr-defined]
                raise ValueError("The snapshot of the shard ends too early.")
            tensors[name] = tensor
        yield part, tensors
