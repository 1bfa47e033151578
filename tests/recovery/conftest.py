# SPDX-License-Identifier: Apache-2.0
"""A small platform with something of everything that a backup contains, and databases to restore it into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.actions import ReportingPod, store_lines
from mlhub.recovery.databases import Database, drop
from mlhub.storage import actions as storage
from mlhub.storage.stores import blob_store
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

CONTENTS = (b"features", b"labels" * 1000)


@dataclass
class SmallPlatform:
    cast: Cast
    job: Job
    attempt: Attempt
    blobs: list[str]


def hold(cast: Cast, content: bytes) -> str:
    with blob_store().stage(limit_bytes=10**6) as staging:
        staging.write(content)
        blob = storage.keep(staging, place=cast.a, owner_kind="test", owner_id=uuid4())
    return str(blob.sha256)


def launch(of: Job, *, node: str = "n0") -> Attempt:
    of.refresh_from_db()
    found = attempts.open_attempt(
        of, mode="all_reduce", n_workers=1, n_servers=0, held=[attempts.Held(node, (0,), 0)], predicted_step_s=0.1,
        reason="fits", now=timezone.now(),
    )  # fmt: skip
    assert found is not None
    return found


@pytest.fixture
def small_platform(transactional_db: None) -> SmallPlatform:
    """Two blobs, and a job whose first attempt trains and has logged three lines."""
    cast = make_cast()
    blobs = [hold(cast, content) for content in CONTENTS]
    training = job(cast.project_a, cast.bob)
    attempt = launch(training)
    attempts.record_running(attempt, now=timezone.now())
    store_lines(attempt, ReportingPod("worker", 0), stream="log", first=0, lines=["a", "b", "c"])
    return SmallPlatform(cast, training, attempt, blobs)


@pytest.fixture
def target(small_platform: SmallPlatform) -> Iterator[Database]:
    """A database that is not there yet; it is removed at the end, and what it replaced, too."""
    own = Database.of_settings()
    database = own.named(f"{own.name}_target")
    yield database
    rows = ask(own.named("postgres"), "SELECT datname FROM pg_database WHERE datname LIKE %s", f"{database.name}%")
    for (name,) in rows:
        drop(own.named(name))


@pytest.fixture
def backup_file(tmp_path: Path) -> Path:
    return tmp_path / "backups" / "platform.backup"


def ask(database: Database, query: str, *values: object) -> list[tuple[Any, ...]]:
    session = database.connect()
    try:
        with session.cursor() as cursor:
            cursor.execute(query, values)
            rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        session.commit()
        return rows
    finally:
        session.close()
