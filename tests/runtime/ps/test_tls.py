# SPDX-License-Identifier: Apache-2.0
"""The encrypted data plane: nothing readable on the wire, the same training, and strangers stay outside."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch

from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS
from mlhub.runtime.ps.wire.declaration import MAGIC
from mlhub.runtime.ps.wire.handshake import StrangerError
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import DataPlane, SyncMode, TrainingSpec
from tests.runtime import gang as processes
from tests.runtime.shards import SECRET, Gang


@pytest.mark.parametrize(
    "strategy", [{"name": "bsp"}, {"name": "asp"}, {"name": "bounded_delay", "staleness_scaling": "none"}], ids=str
)
def test_over_tls_every_push_counts_once(strategy: dict) -> None:
    n = 2 * CHUNK_ELEMENTS + 17
    gang = Gang(strategy, n_workers=2, n_shards=2, n_elements=n, is_encrypted=True)

    def act(worker, client, weights, gradient):
        gradient[:] = 1.0
        for _ in range(4):
            client.exchange()
        client.push()
        client.coordination.idle()
        client.coordination.total([0.0])
        client.pull()
        return weights

    for weights in gang.each(act):
        assert torch.equal(weights, torch.full_like(weights, -10.0))
    assert not gang.errors


class Tap:
    """A line to a port on which everything that passes is remembered."""

    def __init__(self, port: int) -> None:
        self.port_behind, self.seen = port, bytearray()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):  # who is behind has left
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port_behind))
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):  # the process at either end may have left first
            while content := source.recv(2**16):
                self.seen += content
                target.sendall(content)
            target.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_what_passes_on_the_wire_can_be_read_only_in_the_clear(is_encrypted: bool) -> None:
    gang = Gang({"name": "asp"}, n_workers=2, is_encrypted=is_encrypted)
    tap = Tap(gang.servers[0].port)
    starter, _, _ = gang.client(0)
    client = Client(
        [f"127.0.0.1:{tap.port}"], torch.zeros(10), torch.zeros(10), index=1, attempt="a", secret=SECRET,
        start_timeout_s=5, is_encrypted=is_encrypted,
    )  # fmt: skip
    assert (MAGIC in tap.seen) is not is_encrypted
    assert len(tap.seen) > 100
    client.close()
    starter.close()


def answer_to(line: socket.socket, sent: bytes) -> bytes:
    """What the other end answers before it hangs up."""
    try:
        line.sendall(sent)
        return line.recv(100)
    except OSError:
        return b""


def test_strangers_do_not_pass_the_door() -> None:
    gang = Gang({"name": "asp"}, n_workers=1, is_encrypted=True)
    port = gang.servers[0].port
    with pytest.raises(StrangerError, match="none of the gang's"):
        Client(
            [f"127.0.0.1:{port}"], torch.zeros(1), torch.zeros(1), index=0, attempt="a", secret=b"guess" * 8,
            start_timeout_s=60, is_encrypted=True,
        )  # fmt: skip
    anonymous = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts anybody, has no certificate
    anonymous.check_hostname, anonymous.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=600) as raw:
        assert answer_to(anonymous.wrap_socket(raw), b"hello") == b""
    with socket.create_connection(("127.0.0.1", port), timeout=600) as plain:
        assert MAGIC not in answer_to(plain, b"GET / HTTP/1.1\r\nHost: shard\r\n\r\n")
    client, _, _ = gang.client(0)
    client.close()


@pytest.mark.slow
@pytest.mark.dist
def test_processes_train_the_same_model_over_tls(tmp_path: Path) -> None:
    data = processes.write_blobs(tmp_path / "blobs.npz")
    weights = []
    for plane in DataPlane:
        gang = processes.Gang(tmp_path / plane, data, training=TrainingSpec(epochs=2, batch_size=10), data_plane=plane)
        gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
        assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
        weights.append(gang.weights())
    for key in weights[0]:
        assert np.array_equal(weights[0][key], weights[1][key]), key
