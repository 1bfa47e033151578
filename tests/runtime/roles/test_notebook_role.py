# SPDX-License-Identifier: Apache-2.0
"""JupyterLab in a pod: asked to leave while it still loads, it leaves as one that was asked to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import os, signal, sys
from pathlib import Path
from jupyter_server.serverapp import ServerApp
from mlhub.runtime.roles.notebook import _server

load = ServerApp.load_server_extensions
def asked_meanwhile(app):
    os.kill(os.getpid(), signal.SIGTERM)
    load(app)
ServerApp.load_server_extensions = asked_meanwhile

stopped = []
server = _server(Path(sys.argv[1]), token="x", stopped=stopped)
server.start()
print("stopped by", *stopped)
"""


def test_a_stop_while_the_server_loads_is_noticed(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONPATH": "."}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines()[-1:] == ["stopped by 15"], done.stderr
