# SPDX-License-Identifier: Apache-2.0
"""The supervisor with real databases and stand-in commands: order, restarts, clean ends and killed ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mlhub.embedded.home import PROJECT, Home, given_address
from mlhub.embedded.servers import temporary_servers
from mlhub.embedded.supervisor import django_commands

# A supervisor whose web server is Python's own and whose other processes only sleep.
STAND_IN = """
import sys
from pathlib import Path
from mlhub.embedded.home import Home, given_address
from mlhub.embedded.supervisor import AlreadyRunningError, Supervisor
python = sys.executable
sleep = [python, "-S", "-c", "import time; time.sleep(1000)"]
def commands(port):
    return {"web": [python, "-S", "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", "docs"],
            "worker": sleep, "control": sleep}
try:
    with Supervisor(Home(Path(sys.argv[1])), commands=commands, migrate=lambda e: None, health_path="/") as s:
        s.start()
        s.watch()
except AlreadyRunningError as error:
    print(error)
    sys.exit(3)
"""


# In front of it: a PostgreSQL whose recovery takes longer than the second start waits for.
SLOW_RECOVERY = """
from mlhub.embedded.postgres import Postgres, PostgresError
wait_until_ready, starts = Postgres._wait_until_ready, []
def impatient(self):
    starts.append(1)
    if len(starts) == 2:
        raise PostgresError("PostgreSQL did not start in time")
    wait_until_ready(self)
Postgres._wait_until_ready = impatient
"""

# In front of it: the web server is not reached before a file is there, and the clock runs a hundred times as fast.
SLOW_MACHINE = """
import sys, time, urllib.request
from pathlib import Path
monotonic, urlopen = time.monotonic, urllib.request.urlopen
def reached(*arguments, **more):
    if not Path(sys.argv[1]).with_name("reachable").exists():
        raise OSError("Connection refused")
    return urlopen(*arguments, **more)
time.monotonic, urllib.request.urlopen = lambda: 100 * monotonic(), reached
"""


def wait(condition: Callable[[], Any], *, seconds: float = 120) -> Any:
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Running:
    def __init__(self, home: Path, before: str = "") -> None:
        self.home = Home(home)
        (home / "platform.json").unlink(missing_ok=True)
        environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL", "MLHUB_PORT")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", before + STAND_IN, str(home)],
            cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def pids(self) -> dict[str, int]:
        path = self.home.path / "platform.json"
        found: dict[str, int] = json.loads(path.read_text())["pids"] if path.exists() else {}
        return found

    def ready(self) -> dict[str, int]:
        def answers() -> bool:
            assert self.process.poll() is None, self.process.communicate()[0]
            platform = self.home.platform()
            try:
                return platform is not None and urllib.request.urlopen(platform.url, timeout=1).status == 200
            except OSError:
                return False

        wait(answers)
        return self.pids()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []
    tmp_path.chmod(0o755)

    def _start(before: str = "") -> Running:
        started.append(Running(tmp_path / "home", before))
        return started[-1]

    yield _start
    for running in started:
        running.process.kill()
        running.process.wait()


@pytest.mark.slow
def test_everything_starts_and_a_request_to_stop_leaves_nothing(start: Callable[[], Running]) -> None:
    running = start()
    pids = running.ready()
    assert set(pids) == {"supervisor", "web", "worker", "control", "postgres", "valkey"}
    assert all(is_alive(pid) for pid in pids.values())
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(120) == 0
    assert not [name for name, pid in pids.items() if is_alive(pid)]
    assert "database system is shut down" in (running.home.path / "pg18.log").read_text()


@pytest.mark.slow
def test_a_killed_supervisor_leaves_no_server_behind_and_the_next_one_takes_over(start: Callable[[], Running]) -> None:
    first = start()
    pids = first.ready()
    first.process.kill()
    wait(lambda: not [n for n, p in pids.items() if n != "supervisor" and is_alive(p)])
    second = start()
    again = second.ready()
    assert set(again) == set(pids)
    assert (second.home.path / "pg18.log").read_text().count("database system is ready") == 2
    second.process.send_signal(signal.SIGINT)
    assert second.process.wait(120) == 0


@pytest.mark.slow
def test_a_process_that_dies_is_started_again(start: Callable[[], Running]) -> None:
    running = start()
    pids = running.ready()
    for name in ("web", "control"):
        os.kill(pids[name], signal.SIGKILL)
    wait(lambda: all(running.pids()[n] != pids[n] for n in ("web", "control")))
    assert running.ready()["worker"] == pids["worker"]


@pytest.mark.slow
def test_a_database_that_recovers_for_long_stops_nothing_else(start: Callable[..., Running]) -> None:
    running = start(SLOW_RECOVERY)
    pids = running.ready()
    os.kill(pids["postgres"], signal.SIGKILL)
    log = running.home.path / "pg18.log"
    wait(lambda: log.read_text().count("ready to accept connections") == 2)
    assert running.process.poll() is None
    assert all(is_alive(pid) for name, pid in pids.items() if name != "postgres")


@pytest.mark.slow
def test_a_start_on_a_slow_machine_goes_on_and_says_what_it_waits_for(start: Callable[..., Running]) -> None:
    running = start(SLOW_MACHINE)
    assert running.process.stdout is not None
    said = ""  # lines are folded
    while not any(int(seconds) > 120 for seconds in re.findall(r"server at \S+ for (\d+) s", said)):
        line = running.process.stdout.readline()
        assert line, said
        said = f"{said} {line.strip()}"
    assert "Connection refused" in said
    (running.home.path.parent / "reachable").touch()
    assert any("platform is up" in line for line in running.process.stdout)
    assert is_alive(running.ready()["web"])


@pytest.mark.slow
def test_a_second_supervisor_says_where_the_first_one_is(start: Callable[[], Running]) -> None:
    first = start()
    pids = first.ready()
    platform = first.home.platform()
    assert platform is not None
    second = subprocess.run(
        [sys.executable, "-c", STAND_IN, str(first.home.path)],
        cwd=PROJECT, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert second.returncode == 3
    assert platform.url in second.stdout.replace("\n", "")
    assert str(pids["supervisor"]) in second.stdout
    assert "make down" in second.stdout
    assert is_alive(pids["web"])


def test_secrets_are_made_once_and_kept_from_others(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    assert home.secret("django") == home.secret("django") != home.secret("valkey")
    assert (tmp_path / "secrets" / "django").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("uid", "passed"), [(1000, 0o700), (0, 0o711)])
def test_the_platform_s_folders_are_closed_to_other_users_also_those_of_earlier_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int, passed: int
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    (tmp_path / "home" / "logs").mkdir(parents=True, mode=0o755)
    home = Home(tmp_path / "home")
    home.prepare()
    modes = {path.name: path.stat().st_mode & 0o777 for path in home.path.iterdir() if path.is_dir()}
    assert {modes.pop(name) for name in ("logs", "secrets", "static")} == {0o700}
    assert set(modes.values()) == {passed}
    assert home.path.stat().st_mode & 0o777 == passed


@pytest.mark.slow
def test_servers_of_a_test_session_are_gone_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)
    with temporary_servers() as servers:
        import psycopg2
        import redis

        with psycopg2.connect(servers.database_url) as connection, connection.cursor() as cursor:
            cursor.execute("select current_user, current_database()")
            assert cursor.fetchone() == ("mlhub", "mlhub")
        connection.close()
        assert redis.from_url(servers.redis_url).ping()
    with pytest.raises(psycopg2.OperationalError):
        psycopg2.connect(servers.database_url)


def test_given_addresses_are_used_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/db")
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere/0")
    with temporary_servers() as servers:
        assert (servers.database_url, servers.redis_url) == ("postgresql://elsewhere/db", "redis://elsewhere/0")


def test_addresses_and_keys_in_files_are_read_once_and_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    for name in ("DATABASE_URL", "MLHUB_SECRET_KEY"):
        (tmp_path / name).write_text("postgresql://given\n")
        monkeypatch.setenv(f"{name}_FILE", str(tmp_path / name))
    home = Home(tmp_path / "home")
    home.prepare()
    variables = home.environment(url="", database_url=given_address("DATABASE_URL"), redis_url="")
    assert variables["DATABASE_URL"] == "postgresql://given"
    assert variables["MLHUB_SECRET_KEY"] == home.secret("django")
    assert not {"DATABASE_URL_FILE", "MLHUB_SECRET_KEY_FILE"} & set(variables)


def test_the_web_server_leaves_forwarded_addresses_to_mlhub() -> None:
    dockerfile = (PROJECT / "deploy" / "images" / "server.Dockerfile").read_text()
    assert "--no-proxy-headers" in django_commands(8000)["web"]
    assert '"--no-proxy-headers"' in dockerfile
    assert 'FORWARDED_ALLOW_IPS=""' in dockerfile


def test_the_web_server_keeps_idle_connections_longer_than_proxies_do() -> None:
    """60 s, by ingress-nginx: the first to close one meets requests that are on their way."""
    dockerfile = (PROJECT / "deploy" / "images" / "server.Dockerfile").read_text()
    command = django_commands(8000)["web"]
    assert int(command[command.index("--timeout-keep-alive") + 1]) > 60
    assert '"--timeout-keep-alive", "75"' in dockerfile
