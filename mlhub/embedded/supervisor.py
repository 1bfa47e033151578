# SPDX-License-Identifier: Apache-2.0
"""One process that owns all others: starts them in order, restarts what dies, stops them cleanly, leaves no orphans.

1 take the lock  2 compile  3 databases  4 migrate  5 web, worker, beat, control  6 wait until ready  7 watch
8 stop in reverse
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console

from mlhub._version import __version__
from mlhub.backends.gang_rules import StopReason
from mlhub.backends.local.pods import running_gangs
from mlhub.backends.local.quarantine import DAMAGES
from mlhub.embedded.bytecode import compile_sources
from mlhub.embedded.children import Child
from mlhub.embedded.home import PROJECT, Home, Platform, given_address
from mlhub.embedded.patience import Patience
from mlhub.embedded.postgres import Postgres, PostgresError
from mlhub.embedded.valkey import Valkey, ValkeyError

POD_GRACE_S = 10.0
PREFERRED_PORT = 8000
N_START_TRIES = 3
OLD_POSTGRES_S = 20.0
# who waits for a page comes first: the web server before rounds and pods, those before inspections and dry runs
NICENESS = {"control": 5, "worker": 10, "beat": 10}


class AlreadyRunningError(RuntimeError):
    """Another supervisor owns this home folder."""


class StartError(RuntimeError):
    """The platform could not be started; the message names what failed and shows its last words."""


Commands = Callable[[int], dict[str, Sequence[str]]]


def listen_host() -> str:
    """The address that the platform answers at: $MLHUB_HOST, or this machine only."""
    return os.environ.get("MLHUB_HOST") or "127.0.0.1"


def django_commands(port: int) -> dict[str, Sequence[str]]:
    """The platform's own processes, by name, in the order of starting."""
    python = sys.executable
    # no banner between the entries of the log; Django's checks load the whole API, and are made by the tests
    celery = [python, "-m", "celery", "--quiet", "--skip-checks", "-A", "mlhub.celery"]
    web = [python, "-m", "uvicorn", "mlhub.asgi:application", "--host", listen_host(), "--port", str(port)]
    return {
        # addresses come from mlhub/core/web/addresses.py, which knows the trusted proxies. Idle connections are kept
        # longer than proxies keep theirs (60 s): one that closes first meets requests that are on their way
        "web": [
            *web,
            "--lifespan",
            "off",
            "--no-access-log",
            "--no-proxy-headers",
            "--timeout-keep-alive",
            "75",
            "--timeout-graceful-shutdown",
            "3",
        ],
        "worker": [
            *celery,
            "worker",
            "--concurrency",
            "3",  # one more than a fetch and a build, which both may take long: uploads and jobs go on next to them
            "--loglevel",
            "INFO",
            "--without-gossip",
            "--without-mingle",
        ],
        "beat": [*celery, "beat", "--loglevel", "WARNING", "--pidfile", ""],
        "control": [python, "-m", "django", "control", "--skip-checks"],
    }


class Supervisor:
    """Use as: with Supervisor(home) as s: s.start(); s.watch(). commands and migrate can be replaced, in tests."""

    def __init__(
        self,
        home: Home,
        *,
        commands: Commands = django_commands,
        migrate: Callable[[dict[str, str]], None] | None = None,
        console: Console | None = None,
        health_path: str = "/readyz",
    ) -> None:
        self.home = home
        self.commands = commands
        self.migrate = migrate or (lambda environment: _migrate(home, environment))
        self.console = console or Console(highlight=False)
        self.health_path = health_path
        self.children: list[Child] = []
        self.servers: list[Postgres | Valkey] = []
        self.environment: dict[str, str] = {}
        self.url = ""
        self._lock: TextIO | None = None
        self._stop_asked = False
        self._began = time.monotonic()
        self._patience = Patience(self._report)

    def __enter__(self) -> Supervisor:
        self.home.prepare()
        self._lock = _take_lock(self.home)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # stopping is under way; a second Ctrl-C must not leave orphans
        self._stop()
        assert self._lock is not None
        self._lock.close()

    def start(self) -> None:
        """Returns when the platform answers. Raises StartError, PostgresError or ValkeyError."""
        compile_sources()
        database_url, redis_url = self._start_servers()
        port = self._web_port()
        host = listen_host()
        is_everywhere = host == "0.0.0.0"  # noqa: S104 - compared, not bound
        self.url = f"http://{'127.0.0.1' if is_everywhere else host}:{port}"
        self.environment = self.home.environment(url=self.url, database_url=database_url, redis_url=redis_url)
        self.home.note_backend(os.environ.get("MLHUB_BACKEND") or "local")
        self._report("bringing the database up to date")
        self.migrate(self.environment)
        self._report("database is up to date")
        for name, argv in self.commands(port).items():
            log = self.home.logs / f"{name}.log"
            child = Child(name, list(argv), self.environment, PROJECT, log, niceness=NICENESS.get(name, 0))
            child.start()
            self.children.append(child)
        self._note(database_url, redis_url)
        self._wait_until_ready()
        self._start_agent()
        self._report(f"platform is up: [bold]{self.url}[/]")

    def _web_port(self) -> int:
        """MLHUB_PORT, unless pods run that report to the port of last time. Raises StartError."""
        given = os.environ.get("MLHUB_PORT", "")
        if given and (not given.isdecimal() or not 0 < int(given) < 2**16):
            raise StartError(f"MLHUB_PORT is {given!r}: give it a number from 1 to 65535.")
        wanted = int(given) if given else None
        has_pods = any(map(running_gangs, (self.home.path, self.home.agent)))
        port = self.home.port("web", wanted=None if has_pods else wanted, preferred=wanted or PREFERRED_PORT)
        if wanted not in (None, port):
            why = "running jobs report to the one of before" if has_pods else "another program listens there"
            self._report(f"port {port} instead of {wanted}: {why}")
        return port

    def _start_agent(self) -> None:
        """Of this machine, where every node is a machine with an agent; its token is written by the control loop."""
        if os.environ.get("MLHUB_BACKEND") != "agents":
            return
        argv = [sys.executable, "-m", "mlhub.agent", "--server", self.url, "--home", str(self.home.agent)]
        argv += ["--token-file", str(self.home.path / "agent.token")]
        if not self.url.startswith("http://127."):  # others reach it there
            argv += ["--address", os.environ.get("MLHUB_AGENT_ADDRESS") or listen_host()]
        child = Child("agent", argv, self.environment, PROJECT, self.home.logs / "agent.log")
        child.start()
        self.children.append(child)
        self._note(self.environment["DATABASE_URL"], self.environment["REDIS_URL"])

    def watch(self, foreground: subprocess.Popen[bytes] | None = None) -> int:
        """Looks after the processes until a signal asks to stop (0) or the foreground process ends (its status)."""
        while not self._stop_asked:
            if foreground is not None and foreground.poll() is not None:
                return foreground.returncode
            for child in self.children:
                if news := child.look_after():
                    self._report(news)
                    self._note(self.environment["DATABASE_URL"], self.environment["REDIS_URL"])
            for server in self.servers:
                if server.process is not None and server.process.poll() is not None:
                    self._report(f"{type(server).__name__} ended; starting it again (see {server.log})")
                    self._start_again(server)
            time.sleep(0.2)
        if foreground is not None and foreground.poll() is None:
            foreground.terminate()
            foreground.wait()
        return 0

    def _start_again(self, server: Postgres | Valkey) -> None:
        """A database that recovers for longer than a start may take is waited for; all else stays up meanwhile."""
        try:
            server.start()
        except (PostgresError, ValkeyError) as error:
            self._report(f"{type(server).__name__} is not up yet. {error}")

    def _on_signal(self, *_: object) -> None:
        self._stop_asked = True

    def _start_servers(self) -> tuple[str, str]:
        database_url, redis_url = given_address("DATABASE_URL"), given_address("REDIS_URL")
        if not database_url:
            data = self.home.path / "pg18"
            _wait_for_old_postgres(data)
            postgres = Postgres(data, self.home.port("postgres"), self.home.secret("postgres"))
            self._start_patiently(postgres)
            database_url = postgres.url
        if not redis_url:
            valkey = Valkey(self.home.path / "valkey", self.home.port("valkey"), self.home.secret("valkey"))
            self._start_patiently(valkey)
            redis_url = valkey.url
        self._report("PostgreSQL and Valkey are up")
        return database_url, redis_url

    def _start_patiently(self, server: Postgres | Valkey) -> None:
        """However long it takes; a later start is limited, since all else has to be looked after meanwhile."""
        name, limit_s = type(server).__name__, server.start_timeout_s

        def wait() -> None:
            if self._stop_asked:
                raise StartError(f"Stopped while {name} was starting.")
            self._patience.wait_for(f"{name} to answer", detail=f"see {server.log}")

        self.servers.append(server)
        server.start_timeout_s, server.on_wait = None, wait
        server.start()
        server.start_timeout_s, server.on_wait = limit_s, lambda: None

    def _wait_until_ready(self) -> None:
        """Until the web server says so, or the user stops. Raises StartError when a process ends again and again."""
        address, answered = self.url + self.health_path, "no answer"
        while not self._stop_asked:
            try:
                with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - our own address
                    if answer.status == 200:
                        return
                    answered = f"status {answer.status}"
            except (urllib.error.URLError, OSError) as error:
                answered = str(error)
            for child in self.children:
                if news := child.look_after():
                    self._report(news)
                    self._note(self.environment["DATABASE_URL"], self.environment["REDIS_URL"])
            failing = next((c for c in self.children if c.n_restarts >= N_START_TRIES), None)
            if failing is not None:
                raise StartError(f"{failing.name} did not come up:\n{failing.last_words()}")
            self._patience.wait_for(f"the web server at {address}", detail=f"{answered}; see {self.home.logs}")
            time.sleep(0.1)

    def _stop(self) -> None:
        """Control first, so that nothing is launched; pods save while the API still answers; databases last."""
        if self.children or self.servers:
            self._report("stopping")
        by_name = {child.name: child for child in self.children}
        order = [by_name[n] for n in ("control", "beat", "worker", "web") if n in by_name]
        for child in order[:3]:
            child.ask_to_stop()
        if order and order[0].name == "control":
            order[0].wait_stopped()
        if self.children:
            self._stop_pods(self.home.path)
            self._stop_pods(self.home.agent)
        for child in order[1:]:
            child.ask_to_stop()
            child.wait_stopped()
        for child in self.children:
            if child not in order:
                child.ask_to_stop()
                child.wait_stopped()
        for server in reversed(self.servers):
            server.stop()
        if self.children or self.servers:
            self._report("stopped")

    def _stop_pods(self, folder: Path) -> None:
        """Those of this machine: of a home folder, or of its agent's. Others of a gang see that they are gone."""
        running = running_gangs(folder)
        if not running:
            return
        self._report(f"{len(running)} running jobs save a checkpoint")
        for gang in running:
            with contextlib.suppress(*DAMAGES):
                gang.ask_to_stop(grace_s=POD_GRACE_S, why=StopReason.ASKED)
        until = time.monotonic() + POD_GRACE_S + 5
        while time.monotonic() < until and running_gangs(folder):
            time.sleep(0.2)

    def _note(self, database_url: str, redis_url: str) -> None:
        pids = {child.name: child.pid for child in self.children if child.pid}
        pids |= {type(s).__name__.lower(): s.process.pid for s in self.servers if s.process}
        self.home.write_platform(Platform(self.url, database_url, redis_url, {"supervisor": os.getpid(), **pids}))

    def _report(self, line: str) -> None:
        self.console.print(f"[dim]{time.monotonic() - self._began:6.1f} s[/]  {line}")


@contextlib.contextmanager
def locked(home: Home) -> Iterator[None]:
    """No platform runs in this folder while the block lasts. Raises AlreadyRunningError."""
    with _take_lock(home):
        yield


@contextlib.contextmanager
def database_of(home: Home) -> Iterator[str]:
    """The address of the folder's database, started for the block; that of DATABASE_URL where it is set."""
    if given := os.environ.get("DATABASE_URL"):
        yield given
        return
    data = home.path / "pg18"
    _wait_for_old_postgres(data)
    postgres = Postgres(data, home.port("postgres"), home.secret("postgres"))
    try:
        postgres.start()
        yield postgres.url
    finally:
        postgres.stop()


def _take_lock(home: Home) -> TextIO:
    """Raises AlreadyRunningError. Pods test the lock for an instant now and then, hence the second and third try."""
    lock = home.lock.open("r+")
    for _ in range(20):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        else:
            return lock
    lock.close()
    known = home.platform()
    where = f" at {known.url} (process {known.pids.get('supervisor')})" if known else ""
    raise AlreadyRunningError(f"MLHub already runs in {home.path}{where}. Stop it with: make down")


def _wait_for_old_postgres(data: Path) -> None:
    """A killed supervisor's PostgreSQL is signalled by the kernel to shut down, which takes a moment."""
    pid_file = data / "postmaster.pid"
    until = time.monotonic() + OLD_POSTGRES_S
    while time.monotonic() < until:
        try:
            pid = int(pid_file.read_text().split()[0])
            os.kill(pid, 0)
        except (OSError, ValueError, IndexError):
            return
        time.sleep(0.1)


def _migrate(home: Home, environment: dict[str, str]) -> None:
    """Skipped when neither a migration nor a requirement nor the database has changed since the last time."""
    migrations = sorted((PROJECT / "mlhub").glob("*/migrations/*.py"))
    pins = PROJECT / "requirements.txt"  # an installed package has none; its version stands for them
    content = b"".join(p.read_bytes() for p in [*migrations, *([pins] if pins.is_file() else [])])
    content += __version__.encode()
    stamp = hashlib.sha256(content + environment["DATABASE_URL"].rpartition("@")[2].encode()).hexdigest()
    remembered = home.path / "migrated"
    if remembered.exists() and remembered.read_text() == stamp:
        return
    done = subprocess.run(
        [sys.executable, "-m", "django", "schema", "apply"],
        cwd=PROJECT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise StartError(f"The database could not be brought up to date:\n{(done.stdout + done.stderr)[-1500:]}")
    remembered.write_text(stamp)
