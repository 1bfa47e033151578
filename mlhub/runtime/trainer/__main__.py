"""python -m mlhub.runtime.trainer: the process with torch in it: a worker, a parameter server, or a user's script.

Ends with a mlhub.wire.exits.ExitCode, after a report of why when it is a bad one.
"""

from __future__ import annotations

import faulthandler
import os
import runpy
import shlex
import signal
import sys
import traceback
from collections.abc import Callable

import torch

from mlhub.runtime.data import archives
from mlhub.runtime.errors import ExitStatusError, PreemptedError, classify, describe
from mlhub.runtime.launcher.fork_supervisor import ForkSupervisor, Incarnation
from mlhub.runtime.optional import COMPAT, find_optional
from mlhub.runtime.pod import Pod
from mlhub.runtime.prediction.worker import PredictionWorker
from mlhub.runtime.ps.server.shard_snapshots import has_kept
from mlhub.runtime.reporting import Reporter, ReportStream
from mlhub.runtime.scripts import api, framework_env
from mlhub.runtime.scripts.arguments import command_line
from mlhub.runtime.trainer.loop import Trainer
from mlhub.runtime.trainer.server_process import comes_back, get_ready, renew_threads, server_of, table_server_of
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import Role


def main() -> int:
    pod = Pod.from_environment()
    faulthandler.enable()  # a crash in native code leaves the Python stack in the log
    torch.set_num_threads(max(1, int(os.environ.get("OMP_NUM_THREADS", "1"))))
    reporter = Reporter(pod.reports)
    if pod.spec.role is Role.SERVER:
        return _serve(pod, reporter)
    return _told(reporter, lambda: _act(pod, reporter))


def _told(reporter: Reporter, act: Callable[[], int]) -> int:
    """Its status; that of an exception after a report of it."""
    try:
        return act()
    except PreemptedError as asked:
        print(f"trainer: {asked}", flush=True)
        return ExitCode.PREEMPTED
    except (Exception, SystemExit) as ended:
        error = _exit_error(ended) if isinstance(ended, SystemExit) else ended
        code, cause = classify(error)
        traceback.print_exc()
        reporter.failure(cause, describe(error)[:2000], traceback.format_exc())
        return code


def _exit_error(ended: SystemExit) -> ExitStatusError:
    """Only a user's code calls sys.exit() within a trainer."""
    return ExitStatusError(f"The code called sys.exit({ended.code!r}).")


def _act(pod: Pod, reporter: Reporter) -> int:
    if pod.spec.model.kind != "script":
        _work(pod, reporter if pod.is_reporter else Reporter(None))
        return ExitCode.DONE
    code = _run_script(pod)
    tables = find_optional(COMPAT, "tables")
    if tables is not None:
        tables.leave(pod)
    return code


def _work(pod: Pod, reporter: Reporter) -> None:
    worker = Trainer(pod, reporter) if pod.spec.prediction is None else PredictionWorker(pod, reporter)
    signal.signal(signal.SIGTERM, lambda *_: setattr(worker, "is_asked_to_stop", True))
    worker.run()


def _serve(pod: Pod, reporter: Reporter) -> int:
    """Under a guard, where a server that dies goes on from what it kept."""
    if pod.spec.model.kind == "script":
        return _told(reporter, lambda: _serve_tables(pod, reporter))
    if not comes_back(pod):
        return _told(reporter, lambda: _live(pod, reporter, Incarnation()))
    get_ready()
    guard = ForkSupervisor(
        lambda life: _told(reporter, lambda: _live(pod, reporter, life, guard)), lambda: has_kept(pod.kept)
    )
    return guard.run()


def _live(pod: Pod, reporter: Reporter, life: Incarnation, guard: ForkSupervisor | None = None) -> int:
    renew_threads()
    server = server_of(pod, life, reporter)
    asked = []

    def stop(*_: object) -> None:
        asked.append(True)
        server.ask_to_stop()

    signal.signal(signal.SIGTERM, stop)
    if guard is not None and guard.is_asked_to_stop:
        stop()
    if not life.number:
        reporter.phase("gang_ready")
    telling = ReportStream(server.staleness, reporter)
    telling.start()
    try:
        server.serve(start_timeout_s=pod.spec.start_timeout_s)
    finally:
        telling.end()
    return ExitCode.PREEMPTED if asked else ExitCode.DONE


def _serve_tables(pod: Pod, reporter: Reporter) -> int:
    server = table_server_of(pod)
    asked = []

    def stop(*_: object) -> None:
        asked.append(True)
        server.ask_to_stop()

    signal.signal(signal.SIGTERM, stop)
    reporter.phase("gang_ready")
    server.serve()
    return ExitCode.PREEMPTED if asked else ExitCode.DONE


def _run_script(pod: Pod) -> int:
    """The script in this very process, as if python had been called with it; its SystemExit is the pod's answer."""
    assert pod.spec.model.package is not None
    archives.extract(pod.input(pod.spec.model.package), pod.code)
    api.watch_for_preemption()
    os.environ.update(framework_env.variables(pod.spec))
    horovod = find_optional(COMPAT, "horovod")
    if horovod is not None:
        horovod.stand_in()
    os.chdir(pod.code)
    sys.path.insert(0, str(pod.code))
    sys.argv = [pod.spec.model.entry, *command_line(pod.code / pod.spec.model.entry, api.hyperparameters())]
    if len(sys.argv) > 1:
        print("$ python", shlex.join(sys.argv), flush=True)
    try:
        runpy.run_path(pod.spec.model.entry, run_name="__main__")
    except SystemExit as ended:
        if ended.code in (None, 0):
            return ExitCode.DONE
        if ended.code == ExitCode.PREEMPTED:
            return ExitCode.PREEMPTED
        raise ExitStatusError(f"The script ended with status {ended.code}.") from ended
    return ExitCode.DONE


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # threads of torch's communication libraries may abort an orderly end of the interpreter
