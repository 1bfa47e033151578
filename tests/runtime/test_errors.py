# SPDX-License-Identifier: Apache-2.0
"""Whose fault an exception is: by its type and by the frame that raised it, never by its words."""

from __future__ import annotations

import errno
import os
import runpy
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import torch

from mlhub.runtime.errors import (
    BadInputError,
    ExitStatusError,
    GangTimeoutError,
    NotANumberError,
    PeerLostError,
    PreemptedError,
    classify,
)
from mlhub.runtime.ps.wire.messages import DoneReply
from mlhub.runtime.ps.wire.transfer import receive
from mlhub.runtime.reporting import Reporter
from mlhub.wire.exits import Cause, ExitCode, Fault


def caught(act: Callable[[], object]) -> BaseException:
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def raising(error: BaseException) -> Callable[[], object]:
    def act() -> object:
        raise error

    return act


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("NCCL error: unhandled system error"),
        RuntimeError("[/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:6017"),
        RuntimeError("gloo is my dataset"),
        RuntimeError("CUDA out of memory"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] can't allocate memory"),
        OSError("Broken pipe"),
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
        OSError(errno.ENOSPC, "No space left on device"),
        TimeoutError("Timed out waiting"),
        PeerLostError("says the user"),
        torch.distributed.DistBackendError("NCCL"),
        ValueError("no number"),
        ExitStatusError("status 1"),
        BadInputError("no", field="f", remedy="r"),
    ],
    ids=lambda error: f"{type(error).__name__}: {str(error)[:20]}",
)
def test_what_the_users_code_raises_is_the_users_whatever_it_says(error: Exception) -> None:
    found = caught(raising(error))
    assert classify(found) == (ExitCode.USER_CODE, Cause.USER_CODE)
    assert classify(found)[1].fault is Fault.USER


def test_a_connection_of_the_users_own_that_is_refused_is_the_users() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        error = caught(lambda: socket.create_connection(("127.0.0.1", port), timeout=1))
    assert isinstance(error, ConnectionRefusedError)
    assert classify(error)[1] is Cause.USER_CODE


def test_a_peer_is_lost_when_the_connection_of_the_parameter_servers_protocol_breaks() -> None:
    here, there = socket.socketpair()
    there.close()
    with here:
        error = caught(lambda: receive(here, DoneReply))
    assert classify(error) == (ExitCode.PEER_LOST, Cause.PEER_LOST)


def test_a_user_who_names_the_lost_peer_as_the_reason_is_believed() -> None:
    here, there = socket.socketpair()
    there.close()

    def train() -> None:
        try:
            receive(here, DoneReply)
        except PeerLostError as error:
            raise RuntimeError("training failed") from error

    with here:
        assert classify(caught(train))[1] is Cause.PEER_LOST


def test_a_store_of_torch_distributed_that_does_not_answer_is_a_lost_peer() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        error = caught(
            lambda: torch.distributed.TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(milliseconds=50))
        )
    assert isinstance(error, torch.distributed.DistError)
    assert classify(error)[1] is Cause.PEER_LOST


@pytest.mark.parametrize(
    "act",
    [
        raising(MemoryError()),
        raising(torch.OutOfMemoryError("Tried to allocate 20 GiB")),
        lambda: torch.empty(2**46),
        lambda: bytearray(2**62),
    ],
    ids=["MemoryError", "CUDA's type", "torch's allocator", "Python's allocator"],
)
def test_memory_is_short_when_an_allocator_says_so(act: Callable[[], object]) -> None:
    assert classify(caught(act)) == (ExitCode.OUT_OF_MEMORY, Cause.OUT_OF_MEMORY)


def test_memory_that_was_short_stays_the_cause_of_an_error_raised_from_it() -> None:
    def load() -> None:
        try:
            bytearray(2**62)
        except MemoryError as error:
            raise ValueError("cannot load") from error

    assert classify(caught(load))[1] is Cause.OUT_OF_MEMORY


def test_a_full_disk_under_the_platforms_own_file_is_the_platforms() -> None:
    reporter = Reporter(Path("/dev/full"))
    error = caught(lambda: reporter.phase("training"))
    assert isinstance(error, OSError)
    assert classify(error) == (ExitCode.IO_ERROR, Cause.IO_ERROR)


def test_a_script_that_fills_the_disk_itself_is_the_users(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import os\nos.write(os.open('/dev/full', os.O_WRONLY), b'x')\n")
    assert classify(caught(lambda: runpy.run_path(os.fspath(script))))[1] is Cause.USER_CODE


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (PreemptedError(), Cause.PREEMPTED),
        (GangTimeoutError(), Cause.TIMEOUT),
        (NotANumberError(), Cause.NOT_A_NUMBER),
    ],
)
def test_errors_of_the_trainer_have_their_own_causes(error: Exception, cause: Cause) -> None:
    assert classify(error) == (ExitCode[cause.name], cause)
