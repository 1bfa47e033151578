# SPDX-License-Identifier: Apache-2.0
"""Tests of free ports."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mlhub.embedded import ports


def test_a_free_port_is_none_that_the_kernel_gives_to_connections() -> None:
    lowest = int(ports.EPHEMERAL_RANGE.read_text().split()[0])
    assert lowest > ports.FIRST
    port = ports.free_port()
    assert ports.FIRST <= port < lowest
    assert ports.is_free(port)


def test_a_port_that_a_server_listens_on_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", ports.free_port())) as server:
        taken = server.getsockname()[1]
        assert not ports.is_free(taken)
        (tmp_path / "range").write_text(f"{taken + 1} 60999")
        monkeypatch.setattr(ports, "EPHEMERAL_RANGE", tmp_path / "range")
        monkeypatch.setattr(ports, "FIRST", taken)
        assert ports.free_port() != taken
