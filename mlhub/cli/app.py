# SPDX-License-Identifier: Apache-2.0
"""The command mlhub: its commands, and how each of them ends."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Annotated, Any, cast

import httpx
import typer
from rich.console import Console
from typer.core import TyperGroup

from mlhub._version import __version__
from mlhub.cli.commands import account, admission, agents, announcements, cluster, completion, platform
from mlhub.cli.commands.datasets import collections, removals
from mlhub.cli.commands.tenancy import (
    members,
    organisations,
    projects,
    quotas,
    roles,
    secrets,
    service_accounts,
    teams,
    users,
)
from mlhub.cli.commands.training import (
    checkpoints,
    differences,
    environments,
    jobs,
    notebooks,
    profiles,
    studies,
    trained,
)
from mlhub.cli.commands.training.run import run
from mlhub.cli.credentials import TOKEN, URL
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.given_values import refuse_unusable_values
from mlhub.cli.global_options import keep_words_behind_end, moved_to_front
from mlhub.cli.output import Format
from mlhub.cli.session import Session
from mlhub.client.api import Refused

app = typer.Typer(name="mlhub", no_args_is_help=True, pretty_exceptions_enable=False)


def _version(is_asked: bool) -> None:
    if is_asked:
        print(f"mlhub {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    output: Annotated[Format, typer.Option("--output", "-o", help="How results are printed.")] = Format.TABLE,
    url: Annotated[str | None, typer.Option(envvar=URL, help="Address; by default where you signed in.")] = None,
    token: Annotated[str | None, typer.Option(envvar=TOKEN, help="API token; by default what login kept.")] = None,
    project: Annotated[
        str,
        typer.Option(
            "--project",
            "-p",
            envvar="MLHUB_PROJECT",
            help="Name, organisation/name, or id.",
            autocompletion=completion.names_of("projects"),
        ),
    ] = "",
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,  # noqa: ARG001
) -> None:
    """Bring data and a model, say train: MLHub decides the rest."""
    context.obj = Session(form=output, url=url, token=token, project=project)


ACCOUNT, TRAIN, USE, LOOK = "Account", "Jobs", "Trained models", "Cluster"
PLATFORM = "Platform on this machine"
for panel, commands in {
    ACCOUNT: (account.login, account.logout, account.forgot_password, account.whoami, completion.completion),
    TRAIN: (
        run, jobs.ps, jobs.show, jobs.why, jobs.startup, jobs.logs, jobs.metrics, profiles.profile, jobs.wait,
        jobs.cancel, jobs.pause, jobs.resume, jobs.clone, jobs.result, differences.diff,
        removals.rm,
    ),
    USE: (trained.predict, trained.serve),
    LOOK: (cluster.top, cluster.queue, cluster.move, cluster.usage),
    PLATFORM: (
        platform.up, platform.demo, platform.down, platform.status, platform.doctor, platform.env, platform.backup,
        platform.restore,
    ),
}.items():  # fmt: skip
    for command in commands:
        app.command(rich_help_panel=panel)(command)
collections.model.command()(trained.export)
collections.model.add_typer(trained.alias, name="alias")
for name, group in {
    "dataset": collections.dataset, "model": collections.model, "project": projects.project, "node": cluster.node,
    "agent": agents.agent,
    "admission": admission.admission, "announcement": announcements.announcement,
    "checkpoint": checkpoints.checkpoint, "environment": environments.environment,
    "secret": secrets.secret, "study": studies.study,
    "notebook": notebooks.notebook, "organisation": organisations.organisation, "role": roles.role,
    "team": teams.team, "user": users.user, "member": members.member, "invitation": members.invitation,
    "service-account": service_accounts.service_account,
}.items():  # fmt: skip
    app.add_typer(group, name=name)
app.add_typer(quotas.quota, name="quota", rich_help_panel=LOOK)


@cache
def program() -> TyperGroup:
    """All commands with their options, made once a process: it takes longer than most commands."""
    root = cast("TyperGroup", typer.main.get_command(app))
    refuse_unusable_values(root)
    return root


def main(argv: list[str] | None = None) -> int:
    """Runs one command. Returns its exit code (mlhub/cli/failures.py); errors go to standard error, with the remedy."""
    try:
        given = sys.argv[1:] if argv is None else argv
        keep_words_behind_end(given)
        program()(args=moved_to_front(program(), given), prog_name="mlhub")
    except SystemExit as end:
        return int(end.code or 0)
    except CommandError as error:
        return _failed(str(error), error.remedy, error.code)
    except Refused as error:
        is_unknown = error.problem.get("status") == 401
        message = str(error.problem.get("detail") or error.problem.get("message") or error)
        remedy = "Run `mlhub login`." if is_unknown else error.remedy
        if error.problem.get("needed_scope") == "admin":
            remedy = "Run `mlhub login --admin`, or make a token with the scope admin on the page API tokens."
        if isinstance(error.problem.get("yours"), dict) and isinstance(error.problem.get("present"), dict):
            remedy = _compared(error.problem["present"], error.problem["yours"])
        return _failed(message, remedy, CommandStatus.NOT_SIGNED_IN if is_unknown else CommandStatus.REFUSED)
    except httpx.TransportError as error:
        message = str(error) or "The platform does not answer"
        return _failed(f"{message.rstrip('.')}.", "Is the platform up? `mlhub --url ...`", CommandStatus.UNREACHABLE)
    except OSError as error:
        if error.filename is None:
            raise
        return _failed(
            f"{error.filename}: {error.strerror}.", "Name another place, or mend that one.", CommandStatus.USAGE
        )
    return int(CommandStatus.OK)


def _compared(present: dict[str, Any], yours: dict[str, Any]) -> str:
    """Of an edit that came second: what is there now of what it would change."""
    fields = [name for name, value in yours.items() if name in present and present[name] != value]
    changes = "; ".join(f"{name} is {_short(present[name])} now, yours is {_short(yours[name])}" for name in fields)
    return f"{changes + '. ' if changes else ''}Repeat the command, if your change is still wanted."


def _short(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _failed(message: str, remedy: str, code: CommandStatus) -> int:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"mlhub: {message}", markup=False)
    if remedy and remedy not in message:
        console.print(f"       {remedy}", markup=False)
    return int(code)
