# SPDX-License-Identifier: Apache-2.0
"""Backup and restore of the embedded platform: its database is started for it where the platform does not run."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mlhub.embedded.home import PROJECT, Home, given_address
from mlhub.embedded.supervisor import database_of, locked

KEYS = "keys.json"  # of a backup: the platform's secrets by variable
SECRET_KEY = "MLHUB_SECRET_KEY"
NO_REDIS = "redis://127.0.0.1:1/0"  # nothing answers there: a wake-up that is not sent costs nothing


def backup(home: Home, file: Path, *, options: Sequence[str], is_running: bool) -> int:
    """Runs `manage.py backup` on the platform, running or not; returns its status."""
    command = ["backup", str(file.resolve()), *options]
    platform = home.platform()
    if is_running and platform is not None:
        addresses = {"database_url": platform.database_url, "redis_url": platform.redis_url}
        return _django(command, home.environment(url=platform.url, **addresses))
    with _own_database(home) as environment:
        return _django(command, environment)


def restore(home: Home, file: Path, *, force: bool) -> int:
    """Runs `manage.py restore` with the backup's own secret key, which becomes the platform's. Returns its status.

    Raises AlreadyRunningError while the platform runs.
    """
    with _own_database(home) as environment:
        key = secret_key_of(file)
        given = {SECRET_KEY: key} if key else {}
        (home.path / "migrated").unlink(missing_ok=True)  # the next start brings the restored database up to date
        status = _django(["restore", str(file.resolve()), *(["--force"] if force else [])], environment | given)
        if status == 0 and key:
            home.replace_secret("django", key)
        return status


def secret_key_of(file: Path) -> str:
    """The secret key in a backup; "" when it cannot be read, which `manage.py restore` explains."""
    try:
        with tarfile.open(file, mode="r:") as tar:
            keys = tar.extractfile(KEYS)
            return str(json.load(keys)[SECRET_KEY]) if keys else ""
    except (OSError, tarfile.TarError, KeyError, ValueError):
        return ""


@contextmanager
def _own_database(home: Home) -> Iterator[dict[str, str]]:
    """The environment of Django's commands, with the home's database running and no platform over it."""
    home.prepare()
    with locked(home), database_of(home) as url:
        redis_url = given_address("REDIS_URL", NO_REDIS)
        yield home.environment(url="http://127.0.0.1", database_url=url, redis_url=redis_url)


def _django(arguments: Sequence[str], environment: dict[str, str]) -> int:
    command = [sys.executable, "-m", "django", *arguments]
    return subprocess.run(command, cwd=PROJECT, env=environment, check=False).returncode
