# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL and Valkey for as long as a block runs: what the tests use."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mlhub.embedded.ports import free_port
from mlhub.embedded.postgres import Postgres
from mlhub.embedded.valkey import Valkey


@dataclass(frozen=True)
class Servers:
    database_url: str
    redis_url: str


@contextmanager
def temporary_servers() -> Iterator[Servers]:
    """Servers without durability in a temporary folder; those named by DATABASE_URL and REDIS_URL are used instead.

    The kernel ends them when this process dies, however it dies.
    """
    database_url, redis_url = os.environ.get("DATABASE_URL", ""), os.environ.get("REDIS_URL", "")
    folder = Path(tempfile.mkdtemp(prefix="mlhub-servers-"))
    folder.chmod(0o755)  # PostgreSQL's own user has to pass through
    started: list[Postgres | Valkey] = []
    try:
        if not database_url:
            postgres = Postgres(folder / "pg18", free_port(), secrets.token_hex(16), durable=False)
            started.append(postgres)
            postgres.start()
            database_url = postgres.url
        if not redis_url:
            valkey = Valkey(folder / "valkey", free_port(), secrets.token_hex(16), durable=False)
            started.append(valkey)
            valkey.start()
            redis_url = valkey.url
        yield Servers(database_url, redis_url)
    finally:
        for server in reversed(started):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
