# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.runtime.roles runs what a pod is for: a worker, a parameter server, or a user's script.

The process ends with a mlhub.wire.exits.ExitCode, after a failure report when the code is not a good one.
"""

from __future__ import annotations

import faulthandler
import os
import sys

from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.roles.socket_folder import short_temporary_folder
from mlhub.wire.launch import NOTEBOOK, PodRole


def main() -> int:
    """Runs the role to its end and returns the exit status. Each role imports only what it needs."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported, which reads it then
    faulthandler.enable()  # a crash in native code leaves the Python stack in the log
    pod = Pod.from_environment()
    reporter = Reporter(pod.reports)
    with short_temporary_folder():
        if pod.spec.role is PodRole.SERVER:
            from mlhub.runtime.roles.server import run_server

            return run_server(pod, reporter)
        if pod.spec.model.kind == "script":
            from mlhub.runtime.roles.script import run_script

            return run_script(pod, reporter)
        if pod.spec.model.kind == NOTEBOOK:
            from mlhub.runtime.roles.notebook import run_notebook

            return run_notebook(pod, reporter)
        from mlhub.runtime.roles.worker import run_worker

        return run_worker(pod, reporter)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # threads of torch's communication libraries may abort an orderly end of the interpreter
