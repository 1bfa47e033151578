# SPDX-License-Identifier: Apache-2.0
"""mlhub run: upload what changed, submit, follow."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from mlhub.cli import following, job_file, packing, uploads
from mlhub.cli.commands.announcements import note_announcements
from mlhub.cli.commands.completion import names_of
from mlhub.cli.commands.training.jobs import submitted
from mlhub.cli.data_format import FILES, format_of, refuse_columns
from mlhub.cli.failures import CommandError
from mlhub.cli.global_options import words_behind_end
from mlhub.cli.job_file import JobFile
from mlhub.cli.names import found_near, project_id
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import short_id

OF_VERSION = re.compile(r"(?<=.)(:[0-9]+|@[^@]*)$")
COLLECTIONS = {"dataset": "datasets", "model": "models", "model_of": "jobs"}


def run(
    context: typer.Context,
    what: Annotated[
        Path | None, typer.Argument(help="A job file (.yaml), a script (.py), or a folder of code.")
    ] = None,
    words: Annotated[list[str] | None, typer.Argument(metavar="-- WORDS", help="For a script's own options.")] = None,
    data: Annotated[Path | None, typer.Option(help="A file or folder to upload as the dataset.")] = None,
    dataset: Annotated[
        str, typer.Option(help="A dataset that is there, by name or id.", autocompletion=names_of("datasets"))
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            help="A model that is there, such as mlp; NAME:3 or NAME@ALIAS: the weights of a version. With code: what"
            " its model is called, by default the folder.",
            autocompletion=names_of("models"),
        ),
    ] = "",
    target: Annotated[str, typer.Option(help="The column to predict, of a table that is uploaded.")] = "",
    form: Annotated[
        str, typer.Option("--format", help="Of --data: csv, image_folder ...; files, for scripts; else by what it is.")
    ] = "",
    entry: Annotated[str, typer.Option(help="The script of a folder of code, such as src/train.py.")] = "",
    requirements: Annotated[
        Path | None, typer.Option(help="A requirements.txt of the code; by default the one next to it.")
    ] = None,
    name: Annotated[str, typer.Option(help="The name of the job.")] = "",
    epochs: Annotated[int | None, typer.Option(min=1)] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="field=value, as in a job file.")] = None,
    variables: Annotated[list[str] | None, typer.Option("--env", "-e", help="NAME=value, or NAME as here.")] = None,
    secrets: Annotated[list[str] | None, typer.Option("--secret", help="Name of a secret of the project.")] = None,
    image: Annotated[
        str,
        typer.Option(help="On Kubernetes: a container image for its workers, registry.example.org/train:1."),
    ] = "",
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Do not follow its log.")] = False,
) -> None:
    """Train: `mlhub run train.py --data ./folder`, `mlhub run --dataset iris --model mlp`, `mlhub run job.yaml`.

    A script may do without data, and gets what follows `--`: `mlhub run train.py --data ./images -- --lr 0.1`.
    Ctrl-C stops following; the job goes on.
    """
    session = session_of(context)
    what, words = _script_words(what, words or [])
    is_file = what is not None and what.suffix in (".yaml", ".yml")
    given = {"dataset": dataset, "model": model, "target": target, "entry": entry, "name": name, "epochs": epochs}
    given |= {"format": form, "image": image}
    wanted = job_file.with_changes({n: v for n, v in given.items() if v}, changes or [])
    wanted.update(_environment(wanted, variables or [], secrets or []))
    if words:
        wanted["hyperparameters"] = {**(wanted.get("hyperparameters") or {}), "arguments": words}
    here = job_file.parsed(wanted, folder=Path(), where="the command line")
    if data is not None:
        here = here.over(JobFile(data=data))
    if what is not None:
        here = here.over(job_file.read(what) if is_file else JobFile(code=what))
    if requirements is not None:
        here = JobFile(requirements=requirements).over(here)
    job = session.api.submit(**body(session, here))
    submitted(session, job)
    note_announcements(session)
    if detach:
        return
    try:
        raise typer.Exit(following.show_log(session, job["id"], query={}, tail=0, follow=True))
    except KeyboardInterrupt:
        session.output.note(f"The job goes on. `mlhub logs -f {short_id(job)}` follows it, `mlhub cancel` ends it.")


def _script_words(what: Path | None, words: list[str]) -> tuple[Path | None, list[str]]:
    """What to run, and the words for its command line, also where only words were given: those behind `--`."""
    behind = words_behind_end()
    if what is not None and len(words) < len(behind):
        return None, behind
    return what, words


def _environment(wanted: dict[str, Any], variables: list[str], secrets: list[str]) -> dict[str, Any]:
    """The fields environment and secrets, where any was given. Raises CommandError for a variable without a value."""
    given = dict(wanted.get("environment") or {})
    for variable in variables:
        name, separator, value = variable.partition("=")
        if not separator and name not in os.environ:
            raise CommandError(f"{name} is not set here.", remedy=f"Write --env {name}=VALUE.")
        given[name] = value if separator else os.environ[name]
    found = {"environment": given, "secrets": [*(wanted.get("secrets") or []), *secrets]}
    return {field: value for field, value in found.items() if value}


def body(session: Session, wanted: JobFile) -> dict[str, Any]:
    """What POST /jobs gets, after uploading what is to be uploaded. Raises CommandError, Refused."""
    project = project_id(session.api, session.project or wanted.references.get("project", ""))
    _check(session, wanted, project)
    sent = {**wanted.settings, "project": project}
    for field, value in wanted.references.items():
        if field == "model" and wanted.code is not None:
            continue
        if field == "model" and _model_in(value) != value:
            sent[field] = value  # NAME@ALIAS or NAME:3, which the platform resolves
        elif field in COLLECTIONS:
            sent[field] = found_near(session.api, COLLECTIONS[field], value, project=project)["id"]
        elif field != "project":
            sent[field] = value
    if wanted.data is not None:
        sent["dataset_version"] = _dataset(session, wanted, project)
    if wanted.code is not None:
        sent["model_version"] = _model(session, wanted, project)
    return sent


def _check(session: Session, wanted: JobFile, project: str) -> None:
    """Raises CommandError when there is no model, or no data for what is no script, before anything is uploaded."""
    if wanted.settings.get("kind") == "notebook":
        return  # it needs neither
    has_data = wanted.data is not None or {"dataset", "dataset_version"} & set(wanted.references)
    has_model = wanted.code is not None or {"model", "model_version", "model_of"} & set(wanted.references)
    if wanted.code is not None:
        _check_code(wanted)
    elif wanted.requirements is not None:
        raise CommandError("Packages of which code?", remedy="Name a script or a folder, or leave requirements out.")
    if not has_data and not (has_model and _is_script(session, wanted, project)):
        raise CommandError(
            "On which data?",
            remedy="Give --data FILE, or --dataset NAME (`mlhub dataset ls`). A script alone may do without.",
        )
    if not has_model:
        raise CommandError("Which model?", remedy="Name a script or a folder, or give --model NAME (`mlhub model ls`).")


def _check_code(wanted: JobFile) -> None:
    """Raises CommandError where the code becomes a version of a model that it cannot be a version of."""
    if "model_version" in wanted.references:
        raise CommandError("There are both code and a model_version.", remedy="Leave one out.")
    if (called := wanted.references.get("model", "")) != _model_in(called):
        raise CommandError(
            f"The code becomes a new version of a model, and {called!r} names one that is there.",
            remedy=f"Give --model {_model_in(called)}, or leave the code out.",
        )


def _is_script(session: Session, wanted: JobFile, project: str) -> bool:
    """Whether the code, brought or named, runs as a script. Raises CommandError, Refused for code that is not there."""
    if wanted.code is not None:
        return packing.code(wanted.code, wanted.entry).kind == "script"
    if version := wanted.references.get("model_version"):
        return bool(session.api.get(f"/model-versions/{version}")["kind"] == "script")
    if name := wanted.references.get("model"):
        newest = found_near(session.api, "models", _model_in(name), project=project)["latest_version"] or {}
        return bool(newest.get("kind") == "script")
    return False


def _model_in(written: str) -> str:
    """Without the :NUMBER or @ALIAS of a version."""
    return OF_VERSION.sub("", written)


def _dataset(session: Session, wanted: JobFile, project: str) -> str:
    assert wanted.data is not None
    form = wanted.format or format_of(wanted.data, is_for_script=_is_script(session, wanted, project))
    if form == FILES and not wanted.format and wanted.target and wanted.data.is_dir():
        refuse_columns(wanted.data)
    fields = {name: value for name, value in (("target", wanted.target), ("format", form)) if value}
    with packing.packed(wanted.data) as file:
        name = wanted.data.resolve().stem[:100]
        version = uploads.uploaded(session, "datasets", file, name=name, project=project, fields=fields)
    return str(version["id"])


def _model(session: Session, wanted: JobFile, project: str) -> str:
    assert wanted.code is not None
    code = packing.code(wanted.code, wanted.entry, wanted.requirements)
    name = wanted.references.get("model") or code.name
    if code.file_name and name == code.name:
        _name_both(session, code, project)
    return str(uploads.uploaded_code(session, code, name=name, project=project, data=wanted.data)["id"])


def _name_both(session: Session, code: packing.Code, project: str) -> None:
    """Says how to go on with the model that has the file's name, as all code did before it had its folder's."""
    query = {"project": project, "limit": 1}
    is_there = {n: bool(session.api.get("/models", name=n, **query)["results"]) for n in (code.name, code.file_name)}
    if is_there[code.file_name] and not is_there[code.name]:
        session.output.note(
            f"{code.entry} becomes the model {code.name}, named by its folder; --model {code.file_name} goes on with"
            f" the model {code.file_name}."
        )
