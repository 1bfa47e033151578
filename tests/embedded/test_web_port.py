# SPDX-License-Identifier: Apache-2.0
"""The dashboard's port is the one that was asked for, whatever it was last time, or the start says which and why."""

from __future__ import annotations

import io
import socket
from pathlib import Path

import pytest
from rich.console import Console

from mlhub.embedded import supervisor
from mlhub.embedded.home import Home
from mlhub.embedded.ports import free_port
from mlhub.embedded.supervisor import StartError, Supervisor


@pytest.fixture
def said() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def one(tmp_path: Path, said: io.StringIO) -> Supervisor:
    home = Home(tmp_path / "home")
    home.prepare()
    return Supervisor(home, console=Console(file=said, width=200))


def test_a_port_that_is_named_now_comes_before_that_of_last_time(
    one: Supervisor, said: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLHUB_PORT", raising=False)
    before = one._web_port()
    assert one._web_port() == before
    wanted = free_port()
    monkeypatch.setenv("MLHUB_PORT", str(wanted))
    assert one._web_port() == wanted
    assert said.getvalue() == ""


def test_a_port_that_is_taken_is_replaced_with_a_word_and_taken_again_once_it_is_free(
    one: Supervisor, said: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        wanted = other.getsockname()[1]
        monkeypatch.setenv("MLHUB_PORT", str(wanted))
        chosen = one._web_port()
    assert chosen != wanted
    assert f"port {chosen} instead of {wanted}: another program listens there" in said.getvalue()
    assert one._web_port() == wanted


def test_pods_that_run_keep_the_port_to_which_they_report(
    one: Supervisor, said: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLHUB_PORT", raising=False)
    before = one._web_port()
    monkeypatch.setenv("MLHUB_PORT", str(free_port()))
    monkeypatch.setattr(supervisor, "running_gangs", lambda folder: ["a gang"] if folder == one.home.path else [])
    assert one._web_port() == before
    assert "running jobs report to the one of before" in said.getvalue()


@pytest.mark.parametrize("given", ["abc", "0", "65536", "-1", "80 "])
def test_what_is_no_port_is_refused_in_words(one: Supervisor, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLHUB_PORT", given)
    with pytest.raises(StartError, match="give it a number from 1 to 65535"):
        one._web_port()
