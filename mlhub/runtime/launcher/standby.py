# SPDX-License-Identifier: Apache-2.0
"""The trainer's process: executed anew, or, in a pod that a warm worker became, forked before the launcher began.

A process may be forked safely only while it has one thread. The launcher has several as soon as it ships reports, so a
warm pod forks its trainer first of all (`fork_standby`); it has torch imported, and waits for what the launcher would
have executed. It ends with the launcher.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Protocol

from mlhub.runtime.launcher.fork_supervisor import die_with_parent
from mlhub.runtime.launcher.forked_python import run_python


class TrainerProcess(Protocol):
    """What the launcher uses of subprocess.Popen."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


class StandbyProcess:
    """A child that waits for its command; offers what the launcher uses of subprocess.Popen."""

    def __init__(self) -> None:
        self.returncode: int | None = None
        self._channel, its = socket.socketpair()
        launcher = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            self._channel.close()
            _wait_for_command(its, launcher)
        its.close()

    def start(self, argv: Sequence[str], environment: Mapping[str, str], output: int) -> None:
        """Has it run this command. output: the descriptor of its standard output and error. Raises OSError."""
        message = json.dumps({"argv": list(argv), "environment": dict(environment)}).encode()
        with self._channel:
            socket.send_fds(self._channel, [len(message).to_bytes(8, "big")], [output])
            self._channel.sendall(message)

    def poll(self) -> int | None:
        return self._waited(os.WNOHANG)

    def wait(self) -> int:
        code = self._waited(0)
        assert code is not None
        return code

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _waited(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


_standby: list[StandbyProcess] = []  # of this process, at most one


def fork_standby() -> None:
    """Forks the process that start_trainer uses. To be called while this process has one thread."""
    _standby.append(StandbyProcess())


def start_trainer(argv: Sequence[str], environment: Mapping[str, str], output: int) -> TrainerProcess:
    """Starts `python` with these arguments, which dies with this process. output: a descriptor. Raises OSError."""
    command = [sys.executable, *argv]
    if _standby:
        process = _standby.pop()
        process.start(command, environment, output)
        return process
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        preexec_fn=die_with_parent,
        env=dict(environment),
    )


def _wait_for_command(channel: socket.socket, launcher: int) -> None:
    """In the child: runs what comes over the channel; never returns."""
    status = 0
    try:
        die_with_parent()
        if os.getppid() == launcher and (command := _received(channel)) is not None:
            channel.close()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            argv, environment = command
            status = run_python(argv, environment)
    except BaseException:  # nothing may leave this function: it would go on as a second launcher
        traceback.print_exc()
        status = 1
    finally:
        os._exit(status & 0xFF)


def _received(channel: socket.socket) -> tuple[list[str], dict[str, str]] | None:
    """The command and its environment, once its output is this process's; None when the launcher ended without one."""
    head, descriptors, _, _ = socket.recv_fds(channel, 8, 1)
    if len(head) < 8:
        return None
    size, chunks = int.from_bytes(head, "big"), bytearray()
    while len(chunks) < size:
        chunk = channel.recv(size - len(chunks))
        if not chunk:
            return None
        chunks += chunk
    os.dup2(descriptors[0], 1)
    os.dup2(descriptors[0], 2)
    os.close(descriptors[0])
    found = json.loads(chunks)
    return found["argv"], found["environment"]
