# SPDX-License-Identifier: Apache-2.0
"""Which servers a script's tables lie on: its gang's; or, where it is alone without any, one in this process."""

from __future__ import annotations

import functools
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from mlhub.runtime.compat.tables.client import Line
from mlhub.runtime.compat.tables.server import TableServer
from mlhub.runtime.errors import BadInputError, PeerLostError
from mlhub.runtime.pod import Pod
from mlhub.wire import environment as names
from mlhub.wire.launch import DataPlane

STALENESS = {"bsp": 0, "asp": None, "ssp": 3}  # of the job's strategy, which a table may differ from


@dataclass(frozen=True)
class Connection:
    """asking: for what may have to wait for others. pushing: for what never does, from another thread. before_close:
    what sends what is still to be sent."""

    rank: int
    n_workers: int
    n_servers: int
    staleness: int | None
    asking: Line
    pushing: Line
    before_close: list[Callable[[], None]] = field(default_factory=list)

    def barrier(self) -> None:
        """Waits for all workers that have not left."""
        self.asking.total([0.0])

    def close(self) -> None:
        """Sends BYE: no worker waits for this one any more."""
        for finish in self.before_close:
            finish()
        self.pushing.close()
        self.asking.close()


@functools.cache
def connect() -> Connection:
    """This process's connection, made once. Raises BadInputError when the gang has workers but no servers,
    GangTimeoutError when they do not come."""
    pod = Pod.from_environment() if names.SPEC_PATH in os.environ else None
    if pod is not None and pod.spec.n_servers:
        return _to(pod)
    n_workers = pod.spec.n_workers if pod is not None else int(os.environ.get(names.WORLD_SIZE, "1"))
    if n_workers > 1:
        raise BadInputError(
            f"This job's {n_workers} workers have no servers to hold their tables.",
            field="mode",
            remedy='Submit the script with "mode": "parameter_server", or the strategy bsp, ssp or asp.',
        )
    return alone()


def leave(pod: Pod) -> None:
    """At the end of a script: servers wait for the goodbye of every worker, also of those that never asked them."""
    if pod.spec.n_servers or connect.cache_info().currsize:
        connect().close()


def server_of(pod: Pod) -> TableServer:
    """A server pod's. Raises OSError when its port is taken."""
    spec = pod.spec
    host, _, port = spec.server_addresses[spec.index].rpartition(":")
    return TableServer(
        (host, int(port)),
        index=spec.index,
        n_workers=spec.n_workers,
        attempt=spec.attempt_id,
        secret=pod.secret,
        is_encrypted=spec.data_plane is DataPlane.TLS,
    )


def _to(pod: Pod) -> Connection:
    spec = pod.spec
    lines = [
        Line(
            spec.server_addresses,
            index=spec.index,
            attempt=spec.attempt_id,
            secret=pod.secret,
            start_timeout_s=spec.start_timeout_s,
            is_encrypted=spec.data_plane is DataPlane.TLS,
        )
        for _ in range(2)
    ]
    asked = spec.training.strategy
    name = str(asked.get("name", "asp"))
    staleness = asked.get("staleness", STALENESS.get(name)) if name == "ssp" else STALENESS.get(name)
    return Connection(spec.index, spec.n_workers, spec.n_servers, staleness, lines[0], lines[1])


def alone() -> Connection:
    """To a server on a thread of this process, which no other caller uses."""
    secret = secrets.token_bytes(16)
    server = TableServer(("127.0.0.1", 0), index=0, n_workers=1, attempt="alone", secret=secret)
    threading.Thread(target=_serve, args=(server,), name="table server", daemon=True).start()
    address = [f"127.0.0.1:{server.port}"]
    lines = [Line(address, index=0, attempt="alone", secret=secret, start_timeout_s=30.0) for _ in range(2)]
    return Connection(0, 1, 1, None, lines[0], lines[1])


def _serve(server: TableServer) -> None:
    with suppress(PeerLostError):  # its only worker forgot its goodbye
        server.serve()
