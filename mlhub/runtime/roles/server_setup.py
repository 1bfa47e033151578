# SPDX-License-Identifier: Apache-2.0
"""Builds the server of a pod by its gang's specification: a root with a shard of the model, a leaf, or tables."""

from __future__ import annotations

import shutil
import time
from typing import Protocol

import torch
from torch import Tensor

from mlhub.runtime.compression.codecs import ErrorFeedback, codec_for
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.launcher.fork_supervisor import Incarnation
from mlhub.runtime.optimization.without_compiler import leave_compiler_out
from mlhub.runtime.optional import COMPAT, find_optional
from mlhub.runtime.pod import Pod
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.server.aggregator import AggregatorShard
from mlhub.runtime.ps.server.server import Server
from mlhub.runtime.ps.server.shard_snapshots import SnapshotWriter
from mlhub.runtime.ps.tree import AggregationTree
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.wire.launch import DataPlane

KEEP_EVERY_S = 30.0  # what may be lost, at most


def comes_back(pod: Pod) -> bool:
    """Whether a server of this gang that dies is restarted alone, as under asynchronous strategies."""
    return parse(pod.spec.training.strategy).declaration.servers_come_back


def get_ready() -> None:
    """Called before the first fork, so that no restart repeats what a process's first optimiser imports."""
    leave_compiler_out()
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])


def renew_threads() -> None:
    """Called in a fork before its first thread, to create torch's worker threads.

    Two threads that need them at once may otherwise find neither old nor new ones ("Invalid thread pool!").
    """
    torch.set_num_threads(torch.get_num_threads())


def server_of(pod: Pod, incarnation: Incarnation, reporter: Reporter) -> Server:
    """The server. After a restart it continues from its predecessor's snapshot, and reports what was lost.

    Raises BadInputError for an invalid strategy, OSError when its port is taken or there is no whole snapshot.
    """
    leave_compiler_out()
    spec, is_encrypted = pod.spec, pod.spec.data_plane is DataPlane.TLS
    strategy = parse(spec.training.strategy).parameters
    tree = AggregationTree.of(strategy, n_workers=spec.n_workers, n_servers=spec.n_servers)
    host, _, port = spec.server_addresses[spec.index].rpartition(":")

    def to_roots(weights: Tensor, gradient: Tensor) -> Client:
        codec, seed = codec_for(strategy), f"{spec.training.seed}/leaf {spec.index}/{spec.attempt_number}"
        return Client(
            spec.server_addresses[: tree.n_roots],
            weights,
            gradient,
            index=spec.index - tree.n_roots,
            attempt=spec.attempt_id,
            secret=pod.secret,
            start_timeout_s=spec.start_timeout_s,
            is_encrypted=is_encrypted,
            feedback=None if codec is None else ErrorFeedback(codec, torch.zeros_like(gradient), seed=seed),
        )

    snapshot_writer = None
    if comes_back(pod):
        if not incarnation.number:
            shutil.rmtree(pod.kept, ignore_errors=True)
        snapshot_writer = SnapshotWriter(pod.kept, every_s=min(KEEP_EVERY_S, spec.training.checkpoint_every_s))

    def report_return(server: Server) -> None:
        assert snapshot_writer is not None
        reporter.phase(
            "server_returned",
            signal=incarnation.died_by,
            returns=incarnation.number,
            away_s=round(time.time() - incarnation.died_at, 3),
            lost_s=round(incarnation.died_at - snapshot_writer.restored_at, 3),
            updates_lost=server.n_lost,
        )

    n_clients = tree.n_clients(spec.index)
    return Server(
        (host, int(port)),
        index=spec.index,
        n_servers=tree.n_roots,
        n_workers=n_clients,
        attempt=spec.attempt_id,
        secret=pod.secret,
        is_encrypted=is_encrypted,
        shard=AggregatorShard(n_clients, to_roots) if tree.is_leaf(spec.index) else None,
        snapshot_writer=snapshot_writer,
        incarnation=incarnation.number,
        on_return=report_return,
    )


class ScriptServer(Protocol):
    """What serves a script's tables."""

    def serve(self) -> None: ...

    def ask_to_stop(self) -> None: ...


def table_server_of(pod: Pod) -> ScriptServer:
    """A script's. Raises OSError when its port is taken, BadInputError when the image has no tables."""
    tables = find_optional(COMPAT, "tables")
    if tables is None:
        raise BadInputError(
            "The image has no tables on parameter servers.",
            field="mode",
            remedy="Submit it with the mode all_reduce, or ask an administrator for an image with them.",
        )
    server: ScriptServer = tables.server_of(pod)
    return server
