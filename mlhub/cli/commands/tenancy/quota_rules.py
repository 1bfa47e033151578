# SPDX-License-Identifier: Apache-2.0
"""mlhub quota ls|set: rules of an organisation's, a team's or a project's quota, and what a change would do to jobs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.tenancy.budgets import BudgetChanges, changed_budgets
from mlhub.cli.commands.tenancy.quota_owners import OwnerName, note_overcommitments, owner_of, owners_of
from mlhub.cli.failures import CommandError
from mlhub.cli.output import Format, duration, predicted, size, until
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import short_id

# jobs that have a higher priority keep it
NOT_PREVIEWED = ("max_priority",)
GIB = 2**30
NONE = "none"


def list_owners(context: typer.Context) -> None:
    """List what you see of organisations, teams and projects: what each is guaranteed, uses, borrows and lends."""
    session = session_of(context)
    columns: dict[str, Any] = {
        "NAME": lambda row: row["name"],
        "KIND": lambda row: row["kind"],
        "GUARANTEE": lambda row: row["guaranteed"],
        "USED": lambda row: row["used"],
        "MAX GPUS": lambda row: "no limit" if row["max_gpus"] is None else row["max_gpus"],
        "BORROWED": lambda row: row["borrowed"],
        "LENT": lambda row: row["lent"],
        "RUNNING JOBS": lambda row: row["running_jobs"],
        "QUEUED GPUS": lambda row: row["queued_gpus"],
    }
    owners = owners_of(session.api)
    session.output.rows(owners, columns)
    note_overcommitments(session, (one for owner in owners for one in owner["overcommitted"]))


def set_rules(
    context: typer.Context,
    name: OwnerName,
    guarantee: Annotated[str | None, typer.Option(metavar="NUMBER|none", help="GPUs that it has for certain.")] = None,
    guarantee_of_type: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE=NUMBER|none", help="GPUs of a type that it has for certain; once for each type."),
    ] = None,
    max_gpus: Annotated[str | None, typer.Option(metavar="NUMBER|none", help="The most GPUs at a time.")] = None,
    running_jobs: Annotated[str | None, typer.Option(metavar="NUMBER|none", help="Jobs that run at a time.")] = None,
    waiting_jobs: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="Jobs that wait at a time; more are refused.")
    ] = None,
    gpus_of_type: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE=NUMBER|none", help="The most GPUs of a type at a time; once for each type."),
    ] = None,
    cpus: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="The most CPUs that pods request at a time.")
    ] = None,
    memory_gib: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="The most GiB of memory that pods request at a time.")
    ] = None,
    borrow_limit: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="The most GPUs above the guarantee.")
    ] = None,
    borrow_limit_of_type: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE=NUMBER|none", help="The most GPUs of a type above its guarantee; once for each."),
    ] = None,
    lend_limit: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="The most of the guarantee that others may use.")
    ] = None,
    lend_limit_of_type: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE=NUMBER|none",
            help="The most of the guarantee of a type that others may use; once for each.",
        ),
    ] = None,
    reclaim: Annotated[
        str | None, typer.Option(metavar="any|lower_priority|never", help="From whom it takes back what it lent.")
    ] = None,
    weight: Annotated[float | None, typer.Option(min=0, help="Its part where the place above shares fairly.")] = None,
    max_priority: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="The highest priority of the jobs of its members.")
    ] = None,
    storage_gib: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="GiB stored by it and by all below it.")
    ] = None,
    budget: BudgetChanges = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what it would do to jobs.")] = False,
) -> None:
    """Change the rules of a quota; what is left out stays as it is, none lifts a limit or a guarantee."""
    session = session_of(context)
    counts = {
        "guarantee": (guarantee, 1), "max_gpus": (max_gpus, 1), "max_running_jobs": (running_jobs, 1),
        "max_waiting_jobs": (waiting_jobs, 1), "borrow_limit": (borrow_limit, 1), "lend_limit": (lend_limit, 1),
        "max_priority": (max_priority, 1), "max_storage_bytes": (storage_gib, GIB), "max_cpus": (cpus, 1),
        "max_memory_bytes": (memory_gib, GIB),
    }  # fmt: skip
    rules: dict[str, Any] = {key: _number(text, unit) for key, (text, unit) in counts.items() if text is not None}
    rules |= {key: value for key, value in (("reclaim", reclaim), ("weight", weight)) if value is not None}
    by_type = {
        "gpus_by_type": gpus_of_type,
        "guarantee_by_type": guarantee_of_type,
        "borrow_limit_by_type": borrow_limit_of_type,
        "lend_limit_by_type": lend_limit_of_type,
    }
    if not rules and not any(by_type.values()) and not budget:
        raise CommandError("Nothing to change.", remedy="Give at least one rule; see --help.")
    owner = owner_of(session, name)
    rules |= {key: _types_after(owner[key], changes) for key, changes in by_type.items() if changes}
    if budget:
        rules["budgets"] = changed_budgets(owner["budgets"], budget)
    if dry_run:
        preview(session, owner, rules)
        return
    made = session.api.patch(f"/{owner['kind']}s/{owner['id']}/quota", version=owner["version"], **rules)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.note(f"The quota of {owner['name']} is saved; it counts from the next round on.")
    note_overcommitments(session, made["overcommitted"])


def _types_after(limits: dict[str, int], changes: list[str]) -> dict[str, int]:
    """The numbers of all types: the rule is sent whole, and types that are not named keep theirs."""
    wanted: dict[str, int | None] = dict(limits)
    for change in changes:
        gpu_type, sign, most = change.rpartition("=")
        if not sign or not gpu_type:
            raise CommandError(f"{change} names no type and number.", remedy="Give one as A100=2, or A100=none.")
        wanted[gpu_type] = _number(most, 1)
    return {gpu_type: most for gpu_type, most in wanted.items() if most is not None}


def types_of(texts: list[str]) -> dict[str, int]:
    """Of A100=2, as often as it is given. Raises CommandError."""
    found = {}
    for text in texts:
        gpu_type, _, n = text.rpartition("=")
        if not gpu_type or not n.isdecimal():
            raise CommandError(f"{text} names no type and number.", remedy="Give one as A100=2.")
        found[gpu_type] = int(n)
    return found


def preview(session: Session, owner: dict[str, Any], rules: dict[str, Any]) -> None:
    """What the scheduler would decide now, with the rules as they are and as they would be."""
    wish = {key: value for key, value in rules.items() if key not in NOT_PREVIEWED}
    found: dict[str, Any] = {"effects": [], "overcommitted": [], "below_use": []}
    if wish:
        found = session.api.post("/what-if", quotas=[{owner["kind"]: owner["id"], **wish}])
    columns: dict[str, Any] = {
        "JOB": lambda row: row["name"],
        "ID": short_id,
        "NOW": lambda row: _decision(row["before"]),
        "THEN": lambda row: _decision(row["after"]),
        "STARTS": lambda row: until(row["after"] and row["after"]["start_at"]),
        "ENDS": lambda row: predicted(row["after"] and row["after"]["finish_at"]),
    }
    if session.output.form is not Format.TABLE:
        session.output.data(found)
    elif found["effects"]:
        session.output.rows(found["effects"], columns)
    for limit in found["below_use"]:
        session.output.note(below_use_sentence(limit, found["stop_grace_s"]))
    session.output.note(f"{impact_sentence(found['effects'])} Nothing was changed.")
    note_overcommitments(session, found["overcommitted"], are="would be")


def below_use_sentence(limit: dict[str, Any], grace_s: float) -> str:
    """As on the page Quotas: which limit is below its use, and what becomes of what is above it."""
    shown = size if limit["limit"].endswith("_bytes") else "{:,.12g}".format
    unit, what = _UNITS[limit["limit"]]
    used, amount = shown(limit["used"]), shown(limit["amount"])
    of = f" {limit['gpu_type']}" if limit["gpu_type"] else ""
    numbers = f"{limit['owner']} {what} {used}{of}{unit} now, and the limit would be {amount}"
    if limit["drains"]:
        return (
            f"{numbers}: from the next round on, jobs above it save a checkpoint within {duration(grace_s)}, and wait; "
            "one that is starting does so when it runs."
        )
    return f"{numbers}: nothing is stopped or deleted, and what is new is refused until less is used."


_UNITS = {
    "max_gpus": (" GPUs", "uses"), "gpus_by_type": (" GPUs", "uses"), "max_running_jobs": (" jobs", "runs"),
    "max_waiting_jobs": (" jobs", "queues"), "max_cpus": (" CPUs", "requests"),
    "max_memory_bytes": (" of memory", "requests"), "max_storage_bytes": ("", "stores"),
}  # fmt: skip


def impact_sentence(effects: list[dict[str, Any]]) -> str:
    """As on the page Quotas: "1 running job gives GPUs back; 2 waiting jobs start now."."""
    changes = [(row["before"] or _NOTHING, row["after"] or _NOTHING) for row in effects]
    decided = [(before["decision"], after["decision"]) for before, after in changes]
    gives = sum(b != "preempt" and a == "preempt" for b, a in decided)
    gives += sum(a["decision"] == "resize" and a["n_workers"] < b["n_workers"] for b, a in changes)
    starts = sum(b != "launch" and a == "launch" for b, a in decided)
    waits = sum(b == "launch" and a == "wait" for b, a in decided)
    parts = [
        _counted(gives, "running job gives GPUs back", "running jobs give GPUs back"),
        _counted(starts, "waiting job starts now", "waiting jobs start now"),
        _counted(waits, "job that would start now waits", "jobs that would start now wait"),
    ]
    return "; ".join(filter(None, parts)) + "." if any(parts) else "Nothing would change for jobs at present."


_NOTHING: dict[str, Any] = {"decision": "", "n_workers": 0}


def _counted(n: int, one: str, other: str) -> str:
    return "" if n == 0 else f"{n} {one if n == 1 else other}"


def _decision(prospect: dict[str, Any] | None) -> str:
    if prospect is None:
        return ""
    workers = f" ({prospect['n_workers']} workers)" if prospect["n_workers"] else ""
    return f"{prospect['decision']}{workers}"


def _number(text: str, unit: int) -> int | None:
    if text == NONE:
        return None
    try:
        return int(float(text) * unit) if unit > 1 else int(text)
    except (ValueError, OverflowError) as error:
        raise CommandError(f"{text} is no number.", remedy="Give a whole number, or none.") from error
