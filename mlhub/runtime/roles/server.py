# SPDX-License-Identifier: Apache-2.0
"""The role of a parameter server. One that dies is forked again where the strategy allows it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Protocol

from mlhub.runtime.launcher.fork_supervisor import ForkSupervisor, Incarnation
from mlhub.runtime.pod import Pod
from mlhub.runtime.ps.server.phase_recorder import ServerRecorder
from mlhub.runtime.ps.server.shard_snapshots import has_snapshot
from mlhub.runtime.reporting import Reporter, ReportStream
from mlhub.runtime.roles.outcome import exit_code_of
from mlhub.runtime.roles.server_setup import comes_back, get_ready, renew_threads, server_of, table_server_of
from mlhub.runtime.usage.network import recorded
from mlhub.wire.exits import ExitCode


class Stoppable(Protocol):
    def ask_to_stop(self) -> None: ...


def run_server(pod: Pod, reporter: Reporter) -> int:
    """Serves until the gang is done and returns the exit code."""
    if pod.spec.model.kind == "script":
        return exit_code_of(lambda: _serve_tables(pod, reporter), reporter)
    if not comes_back(pod):
        return exit_code_of(lambda: _serve(pod, reporter, Incarnation()), reporter)
    get_ready()
    supervisor = ForkSupervisor(
        lambda incarnation: exit_code_of(lambda: _serve(pod, reporter, incarnation, supervisor), reporter),
        lambda: has_snapshot(pod.kept),
    )
    return supervisor.run()


def _serve(pod: Pod, reporter: Reporter, incarnation: Incarnation, supervisor: ForkSupervisor | None = None) -> int:
    """Serves shards of a model; after a restart from what the predecessor had kept."""
    renew_threads()
    server = server_of(pod, incarnation, reporter)
    stop_requested = _stop_on_sigterm(server)
    if supervisor is not None and supervisor.is_asked_to_stop:
        signal.raise_signal(signal.SIGTERM)
    if not incarnation.number:
        reporter.phase("gang_ready")
    stream = ReportStream(server.staleness, reporter)
    stream.start()
    recorder = ServerRecorder(pod, server.shard, is_restarted=incarnation.number > 0)
    recorder.start()
    try:
        with recorded(pod.traffic):
            server.serve(start_timeout_s=pod.spec.start_timeout_s)
    finally:
        recorder.end()
        stream.end()
    return ExitCode.PREEMPTED if stop_requested() else ExitCode.DONE


def _serve_tables(pod: Pod, reporter: Reporter) -> int:
    """Serves the tables of a script."""
    server = table_server_of(pod)
    stop_requested = _stop_on_sigterm(server)
    reporter.phase("gang_ready")
    server.serve()
    return ExitCode.PREEMPTED if stop_requested() else ExitCode.DONE


def _stop_on_sigterm(server: Stoppable) -> Callable[[], bool]:
    """Passes SIGTERM on to the server; returns a function that reports whether it came."""
    requests: list[int] = []

    def stop(number: int, _: object) -> None:
        requests.append(number)
        server.ask_to_stop()

    signal.signal(signal.SIGTERM, stop)
    return lambda: bool(requests)
