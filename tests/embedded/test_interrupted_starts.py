# SPDX-License-Identifier: Apache-2.0
"""A first start that is killed, or for which the disk has no room, spoils no later one."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mlhub.embedded.home import PROJECT, Home
from mlhub.embedded.ports import free_port
from mlhub.embedded.postgres import Postgres, PostgresError
from mlhub.embedded.privileges import give_to_server
from tests.chaos.test_stores import limited_files


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "home")
    found.prepare()
    return found


def test_a_secret_for_which_there_was_no_room_is_made_whole_later(home: Home) -> None:
    with limited_files(5), pytest.raises(OSError, match="File too large"):
        home.secret("django")
    assert list((home.path / "secrets").iterdir()) == []
    secret = home.secret("django")
    assert len(secret) == 64
    assert home.secret("django") == secret
    assert (home.path / "secrets" / "django").stat().st_mode & 0o777 == 0o600


def test_a_secret_that_an_interrupted_start_left_empty_is_made_anew(home: Home) -> None:
    (home.path / "secrets" / "postgres").touch(mode=0o600)
    assert len(home.secret("postgres")) == 64


def test_ports_that_could_not_be_written_are_those_of_last_time(home: Home) -> None:
    port = home.port("web")
    with limited_files(3), pytest.raises(OSError, match="File too large"):
        home.port("valkey")
    assert home.port("web") == port
    (home.path / "ports.json").write_text("")
    chosen = home.port("web")
    assert json.loads((home.path / "ports.json").read_text()) == {"web": chosen}


@pytest.mark.slow
def test_a_database_whose_making_was_killed_is_made_anew(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    postgres = Postgres(tmp_path / "pg", free_port(), "a-password", durable=False)
    half = tmp_path / "pg.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18")
    (half / "base").mkdir()
    give_to_server(half)
    try:
        postgres.start()
    finally:
        postgres.stop()
    assert not half.exists()
    assert (postgres.data / "PG_VERSION").exists()


def test_a_folder_that_is_no_database_is_named_and_not_removed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    postgres = Postgres(tmp_path / "pg", free_port(), "a-password", durable=False)
    postgres.data.mkdir()
    (postgres.data / "thesis.txt").write_text("three years")
    with pytest.raises(PostgresError, match="move it away"):
        postgres.start()
    assert (postgres.data / "thesis.txt").exists()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["up"], ["backup", "b.backup"]])
def test_a_start_on_a_full_disk_says_so_in_words(tmp_path: Path, arguments: list[str]) -> None:
    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    environment = {**os.environ, "MLHUB_HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "mlhub.embedded", *arguments]
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, cwd=PROJECT, env=environment, stdout=pipe, stderr=pipe, text=True, preexec_fn=full)
    said, errors = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in errors, errors
    assert "Make room there, then repeat it." in " ".join(said.split())
