# SPDX-License-Identifier: Apache-2.0
"""A server of tables, for scripts: a thread a connection, until all workers have left."""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.compat.tables import calls
from mlhub.runtime.compat.tables.functions import function
from mlhub.runtime.compat.tables.part import TablePart, TablePartPlan
from mlhub.runtime.compat.tables.updates import TableUpdate
from mlhub.runtime.compression.codecs import codec_for
from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.server.coordination import WorkerCoordination
from mlhub.runtime.ps.server.waiting import ShardCondition
from mlhub.runtime.ps.wire.declaration import requests_for
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.handshake import TIMEOUT_S, StrangerError, admit
from mlhub.runtime.ps.wire.messages import Purpose, TableReply, TableRequest
from mlhub.runtime.ps.wire.sockets import accept, is_near, listen, listen_near, tune
from mlhub.runtime.ps.wire.tls import context_for
from mlhub.runtime.ps.wire.tls_socket import TlsSocket
from mlhub.runtime.ps.wire.transfer import receive

POLL_S = 0.2
Reply = tuple[dict[str, Any], list[Tensor]]


class TableServer:
    """address: host and port to listen on; port 0: any free one."""

    def __init__(
        self, address: tuple[str, int], *, index: int, n_workers: int, attempt: str, secret: bytes,
        is_encrypted: bool = False,
    ) -> None:  # fmt: skip
        """Raises OSError when the port is taken."""
        self.index, self.n_workers = index, n_workers
        self._attempt, self._secret = attempt, secret
        self._tls = context_for(secret, is_server=True) if is_encrypted else None
        self._tables: dict[str, TablePart] = {}
        self._waiting = ShardCondition()
        self._coordination = WorkerCoordination(n_workers, self._waiting)
        self._listener = listen(address)
        near = listen_near(self.port) if is_near(address[0]) else None
        self._listeners = [self._listener] if near is None else [self._listener, near]
        self._open: Counter[int] = Counter()  # connections by worker
        self._lost: dict[int, str] = {}
        self._came: set[int] = set()
        self._is_asked_to_stop = self._has_left = False

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def ask_to_stop(self) -> None:
        """Ends once no worker is connected: workers decide themselves when they go."""
        self._is_asked_to_stop = True

    def serve(self) -> None:
        """Returns when all workers have left, or no worker is here that could ask. Raises PeerLostError when all of
        them were lost."""
        try:
            while not self._is_over():
                callers, _, _ = select.select(self._listeners, (), (), POLL_S)
                for listener in callers:
                    threading.Thread(target=self._admit, args=(accept(listener),), daemon=True).start()
        finally:
            self._waiting.fail("The server is leaving.")
            for listener in self._listeners:
                listener.close()

    def _is_over(self) -> bool:
        with self._waiting.changed:
            if any(self._open.values()):
                return False
            if len(self._came) == self.n_workers and not self._has_left:
                raise PeerLostError("All workers are gone.")
            return len(self._came) == self.n_workers or self._is_asked_to_stop

    def _admit(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(TIMEOUT_S)
            if self._tls is not None:
                connection = TlsSocket(connection, self._tls, is_server=True)
            caller = admit(connection, secret=self._secret, attempt=self._attempt)
            worker, purpose = caller.index, caller.purpose
            if purpose is not Purpose.TABLES or not 0 <= worker < self.n_workers:
                raise StrangerError(f"Worker {worker} wants {purpose}, and this is a server of tables.")
        except (StrangerError, OSError) as error:
            print(f"server {self.index}: refused a connection: {error}", flush=True)
            connection.close()
            return
        tune(connection)
        with self._waiting.changed:
            self._open[worker] += 1
            self._came.add(worker)
        reason = self._answer_requests(connection, worker)
        connection.close()
        self._leave(worker, reason)

    def _answer_requests(self, connection: socket.socket, worker: int) -> str | None:
        """Answers requests until the connection ends. Returns why it is lost, or None when the worker left."""
        try:
            while True:
                request = receive(connection, *requests_for(Purpose.TABLES))
                if not isinstance(request, TableRequest):
                    return None  # it left
                tensors = calls.receive_tensors(connection, request)
                try:
                    reply, answer = self._answer(worker, request.fields, tensors)
                except (ValueError, KeyError, TypeError, IndexError, RuntimeError, PeerLostError) as error:
                    calls.refuse(connection, error)
                else:
                    calls.send(connection, TableReply, reply, answer)
        except (PeerLostError, FrameError, OSError, ValueError, KeyError, TypeError) as error:
            return f"Worker {worker} is gone: {error}"

    def _leave(self, worker: int, reason: str | None) -> None:
        if reason is not None:
            print(f"server {self.index}: {reason}", flush=True)
        with self._waiting.changed:
            self._open[worker] -= 1
            if reason is not None:
                self._lost[worker] = reason
            if not self._open[worker]:
                lost = self._lost.get(worker)
                self._has_left |= lost is None
                for part in self._tables.values():
                    part.leave(worker, lost)
                self._coordination.leave(worker)
            self._waiting.changed.notify_all()

    # What workers ask for ----------------------------------------------------------------------------------------

    def _answer(self, worker: int, request: dict[str, Any], tensors: list[Tensor]) -> Reply:
        verb = str(request["verb"])
        if verb == "total":
            packed = struct.pack(f"{tensors[0].numel()}d", *tensors[0].double().tolist())
            summed = self._coordination.total(worker, packed)
            return {}, [torch.tensor(struct.unpack(f"{len(summed) // 8}d", summed), dtype=torch.float64)]
        with self._waiting.changed:
            if verb == "create":
                self._create(TablePartPlan(**request["plan"]))
                return {}, []
            if verb == "optimise":
                self._optimise(str(request["prefix"]), str(request["name"]), request["options"])
                return {}, []
            if verb == "names":
                return {"names": [name for name in self._tables if name.startswith(str(request["prefix"]))]}, []
            return self._of_table(self._table(str(request["table"])), worker, verb, request, tensors)

    def _of_table(
        self, part: TablePart, worker: int, verb: str, request: dict[str, Any], tensors: list[Tensor]
    ) -> Reply:
        ids = tensors[0] if request.get("has_ids") else None
        match verb:
            case "get":
                self._wait(part, lambda: part.is_ready and part.clocks.may_read(worker))
                return {"clock": part.clocks.slowest}, [part.get(ids)]
            case "set":
                part.set(ids, tensors[-1])
            case "add":
                self._wait(part, lambda: part.is_ready)
                part.add(worker, ids, _decoded(request, tensors[-1]))
            case "tick":
                part.tick(worker)
            case "call":
                return {}, self._call(part, worker, request)
            case "export":
                names, content = part.export()
                return {"names": names}, content
            case "restore":
                part.restore(dict(zip(request["names"], tensors, strict=True)), also_rows=bool(request["also_rows"]))
            case _:
                raise ValueError(f"There is no verb {verb!r}.")
        self._waiting.changed.notify_all()
        return {}, []

    def _call(self, part: TablePart, worker: int, request: dict[str, Any]) -> list[Tensor]:
        name = str(request["function"])
        found = function(name)
        if found.takes_other == (request.get("other") is None):
            raise ValueError(f"{name} takes {'another table' if found.takes_other else 'one table only'}.")
        self._wait(part, lambda: part.is_ready and part.clocks.may_read(worker))
        other = self._table(str(request["other"])).rows if found.takes_other else None
        return list(part.call(name, found.checked(name, request["options"]), other))

    def _create(self, plan: TablePartPlan) -> None:
        """The first worker that comes makes it; the others must want the same."""
        there = self._tables.get(plan.name)
        if there is None:
            self._tables[plan.name] = TablePart(plan, n_workers=self.n_workers)
        elif replace(there.plan, update="", options={}) != replace(plan, update="", options={}):
            raise ValueError(f"The table {plan.name} is there already, and is another: {there.plan.to_json()}.")

    def _optimise(self, prefix: str, name: str, options: dict[str, Any]) -> None:
        for table, part in self._tables.items():
            if table.startswith(prefix):
                part.update = TableUpdate(name, options)

    def _table(self, name: str) -> TablePart:
        if name not in self._tables:
            raise ValueError(f"There is no table {name}: make it on every worker first.")
        return self._tables[name]

    def _wait(self, part: TablePart, is_so: Callable[[], bool]) -> None:
        self._waiting.wait(lambda: part.failure is not None or is_so())
        if part.failure is not None:
            raise PeerLostError(part.failure)


def _decoded(request: dict[str, Any], values: Tensor) -> Tensor:
    """What a worker pushed in fewer bytes, as numbers."""
    codec = codec_for(request.get("codec", {}))
    return values if codec is None else codec.decode(values, n=int(request["n"]))
