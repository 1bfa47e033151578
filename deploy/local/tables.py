# SPDX-License-Identifier: Apache-2.0
"""Writes mlhub/core/schema.sql: the schema that the migrations lead to."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "mlhub/core/schema.sql"
HEAD = """\
-- SPDX-License-Identifier: Apache-2.0
-- The schema of an empty database. Written from the migrations by: make tables
"""
# Django makes these rows after every migration: they need not be in the file.
MADE_BY_DJANGO = ("auth_permission", "django_content_type")
NOT_NEEDED = re.compile(
    r"(--.*|\\.*|SET .*|SELECT pg_catalog\.set_config\(.*|SELECT pg_catalog\.setval\(.*, 1, false\);|)\n"
)


def from_migrations() -> str:
    """The script, from a PostgreSQL of its own on which every migration has run."""
    from mlhub.embedded.ports import free_port
    from mlhub.embedded.postgres import Postgres

    with tempfile.TemporaryDirectory(prefix="mlhub-tables-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL's own user has to pass through
        server = Postgres(Path(folder) / "data", free_port(), secrets.token_hex(16), durable=False)
        server.start()
        try:
            environment = {**os.environ, "DATABASE_URL": server.url, "MLHUB_SECRET_KEY": secrets.token_hex(32)}
            migrate = [sys.executable, "manage.py", "migrate", "--every-migration", "--verbosity", "0"]
            subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
            return of_database(server.url)
        finally:
            server.stop()


def of_database(url: str) -> str:
    """The script, from a database on which every migration has run."""
    from mlhub.embedded.postgres import binaries

    dump = [str(binaries() / "pg_dump"), "--no-owner", "--no-privileges", "--inserts"]
    dump += [f"--exclude-table-data=public.{table}" for table in MADE_BY_DJANGO]
    done = subprocess.run([*dump, url], capture_output=True, text=True, check=True)
    return HEAD + without_session(done.stdout)


def without_session(dump: str) -> str:
    """The dump without remarks, without settings that would outlive it in a session, and with a moment that is now."""
    lines = [line for line in dump.splitlines(keepends=True) if not NOT_NEEDED.fullmatch(line)]
    lines = [line for line in lines if not any(f".{table}_id_seq'," in line for table in MADE_BY_DJANGO)]
    applied = re.compile(r"(INSERT INTO public\.django_migrations VALUES \(.*), '[^']+'\);")
    return "".join(applied.sub(r"\1, now());", line) for line in lines)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    FILE.write_text(from_migrations())
