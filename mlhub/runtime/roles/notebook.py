# SPDX-License-Identifier: Apache-2.0
"""The role of a notebook: JupyterLab in this very process, on a Unix socket that only the platform's proxy reaches.

The working folder is the job's output folder: it outlives attempts, and its files are the job's artifacts in the end.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.roles.notebook_activity import LOOK_EVERY_S, NotebookActivityClock
from mlhub.runtime.roles.outcome import exit_code_of
from mlhub.runtime.scripts import outputs
from mlhub.runtime.scripts.dataset_folders import show_datasets
from mlhub.wire import environment
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import NOTEBOOK_SOCKET
from mlhub.wire.report import NOTEBOOK_PHASE

if TYPE_CHECKING:
    from types import FrameType


def run_notebook(pod: Pod, reporter: Reporter) -> int:
    """Serves until a person shuts the server down, or the platform asks to leave; returns the exit code of the pod."""
    return exit_code_of(lambda: _serve(pod, reporter), reporter)


def _serve(pod: Pod, reporter: Reporter) -> int:
    folder = outputs.output_folder(pod)
    os.environ[environment.OUTPUT_DIR] = str(folder)
    os.environ.update(show_datasets(pod))
    # folders of Jupyter's own, which are no results
    os.environ |= {"JUPYTER_CONFIG_DIR": str(pod.work / "jupyter"), "JUPYTER_RUNTIME_DIR": str(pod.work / "runtime")}
    os.chdir(folder)
    stopped: list[int] = []
    server = _server(folder, token=os.environ.pop(environment.NOTEBOOK_TOKEN, ""), stopped=stopped)
    _report_activity(server, reporter)
    server.start()
    if stopped:
        return ExitCode.PREEMPTED  # the folder stays as it is: nothing holds the GPU up
    outputs.list_outputs(pod, outputs.found_outputs(pod, brought=set()))
    return ExitCode.DONE


def _server(folder: Path, *, token: str, stopped: list[int]) -> Any:
    """stopped: gets the signals that ask to leave, from the moment that the server handles them.

    Raises BadInputError where JupyterLab is not installed, or without a token, since anyone might come in then.
    """
    try:
        from jupyter_server.serverapp import ServerApp
        from jupyterlab.labapp import LabApp

        from mlhub.runtime.roles.notebook_identity import ProxyIdentityProvider
    except ImportError as error:
        raise BadInputError(
            "JupyterLab is not installed where pods run.",
            field="kind",
            remedy="Ask an administrator to install it: pip install '.[notebook]' in the checkout of MLHub.",
        ) from error
    if not token:
        raise BadInputError("The pod was given no token.", field="kind", remedy="Start the notebook again.")
    # a short name: the kernel takes at most 107 bytes (socket_folder.py)
    path = Path(tempfile.gettempdir()) / NOTEBOOK_SOCKET
    path.unlink(missing_ok=True)
    ProxyIdentityProvider.expected_token = token
    stop = ServerApp._signal_stop

    def stop_and_record(app: ServerApp, number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        stop(app, number, frame)

    # it becomes the handler while the server still loads
    ServerApp._signal_stop = stop_and_record  # type: ignore[method-assign, assignment]
    return LabApp.initialize_server(
        argv=[
            f"--ServerApp.sock={path}",
            "--ServerApp.sock_mode=0600",
            "--ServerApp.identity_provider_class=mlhub.runtime.roles.notebook_identity.ProxyIdentityProvider",
            f"--ServerApp.root_dir={folder}",
            "--ServerApp.open_browser=False",
            "--ServerApp.allow_remote_access=True",  # the proxy passes its own host name on
            "--ServerApp.allow_root=True",
            "--ServerApp.terminals_enabled=True",
            "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
            "--LabApp.news_url=",
            "--log-level=WARN",
        ]
    )


def _report_activity(server: Any, reporter: Reporter) -> None:
    """From the moment that the server answers, reports every LOOK_EVERY_S for how long nothing has been done."""
    from tornado.ioloop import PeriodicCallback

    clock = NotebookActivityClock(server)

    def report() -> None:
        reporter.phase(NOTEBOOK_PHASE, idle_s=clock.idle_s())

    def begin() -> None:
        report()
        PeriodicCallback(report, LOOK_EVERY_S * 1000).start()

    server.io_loop.add_callback(begin)
