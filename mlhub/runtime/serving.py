"""The server of a pod, as its gang's specification wants it: a root with a shard of the model, a leaf, or tables."""

from __future__ import annotations

import torch
from torch import Tensor

from mlhub.runtime.compression import ErrorFeedback, codec_for
from mlhub.runtime.pod import Pod
from mlhub.runtime.ps.client import Client
from mlhub.runtime.ps.leaf import Leaf
from mlhub.runtime.ps.server import Server
from mlhub.runtime.ps.tree import Tree
from mlhub.runtime.strategies.schema import parse
from mlhub.runtime.tables.server import TableServer
from mlhub.wire.launch import DataPlane


def server_of(pod: Pod) -> Server:
    """Raises BadInputError for a strategy that means nothing, OSError when its port is taken."""
    spec, is_encrypted = pod.spec, pod.spec.data_plane is DataPlane.TLS
    strategy = parse(spec.training.strategy).parameters
    tree = Tree.of(strategy, n_workers=spec.n_workers, n_servers=spec.n_servers)
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

    n_clients = tree.n_clients(spec.index)
    return Server(
        (host, int(port)),
        index=spec.index,
        n_servers=tree.n_roots,
        n_workers=n_clients,
        attempt=spec.attempt_id,
        secret=pod.secret,
        is_encrypted=is_encrypted,
        shard=Leaf(n_clients, to_roots) if tree.is_leaf(spec.index) else None,
    )


def table_server_of(pod: Pod) -> TableServer:
    """A script's. Raises OSError when its port is taken."""
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
