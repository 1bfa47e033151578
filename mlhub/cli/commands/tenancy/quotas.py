# SPDX-License-Identifier: Apache-2.0
"""mlhub quota: what organisations, teams and projects may use; boosts, which raise it for a time; requests for more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from mlhub.cli.commands.tenancy.budgets import budgets_in_words
from mlhub.cli.commands.tenancy.quota_owners import OwnerName, note_overcommitments, owner_of, owners_of
from mlhub.cli.commands.tenancy.quota_rules import list_owners, preview, set_rules, types_of
from mlhub.cli.commands.tenancy.quota_versions import restore, show_history
from mlhub.cli.commands.tenancy.user_limits import users
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.output import Format, size, until
from mlhub.cli.session import Session, session_of

quota = typer.Typer(help="What may be used, and is used now; boosts; requests.", invoke_without_command=True)
quota.add_typer(users, name="users")
quota.command("ls")(list_owners)
quota.command("set")(set_rules)
quota.command("history")(show_history)
quota.command("restore")(restore)


OfTypes = Annotated[
    list[str] | None,
    typer.Option(metavar="TYPE=NUMBER", help="GPUs to add to the limit of a type; once for each type."),
]
GuaranteeOfTypes = Annotated[
    list[str] | None,
    typer.Option(metavar="TYPE=NUMBER", help="GPUs of a type to add to the guarantee; once for each type."),
]
Starts = Annotated[
    str,
    typer.Option(metavar="TIME", help="When it begins, as 2026-12-01T06:00:00Z; without an offset it is UTC."),
]
GUARANTEE = "GPUs of any type to add to the guarantee."
EXTRAS = ("extra_guarantee", "extra_guarantee_by_type", "extra_max_gpus", "extra_gpus_by_type")


@quota.callback()
def show(context: typer.Context) -> None:
    """What your organisations may use now, with their boosts, and use now; raise it for a time by `boost`."""
    if context.invoked_subcommand is not None:
        return
    session = session_of(context)
    rows = []
    for membership in session.api.get("/auth/me")["memberships"]:
        organisation = membership["organisation"]
        if membership["role"] == "outsider":  # who sees what `quota ls` lists
            continue
        found = session.api.get(f"/organisations/{organisation['id']}/quota")
        owners = session.api.get(f"/organisations/{organisation['id']}/quota-tree")["owners"]
        guaranteed = next(owner["guaranteed"] for owner in owners if owner["id"] == organisation["id"])
        rows.append({"organisation": organisation["name"], "guaranteed": guaranteed, **found})
    columns = {
        "ORGANISATION": lambda row: row["organisation"],
        "GPUS": lambda row: _of(row["used"]["gpus"], _with_boosts(row["max_gpus"], row["boosted_gpus"])),
        "CPUS": lambda row: _of(f"{row['used']['cpus']:,.12g}", row["max_cpus"]),
        "MEMORY": lambda row: _bytes_of(row["used"]["memory_bytes"], row["max_memory_bytes"]),
        "GUARANTEE": lambda row: row["guaranteed"],
        "RUNNING JOBS": lambda row: _of(row["used"]["running_jobs"], row["max_running_jobs"]),
        "WAITING JOBS": lambda row: _of(row["used"]["waiting_jobs"], row["max_waiting_jobs"]),
        "STORAGE": lambda row: _bytes_of(row["used"]["storage_bytes"], row["max_storage_bytes"]),
    }
    session.output.rows(rows, columns)
    note_overcommitments(session, (one for row in rows for one in row["overcommitted"]))


@quota.command("tree")
def show_tree(context: typer.Context) -> None:
    """List your organisations with their teams and projects: what each may use now, with its boosts, and uses now."""
    session = session_of(context)
    columns = {
        "NAME": lambda row: row["name"],
        "KIND": lambda row: row["kind"],
        "GPUS": lambda row: _of(row["used"], _with_boosts(row["max_gpus"], _boosted(row))),
        "BY TYPE": _by_type,
        "GUARANTEED BY TYPE": _guarantees_by_type,
        "CPUS": lambda row: _of(f"{row['used_cpus']:,.12g}", row["max_cpus"]),
        "MEMORY": lambda row: _bytes_of(row["used_memory_bytes"], row["max_memory_bytes"]),
        "GUARANTEE": lambda row: row["guaranteed"],
        "RUNNING JOBS": lambda row: _of(row["running_jobs"], row["max_running_jobs"]),
        "WAITING JOBS": lambda row: _of(row["waiting_jobs"], row["max_waiting_jobs"]),
        "STORAGE": lambda row: _bytes_of(row["storage_bytes"], row["max_storage_bytes"]),
        "GPU-HOURS": lambda row: budgets_in_words(row["budgets"], [one["used_gpu_hours"] for one in row["budgets"]]),
    }
    owners = owners_of(session.api)
    session.output.rows(owners, columns)
    note_overcommitments(session, (one for owner in owners for one in owner["overcommitted"]))


@quota.command("boosts")
def list_boosts(context: typer.Context) -> None:
    """List the boosts that are in effect in your organisations, and those to come."""
    session = session_of(context)
    rows = [
        {"owner": owner["name"], **boost}
        for owner in owners_of(session.api)
        for boost in (*owner["boosts"], *owner["boosts_to_come"])
    ]
    columns = {
        "ID": lambda row: row["id"],
        "OF": lambda row: row["owner"],
        "GUARANTEE": lambda row: f"+{row['extra_guarantee']}",
        "GUARANTEED BY TYPE": lambda row: _added(row["extra_guarantee_by_type"]),
        "MAX GPUS": lambda row: f"+{row['extra_max_gpus']}",
        "BY TYPE": lambda row: _added(row["extra_gpus_by_type"]),
        "STARTS": lambda row: until(row["starts_at"]),
        "ENDS": lambda row: until(row["ends_at"]),
        "BY": lambda row: row["created_by"],
        "REASON": lambda row: row["reason"],
    }
    session.output.rows(rows, columns)


@quota.command()
def boost(
    context: typer.Context,
    name: OwnerName,
    hours: Annotated[
        float, typer.Option(min=0.01, max=366 * 24, help="Hours after which it ends, from now or from --starts on.")
    ],
    starts: Starts = "",
    guarantee: Annotated[int, typer.Option(min=0, help=GUARANTEE)] = 0,
    guarantee_of_type: GuaranteeOfTypes = None,
    max_gpus: Annotated[int, typer.Option(min=0, help="GPUs to add to max_gpus, where that is set.")] = 0,
    gpus_of_type: OfTypes = None,
    reason: Annotated[str, typer.Option(help="Why, for those who see the quota.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what it would do to jobs.")] = False,
) -> None:
    """Raise a quota for some hours, from now on or reserved for a later time; it ends by itself."""
    session = session_of(context)
    extras = _extras(guarantee, guarantee_of_type, max_gpus, gpus_of_type)
    owner = owner_of(session, name)
    times = _times(starts, hours)
    if dry_run:
        preview(session, owner, extras)
        _note_preview_is_of_now(session, starts)
        return
    made = session.api.post(f"/{owner['kind']}s/{owner['id']}/quota/boosts", **extras, **times, reason=reason)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.line(made["id"])
        begins = "" if made["is_in_effect"] else f" {until(made['starts_at'])}"
        session.output.note(f"{owner['name']} is boosted{begins}; it ends {until(made['ends_at'])}.")
    note_overcommitments(session, made["overcommitted"])


@quota.command("end-boost")
def end_boost(context: typer.Context, id: Annotated[str, typer.Argument(help="Id of the boost.")]) -> None:
    """End a boost before its time, or cancel one to come."""
    session = session_of(context)
    session.api.post(f"/quota-boosts/{id}/end")
    session.output.note("The boost is ended.")


@quota.command("request")
def make_request(
    context: typer.Context,
    name: OwnerName,
    reason: Annotated[str, typer.Option(help="What the GPUs are for, to who decides.")],
    guarantee: Annotated[int, typer.Option(min=0, help=GUARANTEE)] = 0,
    guarantee_of_type: GuaranteeOfTypes = None,
    max_gpus: Annotated[int, typer.Option(min=0, help="GPUs to add to max_gpus, where that is set.")] = 0,
    gpus_of_type: OfTypes = None,
    hours: Annotated[
        float | None,
        typer.Option(
            min=0.01, max=366 * 24, help="For so many hours, from now or from --starts on; left out: for good."
        ),
    ] = None,
    starts: Starts = "",
) -> None:
    """Ask those who may change a quota for more."""
    session = session_of(context)
    extras = _extras(guarantee, guarantee_of_type, max_gpus, gpus_of_type)
    owner = owner_of(session, name)
    times = _times(starts, hours)
    made = session.api.post(f"/{owner['kind']}s/{owner['id']}/quota/requests", **extras, **times, reason=reason)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.line(made["id"])
        session.output.note(
            f"The request for {owner['name']} waits for an answer; `mlhub quota requests --all` shows it."
        )


@quota.command("requests")
def list_requests(
    context: typer.Context, all: Annotated[bool, typer.Option(help="Also those that were answered.")] = False
) -> None:
    """List requests for quota in your organisations."""
    session = session_of(context)
    found = session.api.all("/quota-requests", **({} if all else {"is_waiting": True}))
    columns = {
        "ID": lambda row: row["id"],
        "FOR": lambda row: row["owner_name"],
        "GUARANTEE": lambda row: f"+{row['extra_guarantee']}",
        "GUARANTEED BY TYPE": lambda row: _added(row["extra_guarantee_by_type"]),
        "MAX GPUS": lambda row: f"+{row['extra_max_gpus']}",
        "BY TYPE": lambda row: _added(row["extra_gpus_by_type"]),
        "FROM": lambda row: "the approval" if row["starts_at"] is None else until(row["starts_at"]),
        "UNTIL": lambda row: "for good" if row["ends_at"] is None else until(row["ends_at"]),
        "BY": lambda row: row["requested_by"],
        "STATE": lambda row: row["state"],
        "REASON": lambda row: row["reason"],
        "ANSWER": lambda row: ": ".join(part for part in (row["answered_by"], row["note"]) if part),
    }
    rows = list(found)
    if not rows and not all and session.output.form is Format.TABLE:
        session.output.note("No request waits; `mlhub quota requests --all` also lists those that were answered.")
    session.output.rows(rows, columns)


RequestId = Annotated[str, typer.Argument(help="Id of the request.")]


@quota.command()
def approve(
    context: typer.Context,
    id: RequestId,
    guarantee: Annotated[int | None, typer.Option(min=0, help="Add so many instead of those asked for.")] = None,
    max_gpus: Annotated[int | None, typer.Option(min=0, help="Add so many instead of those asked for.")] = None,
    gpus_of_type: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE=NUMBER", help="Add so many of a type, and no others, instead of those asked for."),
    ] = None,
    guarantee_of_type: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE=NUMBER",
            help="Add so many of a type to the guarantee, instead of all those asked for by type.",
        ),
    ] = None,
    note: Annotated[str, typer.Option(help="A word to who asked.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what it would do to jobs.")] = False,
) -> None:
    """Give what a request asks for."""
    session = session_of(context)
    amounts = {"extra_guarantee": guarantee, "extra_max_gpus": max_gpus}
    given: dict[str, Any] = {field: value for field, value in amounts.items() if value is not None}
    if gpus_of_type:
        given["extra_gpus_by_type"] = types_of(gpus_of_type)
    if guarantee_of_type:
        given["extra_guarantee_by_type"] = types_of(guarantee_of_type)
    if dry_run:
        asked = _waiting_request(session, id)
        preview(session, {"kind": asked["owner_kind"], "id": asked["owner"]}, {n: asked[n] for n in EXTRAS} | given)
        _note_preview_is_of_now(session, asked["starts_at"] or "")
        return
    answered = session.api.post(f"/quota-requests/{id}/approve", note=note, **given)
    session.output.note("The request is approved.")
    note_overcommitments(session, answered["overcommitted"])


@quota.command()
def refuse(
    context: typer.Context,
    id: RequestId,
    note: Annotated[str, typer.Option("--note", "--reason", help="Why, to who asked.")],
) -> None:
    """Refuse a request, with a reason."""
    session = session_of(context)
    session.api.post(f"/quota-requests/{id}/refuse", note=note)
    session.output.note("The request is refused.")


@quota.command()
def withdraw(context: typer.Context, id: RequestId) -> None:
    """Take back a request of your own."""
    session = session_of(context)
    session.api.post(f"/quota-requests/{id}/withdraw")
    session.output.note("The request is withdrawn.")


def _waiting_request(session: Session, id: str) -> dict[str, Any]:
    """Raises CommandError."""
    found = next((row for row in session.api.all("/quota-requests", is_waiting=True) if row["id"] == id), None)
    if found is None:
        raise CommandError(
            f"No request {id} waits for an answer.",
            remedy="`mlhub quota requests` lists those that do.",
            code=CommandStatus.REFUSED,
        )
    return found


def _extras(
    guarantee: int, guarantee_of_type: list[str] | None, max_gpus: int, gpus_of_type: list[str] | None
) -> dict[str, Any]:
    """What is to be added, as the API has it."""
    return {
        "extra_guarantee": guarantee,
        "extra_guarantee_by_type": types_of(guarantee_of_type or []),
        "extra_max_gpus": max_gpus,
        "extra_gpus_by_type": types_of(gpus_of_type or []),
    }


def _times(starts: str, hours: float | None) -> dict[str, str | None]:
    """When it begins and ends, as the API has it. Raises CommandError for a beginning that is no time."""
    begins = datetime.now(UTC)
    if starts:
        try:
            begins = datetime.fromisoformat(starts)
        except ValueError as error:
            raise CommandError(
                f"--starts {starts} is no time.", remedy="Write it as 2026-12-01T06:00:00Z.", code=CommandStatus.REFUSED
            ) from error
    begins = begins.replace(tzinfo=UTC) if begins.tzinfo is None else begins
    ends_at = None if hours is None else (begins + timedelta(hours=hours)).isoformat()
    return {"starts_at": begins.isoformat() if starts else None, "ends_at": ends_at}


def _note_preview_is_of_now(session: Session, starts: str) -> None:
    if starts:
        session.output.note("The preview is of the jobs of now, as if it began now.")


def _boosted(row: dict[str, Any]) -> int:
    return sum(boost["extra_max_gpus"] for boost in row["boosts"])


def _with_boosts(limit: int | None, boosted: int) -> int | None:
    return None if limit is None else limit + boosted


def _of(used: Any, limit: Any) -> str:
    return f"{used} of {limit}" if limit is not None else f"{used}, no limit"


def _bytes_of(used: int | None, limit: int | None) -> str:
    """used: None where it is not counted, because there is no limit."""
    return "no limit" if used is None else _of(size(used), None if limit is None else size(limit))


def _by_type(row: dict[str, Any]) -> str:
    """A100 1 of 2, T4 0 of 4"""
    used, limits = row["used_by_type"], row["gpus_by_type"]
    extra = {t: sum(boost["extra_gpus_by_type"].get(t, 0) for boost in row["boosts"]) for t in limits}
    return ", ".join(f"{t} {_of(used.get(t, 0), most + extra[t])}" for t, most in limits.items()) or "no limit"


def _guarantees_by_type(row: dict[str, Any]) -> str:
    """A100 3 of 4 (1 of at most 2 lent), T4 2 borrowed"""
    found = []
    limits = {"lent": row["lend_limit_by_type"], "borrowed": row["borrow_limit_by_type"]}
    for gpu_type, at in row["books_by_type"].items():
        numbers = {what: (at[what], most.get(gpu_type)) for what, most in limits.items()}
        words = [
            f"{n} {what}" if most is None else f"{n} of at most {most} {what}"
            for what, (n, most) in numbers.items()
            if n or most is not None
        ]
        guaranteed = _of(at["used"] - at["borrowed"], at["guaranteed"]) if at["guaranteed"] else ""
        extra = ", ".join(words) if not guaranteed else f"({', '.join(words)})" if words else ""
        found.append(" ".join(filter(None, [gpu_type, guaranteed, extra])))
    return ", ".join(found) or "none"


def _added(by_type: dict[str, int]) -> str:
    """A100 +2"""
    return ", ".join(f"{gpu_type} +{n}" for gpu_type, n in by_type.items())
