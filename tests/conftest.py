# SPDX-License-Identifier: Apache-2.0
"""Real servers for the tests that need them: one PostgreSQL and one Valkey a session, started on first use."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MLHUB_SECRET_KEY", "a-key-that-only-the-tests-of-mlhub-use")  # of processes that tests start

# A machine that is busy draws slowly: that is no fault of the code.
settings.register_profile("mlhub", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mlhub")


def pytest_configure() -> None:
    """The settings were read before this file: the key has no default there. Passwords are hashed at low cost."""
    from django.conf import settings
    from django.contrib.auth.hashers import Argon2PasswordHasher

    from tests.static_files import look_for_static_files_once

    look_for_static_files_once()
    _give_room_to_report_finalizers()
    settings.SECRET_KEY = os.environ["MLHUB_SECRET_KEY"]
    settings.IDLE_CONNECTIONS = 0  # of tests that import mlhub.asgi: the database could not be removed at the end
    Argon2PasswordHasher.time_cost, Argon2PasswordHasher.memory_cost, Argon2PasswordHasher.parallelism = 1, 64, 1


def _give_room_to_report_finalizers() -> None:
    """Garbage may be collected while a test nests JSON up to the recursion limit: its finalizers have no room there.

    Nor has pytest's hook, which counts that as an error of the test.
    """
    reported = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 500)
        try:
            if not issubclass(unraisable.exc_type, RecursionError):
                reported(unraisable)
        finally:
            sys.setrecursionlimit(limit)

    sys.unraisablehook = hook


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay to the end: looking for garbage among them is in vain, now and in every later search.

    What tests make is searched less often than by default: together that was a fifth of the processor time of many.
    """
    gc.disable()
    found = yield
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()
    return found  # type: ignore[return-value]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what needs a GPU where there is none, and lets files that take long come first."""
    if not (Path("/dev/nvidiactl").exists() or config.option.collectonly):
        on_gpu = [item for item in items if item.get_closest_marker("gpu")]
        items[:] = [item for item in items if item not in on_gpu]
        config.hook.pytest_deselected(items=on_gpu)
    if hasattr(config, "workerinput"):
        _put_long_files_first(items)


def _put_long_files_first(items: list[pytest.Item]) -> None:
    """At the end they would leave the other processes idle."""
    marks = ("chaos", "slow", "dist")
    ranks = {item.path: len(marks) for item in items}
    for item in items:
        for rank, mark in enumerate(marks):
            if item.get_closest_marker(mark) is not None:
                ranks[item.path] = min(ranks[item.path], rank)
    items.sort(key=lambda item: ranks[item.path])


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """DATABASE_URL and REDIS_URL of servers that live as long as the test session; given ones are used when set."""
    from mlhub.embedded.servers import temporary_servers

    with temporary_servers() as started:
        yield started


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: Any) -> None:
    """pytest-django's hook: point Django at the servers before the test database is made."""
    import environ
    from django.conf import settings
    from django.core.management.commands import flush
    from django.db import connections
    from django.db.backends.postgresql.operations import DatabaseOperations

    from tests.flushing import delete_rows, send_nothing

    DatabaseOperations.sql_flush = delete_rows  # type: ignore[method-assign]
    flush.emit_post_migrate_signal = send_nothing
    database = environ.Env.db_url_config(servers.database_url)
    connections.databases["default"].update(
        {k: v for k, v in database.items() if k in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    )
    settings.REDIS_URL = servers.redis_url
    settings.CELERY_BROKER_URL = servers.redis_url
    from mlhub.celery import app

    app.conf.broker_url = servers.redis_url


@pytest.fixture(autouse=True)
def _state_in_a_temporary_folder(request: pytest.FixtureRequest) -> None:
    """Blobs, checkpoints and sandboxes of a test that touches the database stay in its own folder. Others have none."""
    uses_database = request.node.get_closest_marker("django_db") is not None
    if not uses_database and not {"db", "transactional_db"} & set(request.fixturenames):
        return
    settings, tmp_path = request.getfixturevalue("settings"), request.getfixturevalue("tmp_path")
    settings.RATE_LIMITS = {}  # tests of limits set their own: all tests have the same address
    settings.MLHUB_HOME = tmp_path
    settings.BLOB_ROOT = tmp_path / "blobs"
    settings.CHECKPOINT_ROOT = tmp_path / "checkpoints"
    settings.PROJECT_CACHE_ROOT = tmp_path / "cache"
    settings.SANDBOX_ROOT = tmp_path / "sandbox"
