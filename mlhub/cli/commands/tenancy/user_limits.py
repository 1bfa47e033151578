# SPDX-License-Identifier: Apache-2.0
"""mlhub quota users: what single users may have of an organisation, a team or a project."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.tenancy.budgets import BudgetChanges, budgets_in_words, changed_budgets
from mlhub.cli.commands.tenancy.quota_owners import OwnerName, owner_of
from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.output import Format, size
from mlhub.cli.session import session_of

users = typer.Typer(help="What one person may have of an organisation, a team or a project.", no_args_is_help=True)
GIB = 2**30
EVERYONE = "everyone"
PersonName = Annotated[str, typer.Argument(help="A member's user name; everyone: all without limits of their own.")]


@users.command("mine")
def mine(context: typer.Context) -> None:
    """List your own limits, and what you have of them now."""
    session = session_of(context)
    session.output.rows(session.api.get("/user-quotas/mine"), {"OF": lambda row: row["owner_name"], **_COLUMNS})


@users.command("ls")
def list_limits(context: typer.Context, name: OwnerName) -> None:
    """List limits of users within an organisation, a team or a project, and what they have of them now."""
    session = session_of(context)
    owner = owner_of(session, name)
    found = session.api.get(f"/{owner['kind']}s/{owner['id']}/quota/users")["limits"]
    session.output.rows(found, {"USER": lambda row: row["user"]["username"] if row["user"] else EVERYONE, **_COLUMNS})


@users.command("set")
def set_limits(
    context: typer.Context,
    name: OwnerName,
    person: PersonName,
    gpus: Annotated[str | None, typer.Option(metavar="NUMBER|none", help="GPUs at a time.")] = None,
    gpus_of: Annotated[
        list[str] | None, typer.Option(metavar="TYPE=NUMBER|none", help="GPUs of a type at a time; repeatable.")
    ] = None,
    cpus: Annotated[str | None, typer.Option(metavar="NUMBER|none", help="CPUs that pods request at a time.")] = None,
    memory_gib: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="GiB of memory that pods request at a time.")
    ] = None,
    running_jobs: Annotated[str | None, typer.Option(metavar="NUMBER|none", help="Jobs that run at a time.")] = None,
    waiting_jobs: Annotated[str | None, typer.Option(metavar="NUMBER|none", help="Jobs that wait at a time.")] = None,
    storage_gib: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="GiB stored, of an organisation only.")
    ] = None,
    gpu_hours: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|none",
            help="GPU-hours of all types a month, after which no job starts: short for --budget month=NUMBER,stop_new.",
        ),
    ] = None,
    budget: BudgetChanges = None,
) -> None:
    """Change limits of one person or of everyone; what is left out stays as it is, none lifts a limit."""
    session = session_of(context)
    owner = owner_of(session, name)
    address = f"/{owner['kind']}s/{owner['id']}/quota/users"
    counts = {"max_gpus": (gpus, 1), "max_running_jobs": (running_jobs, 1), "max_waiting_jobs": (waiting_jobs, 1)}
    counts |= {"max_storage_bytes": (storage_gib, GIB), "max_cpus": (cpus, 1), "max_memory_bytes": (memory_gib, GIB)}
    body: dict[str, Any] = {key: _number(text, unit) for key, (text, unit) in counts.items() if text is not None}
    username = None if person == EVERYONE else person
    budgets = [*_of_month(gpu_hours), *(budget or ())]
    if gpus_of or budgets:
        present = _present(session.api.get(address)["limits"], username)
        if gpus_of:
            body["gpus_by_type"] = _types(present.get("gpus_by_type", {}), gpus_of)
        if budgets:
            body["budgets"] = changed_budgets(present.get("budgets", []), budgets)
    if not body:
        raise CommandError("Nothing to change.", remedy="Give at least one limit; see --help.")
    made = session.api.patch(address, username=username, **body)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.note(f"The limits of {person} in {owner['name']} are saved.")


@users.command("rm")
def remove_limits(context: typer.Context, name: OwnerName, person: PersonName, yes: Yes = False) -> None:
    """Remove the limits of a person, after which those of everyone hold; or those of everyone."""
    session = session_of(context)
    owner = owner_of(session, name)
    limits = session.api.get(f"/{owner['kind']}s/{owner['id']}/quota/users")["limits"]
    username = None if person == EVERYONE else person
    found = next((row for row in limits if _is_of(row, username)), None)
    if found is None:
        raise CommandError(
            f"{person} has no limits of their own in {owner['name']}.",
            remedy=f"mlhub quota users ls {owner['name']} lists them.",
            code=CommandStatus.REFUSED,
        )
    require_yes(f"Remove the limits of {person} in {owner['name']}?", yes=yes)
    session.api.delete(f"/user-quotas/{found['id']}?version={found['version']}")
    session.output.note(f"The limits of {person} in {owner['name']} are removed.")


def _of_month(gpu_hours: str | None) -> list[str]:
    if gpu_hours is None:
        return []
    return [f"month={gpu_hours}" if gpu_hours == "none" else f"month={gpu_hours},stop_new"]


def _present(limits: list[dict[str, Any]], username: str | None) -> dict[str, Any]:
    """What the person's limits are, or would begin as."""
    own = next((row for row in limits if _is_of(row, username)), None)
    return own or next((row for row in limits if row["user"] is None), {})


def _is_of(row: dict[str, Any], username: str | None) -> bool:
    return (row["user"]["username"] if row["user"] else None) == username


def _number(text: str, unit: int) -> int | None:
    if text == "none":
        return None
    try:
        return round(float(text) * unit) if unit > 1 else int(text)
    except (ValueError, OverflowError):
        raise CommandError(f"{text!r} is no number.", remedy="Give a number, or none for no limit.") from None


def _types(present: dict[str, int], asked: list[str]) -> dict[str, int]:
    found = dict(present)
    for one in asked:
        gpu_type, mark, most = one.rpartition("=")
        if not mark or not gpu_type:
            raise CommandError(f"{one!r} is no type with a number.", remedy="Give it as in --gpus-of A100=2.")
        limit = _number(most, 1)
        found.pop(gpu_type, None)
        if limit is not None:
            found[gpu_type] = limit
    return found


def _of(row: dict[str, Any], field: str, used: str) -> str:
    limit = row[field]
    if limit is None:
        return "no limit"
    shown = size if field.endswith("_bytes") else _plain
    now = row["used"] and row["used"][used]
    return shown(limit) if now is None else f"{shown(now)} of {shown(limit)}"


def _plain(number: float) -> str:
    return f"{number:.12g}"


def _by_type(row: dict[str, Any]) -> str:
    used = row["used"] and row["used"]["gpus_by_type"]
    return ", ".join(
        f"{gpu_type}: {most}" if used is None else f"{gpu_type}: {used.get(gpu_type, 0)} of {most}"
        for gpu_type, most in sorted(row["gpus_by_type"].items())
    )


def _hours(row: dict[str, Any]) -> str:
    used = [one["used_gpu_hours"] for one in row["used"]["budgets"]] if row["used"] else None
    return budgets_in_words(row["budgets"], used)


_COLUMNS: dict[str, Any] = {
    "GPUS": lambda row: _of(row, "max_gpus", "gpus"),
    "BY TYPE": _by_type,
    "CPUS": lambda row: _of(row, "max_cpus", "cpus"),
    "MEMORY": lambda row: _of(row, "max_memory_bytes", "memory_bytes"),
    "RUNNING": lambda row: _of(row, "max_running_jobs", "running_jobs"),
    "WAITING": lambda row: _of(row, "max_waiting_jobs", "waiting_jobs"),
    "STORAGE": lambda row: _of(row, "max_storage_bytes", "storage_bytes"),
    "GPU-HOURS": _hours,
}
