# SPDX-License-Identifier: Apache-2.0
"""mlhub study: create a search for hyperparameters from a file, look at it and its trials, steer it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from mlhub.cli import core_yaml
from mlhub.cli.commands.completion import names_of
from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.failures import CommandError
from mlhub.cli.job_file import with_changes
from mlhub.cli.names import found, project_id
from mlhub.cli.output import until
from mlhub.cli.session import Session, session_of

study = typer.Typer(help="Searches for hyperparameters.", no_args_is_help=True)
StudyArgument = Annotated[
    str, typer.Argument(metavar="STUDY", help="Name or id, or the end of the id.", autocompletion=names_of("studies"))
]
DATA = frozenset({"dataset", "dataset_version", "datasets"})  # of a job: its project is that of the data
LISTED = {
    "NAME": lambda row: row["name"],
    "STATE": lambda row: row["state"],
    "TRIALS": lambda row: f"{row['n_trials']} of {row['most_trials']}",
    "METRIC": lambda row: row["metric"],
    "BEST": lambda row: _value(row["best"]),
    "CREATED": lambda row: until(row["created_at"]),
    "ID": lambda row: row["id"],
}


@study.command("create")
def create_study(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="YAML with the fields of POST /api/v1/studies.")],
    changes: Annotated[list[str] | None, typer.Option("--set", help="field=value, such as max_trials=50.")] = None,
) -> None:
    """Create a study from a YAML file, and print its id."""
    session = session_of(context)
    body = with_changes(_read(file), changes or [])
    job = body.get("job")
    if isinstance(job, dict) and "project" not in job and (session.project or not DATA & job.keys()):
        body["job"] = {"project": project_id(session.api, session.project), **job}
    made = session.api.post("/studies", **body)
    session.output.note(f"Created: {made['name']}, {made['algorithm']}, at most {made['most_trials']} trials.")
    session.output.line(made["id"])


@study.command("ls")
def list_studies(context: typer.Context) -> None:
    """List studies, newest first."""
    session = session_of(context)
    query: dict[str, Any] = {"project": project_id(session.api, session.project)} if session.project else {}
    session.output.rows(list(session.api.all("/studies", **query)), LISTED)


@study.command("show")
def show_study(context: typer.Context, name: StudyArgument) -> None:
    """Show a study, with its best trial."""
    session = session_of(context)
    session.output.data(_one(session, name))


@study.command("trials")
def list_trials(context: typer.Context, name: StudyArgument) -> None:
    """List the trials of a study, the best first."""
    session = session_of(context)
    one = _one(session, name)
    sign = -1 if one["direction"] == "maximize" else 1
    rows = session.api.get(f"/studies/{one['id']}/trials")
    rows.sort(key=lambda row: (-len(row["results"]), sign * (_last(row) or 0.0), row["number"]))
    session.output.rows(rows, _trial_columns(one["unit"]))


@study.command("pause")
def pause_study(context: typer.Context, name: StudyArgument) -> None:
    """Pause a study and the jobs of its trials."""
    _act(context, name, "pause")


@study.command("resume")
def resume_study(context: typer.Context, name: StudyArgument) -> None:
    """Let a paused study go on."""
    _act(context, name, "resume")


@study.command("extend")
def extend_study(
    context: typer.Context,
    name: StudyArgument,
    trials: Annotated[int | None, typer.Option(help="So many more trials.")] = None,
    epochs: Annotated[int | None, typer.Option(help="So many more epochs of all trials together.")] = None,
    gpu_hours: Annotated[float | None, typer.Option(help="So many more GPU-hours.")] = None,
) -> None:
    """Add to the budget of a study; one that used its budget up goes on."""
    session = session_of(context)
    given = {"trials": trials, "epochs": epochs, "gpu_hours": gpu_hours}
    body = {field: value for field, value in given.items() if value is not None}
    session.output.rows([session.api.post(f"/studies/{_one(session, name)['id']}/extend", **body)], LISTED)


@study.command("clone")
def clone_study(
    context: typer.Context,
    name: StudyArgument,
    new_name: Annotated[str | None, typer.Option("--name", help="The name of the new study.")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="field=value, such as max_trials=50.")] = None,
) -> None:
    """Create a study like another one, but for some changes, and print its id."""
    session = session_of(context)
    one = _one(session, name)
    has_values = any(change.startswith("space.") for change in changes or [])  # of one of its hyperparameters
    body = {} if new_name is None else {"name": new_name}
    body = with_changes(body | ({"space": one["space"]} if has_values else {}), changes or [])
    made = session.api.post(f"/studies/{one['id']}/clone", **body)
    session.output.note(f"Created: {made['name']}, {made['algorithm']}, at most {made['most_trials']} trials.")
    session.output.line(made["id"])


@study.command("stop")
def stop_study(context: typer.Context, name: StudyArgument) -> None:
    """End a study for good and cancel the jobs of its trials."""
    _act(context, name, "stop")


@study.command("rm")
def delete_study(context: typer.Context, name: StudyArgument, yes: Yes = False) -> None:
    """Delete a study that has ended for good; its jobs stay."""
    session = session_of(context)
    one = _one(session, name)
    require_yes(f"Delete the study {one['name']} ({one['project']['name']}) for good?", yes=yes)
    session.api.delete(f"/studies/{one['id']}")
    session.output.note(f"Deleted: {one['name']}.")


def _act(context: typer.Context, name: str, verb: str) -> None:
    session = session_of(context)
    session.output.rows([session.api.post(f"/studies/{_one(session, name)['id']}/{verb}")], LISTED)


def _one(session: Session, name: str) -> dict[str, Any]:
    return found(session.api, "studies", name)


def _read(file: Path) -> dict[str, Any]:
    try:
        content = core_yaml.load(file.read_text())
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} is no YAML: {error}") from error
    if not isinstance(content, dict):
        raise CommandError(f"{file} must be a mapping of fields, such as `metric: eval/accuracy`.")
    return content


def _trial_columns(unit: str) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """unit: epochs or steps, in which the study counts."""
    return {
        "TRIAL": lambda row: row["number"],
        "STATUS": lambda row: row["status"],
        unit.upper(): lambda row: f"{row['epochs']:g}",
        "VALUE": _value,
        "PARAMETERS": lambda row: _parameters(row["parameters"]),
        "JOB": lambda row: row["job"],
        "NOTE": lambda row: row["message"],
    }


def _last(row: dict[str, Any]) -> float | None:
    return row["results"][-1]["value"] if row["results"] else None


def _value(row: dict[str, Any] | None) -> str:
    value = _last(row) if row else None
    return "" if value is None else f"{value:.5g}"


def _parameters(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name}={v:.4g}" if isinstance(v, float) else f"{name}={v}" for name, v in parameters.items())
