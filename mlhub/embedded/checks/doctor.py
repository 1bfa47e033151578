# SPDX-License-Identifier: Apache-2.0
"""Checks of an installation, each with what was found and, where it fails, what to do: `... doctor` prints them, and
administrators see them in the dashboard.

DATABASE_URL, REDIS_URL and MLHUB_PUBLIC_URL say what is checked, else the note of the home folder, so that the
same command works where other tools start MLHub's processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg2
import psycopg2.errors
import redis
from kombu import Connection
from kombu.exceptions import OperationalError
from kombu.pidbox import Mailbox

from mlhub.backends.local.gpu_driver import GpuDriver, nvml_driver
from mlhub.embedded.checks.audit_check import check_audit
from mlhub.embedded.checks.examiner import Check, CheckResult, Examiner
from mlhub.embedded.checks.gpu_check import problem_of_gpus
from mlhub.embedded.home import Home, given_address
from mlhub.embedded.ports import is_free
from mlhub.runtime.sandbox.capabilities import CONSEQUENCES, Capabilities, capabilities

TIMEOUT_S = 5
PING_S = 12.0  # in which a worker of a busy machine answers, and the page of checks can say that none does
LEAST_FREE_BYTES = 5 * 2**30
PREFERRED_PORT = 8000
PATIENCE_S = 90.0  # with all checks; CUDA takes up to a minute to start
MADE = "Scheduling rounds are made."
ENDED = "The last scheduling round ended {age_s} s ago."
NONE_ENDED = "No scheduling round has ended yet."
CAUSES = {  # of control.monitoring.round_health
    "loop_away": "The control loop does not run.",
    "backend_away": "The backend does not answer.",
    "rounds_fail": "Rounds fail.",
}
MEANINGS = {
    "database": "PostgreSQL keeps everything that MLHub knows; without it nothing works.",
    "valkey": "Valkey wakes pages and the control loop; without it they look every few seconds, and no task is begun.",
    "workers": "Workers inspect uploads, validate jobs and clean up; without one, uploads and new jobs wait.",
    "audit": "The audit says who did what; it is worth something as long as it is as it was written.",
    "clock": "Tokens, codes and times that people read depend on clocks that agree.",
    "web": "At this address people and pods reach MLHub.",
    "rounds": "Scheduling rounds start, resize and stop jobs; without them no job starts.",
    "nodes": "Jobs run on them; on one that is not ready nothing starts.",
    "sandbox": "Uploaded code runs in it, apart from the platform and from code of other organisations.",
    "gpus": "Pods train on the GPUs of this machine, or on its CPUs.",
    "disk": "Datasets, models, checkpoints and the database grow on it; on a full one jobs and uploads fail.",
    "folder": "Others must not read MLHub's secrets, and pods must reach their own folders.",
}
NOT_READY = "Mend what it says there; see `mlhub agent ls` where machines have agents."
NO_NODES = "Look at the control loop first, then at the machines: `mlhub node ls`, `mlhub agent ls`."
START = "Start the platform: `python -m mlhub.embedded up`; then see {logs}."
RESTART = "See {logs}; start the platform again: `python -m mlhub.embedded down`, then `python -m mlhub.embedded up`."
READ_ONLY = (
    "Name the primary in DATABASE_URL, if it is a standby; else see default_transaction_read_only and the disk of the "
    "database."
)
MAKE_ROOM = "Make room on the disk of Valkey, which keeps what it is given there; it goes on by itself."
OWN_FOLDERS = ("blobs", "checkpoints")  # where they are not elsewhere
AHEAD = "This machine's clock is {skew_s} s ahead of the database's."
BEHIND = "This machine's clock is {skew_s} s behind the database's."
SET_CLOCKS = "Have both machines' clocks set by NTP: `timedatectl set-ntp true`."
MOST_SKEW_S = 30.0


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


def checks(
    home: Home, *, addresses: Addresses | None = None, sandbox: Callable[[], Capabilities] = capabilities,
    gpus: Callable[[], GpuDriver | None] = nvml_driver,
) -> list[Check]:  # fmt: skip
    """Every check; none of them changes anything. addresses: None = those that Addresses.of() finds."""
    at = addresses or Addresses.of(home)
    start = (RESTART if home.supervisor_pid() else START).format(logs=home.logs)
    rounds = f"See {home.logs / 'control.log'}, and the banner of the dashboard."
    return [
        Check("database", MEANINGS["database"], lambda: [check_database(at.database_url, remedy=start)]),
        Check("valkey", MEANINGS["valkey"], lambda: [check_valkey(at.redis_url, remedy=start)]),
        Check("workers", MEANINGS["workers"], lambda: [check_workers(at.redis_url, remedy=start)]),
        Check("audit", MEANINGS["audit"], lambda: [check_audit(at.database_url)]),
        Check("clock", MEANINGS["clock"], lambda: [check_clock(at.database_url)]),
        Check("web", MEANINGS["web"], lambda: [check_web(at.url, remedy=start)]),
        Check("rounds", MEANINGS["rounds"], lambda: [check_rounds(at.url, remedy=rounds)]),
        Check("nodes", MEANINGS["nodes"], lambda: check_nodes(at.database_url, remedy=start)),
        Check("sandbox", MEANINGS["sandbox"], lambda: [check_sandbox(sandbox)]),
        Check("gpus", MEANINGS["gpus"], lambda: [check_gpus(home.path, gpus)]),
        Check("disk", MEANINGS["disk"], lambda: [check_disk(home.path)]),
        Check("folder", MEANINGS["folder"], lambda: list(check_modes(home.path))),
    ]


def examine(home: Home, **how: Any) -> Iterator[CheckResult]:
    """What each check found, in turn. how: as checks() takes it."""
    return Examiner().examine(checks(home, **how), limit_s=PATIENCE_S)


def check_database(url: str, *, remedy: str) -> CheckResult:
    if not url:
        return CheckResult("database", False, "No database is known here.", remedy)
    began = time.perf_counter()
    try:
        with contextlib.closing(psycopg2.connect(url, connect_timeout=TIMEOUT_S)) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT count(*) FROM django_migrations")
            n_migrations = cursor.fetchone()[0]
            cursor.execute("SHOW transaction_read_only")
            is_read_only = cursor.fetchone()[0] == "on"
    except psycopg2.errors.UndefinedTable:
        return CheckResult("database", False, "It has no tables.", "Run `python manage.py migrate`.")
    except psycopg2.Error as error:
        return CheckResult("database", False, f"It does not answer: {_line(error, url)}", remedy)
    if is_read_only:
        return CheckResult("database", False, "It takes no changes: it is read-only.", READ_ONLY)
    took_ms = 1000 * (time.perf_counter() - began)
    return CheckResult("database", True, f"Answers in {took_ms:.0f} ms; {n_migrations} migrations are applied.")


def check_nodes(url: str, *, remedy: str) -> list[CheckResult]:
    """Those that the control loop saw last, each one that is not ready by itself."""
    if not url:
        return [CheckResult("nodes", False, "No node is known without the database.", remedy)]
    try:
        with contextlib.closing(psycopg2.connect(url, connect_timeout=TIMEOUT_S)) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT name, is_ready, message FROM clusters_node ORDER BY name")
            nodes = cursor.fetchall()
    except psycopg2.Error:
        return [CheckResult("nodes", False, "No node is known without the database.", remedy)]
    closed = [
        CheckResult("nodes", False, f"{name} is not ready: {message or 'it gives no reason.'}", NOT_READY)
        for name, is_ready, message in nodes
        if not is_ready
    ]
    if not nodes:
        return [CheckResult("nodes", False, "There is no node.", NO_NODES)]
    return closed or [CheckResult("nodes", True, f"Ready: {len(nodes)}.")]


def check_valkey(url: str, *, remedy: str) -> CheckResult:
    if not url:
        return CheckResult("valkey", False, "No Valkey or Redis is known here.", remedy)
    try:
        with contextlib.closing(
            redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        ) as client:
            client.ping()
    except redis.ResponseError as error:  # MISCONF: it takes no change that it cannot write down
        remedy = MAKE_ROOM if str(error).startswith("MISCONF") else remedy
        return CheckResult("valkey", False, f"It refuses requests: {_line(error, url)}", remedy)
    except (redis.RedisError, OSError, ValueError) as error:
        return CheckResult("valkey", False, f"It does not answer: {_line(error, url)}", remedy)
    return CheckResult("valkey", True, "It answers.")


def _asked_workers(url: str) -> list[Any]:
    """The first answer to a ping, as Celery's own `inspect ping` sends it; it needs no Celery, and so no Django."""
    limits = {"socket_timeout": TIMEOUT_S, "socket_connect_timeout": TIMEOUT_S, "max_retries": 0}
    with Connection(url, transport_options=limits) as broker:
        mailbox = Mailbox("celery", type="fanout", connection=broker, accept=["json"])
        return mailbox.multi_call("ping", timeout=PING_S, limit=1) or []


def check_workers(url: str, *, remedy: str) -> CheckResult:
    """Whether a Celery worker answers, by way of Valkey."""
    try:
        answers = _asked_workers(url) if url else []
    except (OperationalError, redis.RedisError, OSError, ValueError) as error:
        remedy = MAKE_ROOM if str(error).startswith("MISCONF") else remedy
        return CheckResult("workers", False, f"They cannot be asked without Valkey: {_line(error, url)}", remedy)
    if not answers:
        return CheckResult(
            "workers", False, f"No worker answers within {PING_S:.0f} s: uploads and new jobs wait.", remedy
        )
    return CheckResult("workers", True, "A worker answers.")


def check_clock(url: str) -> CheckResult:
    """This machine's clock and the database's."""
    if not url:
        return CheckResult("clock", True, "There is no other clock to compare with.")
    try:
        with contextlib.closing(psycopg2.connect(url, connect_timeout=TIMEOUT_S)) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
            skew_s = time.time() - float(cursor.fetchone()[0])
    except psycopg2.Error:
        return CheckResult("clock", True, "The database's clock cannot be read now.")
    if abs(skew_s) <= MOST_SKEW_S:
        return CheckResult("clock", True, "It agrees with the database's.")
    detail = (AHEAD if skew_s > 0 else BEHIND).format(skew_s=f"{abs(skew_s):.0f}")
    return CheckResult("clock", False, detail, SET_CLOCKS)


def check_web(url: str, *, remedy: str) -> CheckResult:
    """The port: whether the platform answers there, or else whether it could listen there."""
    if not url:
        given = os.environ.get("MLHUB_PORT") or str(PREFERRED_PORT)
        if not given.isdecimal() or not 0 < (port := int(given)) < 2**16:
            return CheckResult("web", False, f"MLHUB_PORT is {given!r}.", "Give it a number from 1 to 65535.")
        if is_free(port):
            return CheckResult("web", False, f"Nothing runs yet; port {port} is free.", remedy)
        return CheckResult(
            "web",
            False,
            f"Another program listens on port {port}.",
            "Name a free port in MLHUB_PORT, or end that program.",
        )
    status, body = _get(f"{url}/healthz")
    if status == 200:
        return CheckResult("web", True, f"Answers at {url}.")
    port = urlsplit(url).port or (443 if url.startswith("https") else 80)
    return CheckResult("web", False, f"Port {port} of {url} does not answer as MLHub: {body or status}.", remedy)


def check_rounds(url: str, *, remedy: str) -> CheckResult:
    if not url:
        return CheckResult("rounds", False, "No control loop is known here.", remedy)
    status, body = _get(f"{url}/healthz/rounds")
    facts = _facts(body)
    age_s = facts.get("finished_age_s")
    if status == 200:
        return CheckResult("rounds", True, MADE if age_s is None else ENDED.format(age_s=f"{age_s:.0f}"))
    if "cause" not in facts:
        return CheckResult("rounds", False, f"What scheduling rounds do is not known: {body or status}", remedy)
    ended = NONE_ENDED if age_s is None else ENDED.format(age_s=f"{age_s:.0f}")
    return CheckResult("rounds", False, f"{ended} {CAUSES.get(facts['cause'], '')}".rstrip(), remedy)


def _facts(body: str) -> dict[str, Any]:
    """What an answer in JSON holds; nothing where it is none."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def check_sandbox(find: Callable[[], Capabilities]) -> CheckResult:
    try:
        found = find()
    except OSError as error:
        return CheckResult(
            "sandbox",
            False,
            _line(error),
            "Allow user namespaces (sysctl user.max_user_namespaces), or install libseccomp2 and pyseccomp.",
        )
    missing = [p for p in found.protections if not p.is_present]
    if found.separates_tenants and missing:
        names = ", ".join(p.name for p in missing)
        return CheckResult(
            "sandbox", True, f"Code of several organisations is kept apart. Missing, of little consequence: {names}."
        )
    if found.separates_tenants:
        return CheckResult("sandbox", True, "Code of several organisations is kept apart.")
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
    return CheckResult(
        "gpus",
        False,
        problem,
        "Install a torch with CUDA and NVIDIA's driver, or set MLHUB_GPUS=none: then pods train on CPUs.",
    )


def check_disk(folder: Path) -> CheckResult:
    """folder: the platform's. Those in it may be on other disks, such as the database's: the fullest one counts."""
    fullest = min([folder, *_on_other_disks(folder)], key=lambda path: shutil.disk_usage(_existing(path)).free)
    free_bytes = shutil.disk_usage(_existing(fullest)).free
    free_gib = f"{free_bytes / 2**30:.1f}"
    if free_bytes >= LEAST_FREE_BYTES:
        return CheckResult("disk", True, f"{free_gib} GiB are free at {fullest}.")
    least_gib, to_move = f"{LEAST_FREE_BYTES / 2**30:.0f}", "MLHUB_HOME" if fullest == folder else "it"
    return CheckResult(
        "disk",
        False,
        f"{free_gib} GiB are free at {fullest}.",
        f"Free {least_gib} GiB there, or move {to_move} to a larger disk.",
    )


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
    for folder in (home / name for name in OWN_FOLDERS if (home / name).exists()):
        if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            yield (
                f"MLHub does not read and write in {folder}.",
                f"Put the folder back as it was, with its files, or: chmod u+rwx {folder}",
            )
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


def _line(error: Exception, url: str = "") -> str:
    """url: that the message may repeat, with its password, which is left out."""
    return _without_password(" ".join(str(error).split()), url)[:300]


def _without_password(text: str, url: str) -> str:
    written = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
    for secret in (url, written, unquote(written)):
        text = text.replace(secret, "***") if secret else text
    return text
