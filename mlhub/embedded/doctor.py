# SPDX-License-Identifier: Apache-2.0
"""Checks of an installation, each with what was found and, where it fails, what to do: `... doctor` prints them.

DATABASE_URL, REDIS_URL and MLHUB_PUBLIC_URL say what is checked, else the note of the home folder, so that the
same command works where other tools start MLHub's processes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2
import psycopg2.errors
import redis

from mlhub.backends.local.gpu_driver import GpuDriver, nvml_driver
from mlhub.embedded.gpu_check import problem_of_gpus
from mlhub.embedded.home import Home, given_address
from mlhub.embedded.ports import is_free
from mlhub.runtime.sandbox.capabilities import CONSEQUENCES, Capabilities, capabilities

TIMEOUT_S = 5
LEAST_FREE_BYTES = 5 * 2**30
PREFERRED_PORT = 8000
START = "Start the platform: `python -m mlhub.embedded up`; then see {logs}."


@dataclass(frozen=True)
class CheckResult:
    """detail: what was found. remedy: what to do about it, where is_ok is False."""

    name: str
    is_ok: bool
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class Addresses:
    """Where the parts of the platform are expected to answer; "" = not known."""

    database_url: str
    redis_url: str
    url: str

    @classmethod
    def of(cls, home: Home) -> Addresses:
        """Variables of the environment come first: they name what MLHub's processes use where no supervisor runs."""
        platform = home.platform()
        database_url = given_address("DATABASE_URL") or (platform.database_url if platform else "")
        redis_url = given_address("REDIS_URL") or (platform.redis_url if platform else "")
        url = os.environ.get("MLHUB_PUBLIC_URL") or (platform.url if platform else "")
        return cls(database_url, redis_url, url)


def examine(
    home: Home, *, sandbox: Callable[[], Capabilities] = capabilities,
    gpus: Callable[[], GpuDriver | None] = nvml_driver,
) -> Iterator[CheckResult]:  # fmt: skip
    """Every check in turn; none of them changes anything."""
    addresses = Addresses.of(home)
    start = START.format(logs=home.logs)
    yield check_database(addresses.database_url, remedy=start)
    yield check_valkey(addresses.redis_url, remedy=start)
    yield check_web(addresses.url, remedy=start)
    yield check_rounds(addresses.url, remedy=f"See {home.logs / 'control.log'}, and the banner of the dashboard.")
    yield check_sandbox(sandbox)
    yield check_gpus(home.path, gpus)
    yield check_disk(home.path)
    yield from check_modes(home.path)


def check_database(url: str, *, remedy: str) -> CheckResult:
    if not url:
        return CheckResult("database", False, "No database is known here.", remedy)
    began = time.perf_counter()
    try:
        with contextlib.closing(psycopg2.connect(url, connect_timeout=TIMEOUT_S)) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT count(*) FROM django_migrations")
            n_migrations = cursor.fetchone()[0]
    except psycopg2.errors.UndefinedTable:
        return CheckResult("database", False, "It has no tables.", "Run `python manage.py migrate`.")
    except psycopg2.Error as error:
        return CheckResult("database", False, f"It does not answer: {_line(error)}", remedy)
    took_ms = 1000 * (time.perf_counter() - began)
    return CheckResult("database", True, f"Answers in {took_ms:.0f} ms; {n_migrations} migrations are applied.")


def check_valkey(url: str, *, remedy: str) -> CheckResult:
    if not url:
        return CheckResult("valkey", False, "No Valkey or Redis is known here.", remedy)
    client = redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
    try:
        client.ping()
    except (redis.RedisError, OSError) as error:
        return CheckResult("valkey", False, f"It does not answer: {_line(error)}", remedy)
    finally:
        client.close()
    return CheckResult("valkey", True, "Answers.")


def check_web(url: str, *, remedy: str) -> CheckResult:
    """The port: whether the platform answers there, or else whether it could listen there."""
    if not url:
        port = int(os.environ.get("MLHUB_PORT") or PREFERRED_PORT)
        if is_free(port):
            return CheckResult("web", False, f"Nothing runs yet; port {port} is free.", remedy)
        taken = f"Another program listens on port {port}."
        return CheckResult("web", False, taken, "Name a free port in MLHUB_PORT, or end that program.")
    status, body = _get(f"{url}/healthz")
    if status == 200:
        return CheckResult("web", True, f"Answers at {url}.")
    port = urlsplit(url).port or (443 if url.startswith("https") else 80)
    return CheckResult("web", False, f"Port {port} of {url} does not answer as MLHub: {body or status}.", remedy)


def check_rounds(url: str, *, remedy: str) -> CheckResult:
    if not url:
        return CheckResult("rounds", False, "No control loop is known here.", remedy)
    status, body = _get(f"{url}/healthz/rounds")
    if status == 200:
        return CheckResult("rounds", True, f"Scheduling rounds are made: {body}")
    return CheckResult("rounds", False, f"No scheduling rounds are finished: {body or status}", remedy)


def check_sandbox(find: Callable[[], Capabilities]) -> CheckResult:
    try:
        found = find()
    except OSError as error:
        remedy = "Allow user namespaces (sysctl user.max_user_namespaces), or install libseccomp2 and pyseccomp."
        return CheckResult("sandbox", False, _line(error), remedy)
    missing = [p for p in found.protections if not p.is_present]
    if found.separates_tenants:
        lacks = f" Missing, of little consequence: {', '.join(p.name for p in missing)}." if missing else ""
        return CheckResult("sandbox", True, f"Code of several organisations is kept apart.{lacks}")
    severe = [p for p in missing if p.is_separating]
    detail = " ".join(CONSEQUENCES.get(p.name, "") for p in severe)
    return CheckResult("sandbox", False, detail, " ".join(p.detail for p in severe))


def check_gpus(folder: Path, find: Callable[[], GpuDriver | None]) -> CheckResult:
    """NVIDIA's GPUs of this machine: pods use them unless MLHUB_GPUS is none."""
    driver = None if os.environ.get("MLHUB_GPUS") == "none" else find()
    if driver is None:
        return CheckResult("gpus", True, "None; pods train on CPUs.")
    readings = driver.read()
    problem = problem_of_gpus(readings, scratch=_existing(folder))
    if not problem:
        names = ", ".join(sorted({reading.name for reading in readings}))
        return CheckResult("gpus", True, f"{len(readings)} ({names}); CUDA starts in a pod's sandbox.")
    remedy = "Install a torch with CUDA and NVIDIA's driver, or set MLHUB_GPUS=none: then pods train on CPUs."
    return CheckResult("gpus", False, problem, remedy)


def check_disk(folder: Path) -> CheckResult:
    """folder: the platform's. Those in it may be on other disks, such as the database's: the fullest one counts."""
    fullest = min([folder, *_on_other_disks(folder)], key=lambda path: shutil.disk_usage(_existing(path)).free)
    free_bytes = shutil.disk_usage(_existing(fullest)).free
    free = f"{free_bytes / 2**30:.1f} GiB are free at {fullest}."
    if free_bytes >= LEAST_FREE_BYTES:
        return CheckResult("disk", True, free)
    to_move = "MLHUB_HOME" if fullest == folder else "it"
    least = f"Free {LEAST_FREE_BYTES / 2**30:.0f} GiB there, or move {to_move} to a larger disk."
    return CheckResult("disk", False, free, least)


def _on_other_disks(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    own = folder.stat().st_dev
    return [path for path in sorted(folder.iterdir()) if path.is_dir() and path.stat().st_dev != own]


def check_modes(home: Path) -> Iterator[CheckResult]:
    """Secrets are for MLHub alone, others change nothing of its folder, and pods of other users reach theirs."""
    if not home.exists():
        yield CheckResult("folder", True, f"{home} does not exist yet; the first start makes it.")
        return
    problems = list(_wrong_modes(home))
    if not problems:
        yield CheckResult("folder", True, f"Modes of {home} and of its secrets are right.")
    for detail, remedy in problems:
        yield CheckResult("folder", False, detail, remedy)


def _wrong_modes(home: Path) -> Iterator[tuple[str, str]]:
    if home.stat().st_mode & stat.S_IWOTH:
        yield f"Every user may change {home}.", f"chmod o-w {home}"
    secrets = home / "secrets"
    for path in [secrets, *secrets.iterdir()] if secrets.is_dir() else []:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield f"Other users may reach {path}.", f"chmod go-rwx {path}"
    if os.geteuid() == 0:
        for folder in (home, *home.parents):
            if not folder.stat().st_mode & stat.S_IXOTH:
                yield (
                    f"Pods, which run as other users, do not reach {home} through {folder}.",
                    f"chmod o+x {folder}, or move MLHUB_HOME",
                )


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(each for each in (folder, *folder.parents) if each.exists())


def _get(url: str) -> tuple[int, str]:
    """Returns the status and the body's beginning; status 0 and the error where there is no answer."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:  # noqa: S310 - of the platform itself
            return int(answer.status), answer.read(500).decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read(500).decode(errors="replace")
    except (OSError, ValueError) as error:
        return 0, _line(error)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
