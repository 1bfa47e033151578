# SPDX-License-Identifier: Apache-2.0
"""serve.py of an export: its address is taken, or refused, before the model is loaded."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mlhub.runtime.exported_model.serving import serve


def test_an_address_that_is_taken_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert serve(tmp_path, ["--port", str(port)]) == 1  # the folder has no model that could be loaded
    assert f"It cannot listen at 127.0.0.1:{port}: " in capsys.readouterr().err
    assert serve(tmp_path, ["--port", "99999"]) == 1
    assert "must be 0-65535. Give another one" in capsys.readouterr().err


def test_it_says_that_it_loads_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileNotFoundError):
        serve(tmp_path, ["--port", "0"])
    assert capsys.readouterr().err == "Loading the model ...\n"
