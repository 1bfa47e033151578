# SPDX-License-Identifier: Apache-2.0
"""mlhub predict, mlhub serve, mlhub model export, mlhub model alias: what trained models are used for."""

from __future__ import annotations

import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mlhub.cli.commands.completion import names_of
from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.exports import fetch, rows_of, run_program
from mlhub.cli.failures import CommandError
from mlhub.cli.model_names import EXAMPLES, model_named, parts_of, version_path
from mlhub.cli.session import Session, session_of
from mlhub.client.problems import Refused
from mlhub.wire.row_files import unseen_categories, with_row_renamed

ModelArgument = Annotated[str, typer.Argument(help=EXAMPLES, autocompletion=names_of("models"))]


ROWS_AT_ONCE = 256
ALIASES = {"ALIAS": lambda row: f"@{row['name']}", "VERSION": lambda row: row["version"]}
alias = typer.Typer(help="Names of versions of a model, such as iris@best.", no_args_is_help=True)


class ExportFormat(StrEnum):
    FOLDER = "folder"
    ONNX = "onnx"
    TORCH_EXPORT = "torch_export"


SUFFIXES = {ExportFormat.ONNX: ".onnx", ExportFormat.TORCH_EXPORT: ".pt2"}


def export(
    context: typer.Context,
    model: ModelArgument,
    form: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.FOLDER,
    to: Annotated[Path, typer.Option("--to", "-o", help="The folder to write into.")] = Path(),
) -> None:
    """Write a trained model as a folder that predicts with torch and NumPy, or converted from it on this machine.

    A conversion runs the model's own code here; ONNX needs the packages of requirements-onnx.txt in the folder.
    """
    session = session_of(context)
    path = version_path(session, model)
    if form is ExportFormat.FOLDER:
        session.output.note(f"Written: {fetch(session, path, to)}")
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = fetch(session, path, Path(temporary))
        to.mkdir(parents=True, exist_ok=True)
        file = (to / f"{folder.name}{SUFFIXES[form]}").resolve()
        run_program(folder, "convert.py", [form.value, str(file)])


def predict(
    context: typer.Context,
    model: ModelArgument,
    file: Annotated[
        Path,
        typer.Option("--data", help="CSV, JSON (a row or a list), JSON lines, Parquet, a text, an image, or audio."),
    ],
) -> None:
    """Predict the rows of a small file on the platform; for whole datasets, submit a prediction job."""
    session = session_of(context)
    path, rows = version_path(session, model), rows_of(file)
    found: list[dict[str, Any]] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        found += _predictions(session, path, rows[start : start + ROWS_AT_ONCE], file=file, start=start)
    for sentence in unseen_categories(found):
        session.output.note(with_row_renamed(sentence, lambda word, row: f"{word} {row} of {file.name}"))
    if session.output.form != "table":
        session.output.data(found)
        return
    numbered = [{"row": number, **answer} for number, answer in enumerate(found)]
    session.output.rows(numbered, {"ROW": lambda row: row["row"], "PREDICTION": _answer, "PROBABILITY": _probability})


def _predictions(session: Session, path: str, rows: list[Any], *, file: Path, start: int) -> list[dict[str, Any]]:
    """Raises Refused with the number that the row has in the file, of which these rows are a part from start on."""
    try:
        found: list[dict[str, Any]] = session.api.post(f"{path}/predict", rows=rows)["predictions"]
    except Refused as error:
        detail = with_row_renamed(
            str(error.problem.get("detail") or ""), lambda word, row: f"{word} {start + row} of {file.name}"
        )
        raise type(error)({**error.problem, "detail": detail}, error.status) from error
    return found


@alias.command("ls")
def list_aliases(context: typer.Context, model: Annotated[str, typer.Argument(help="Name or id.")]) -> None:
    """List the aliases of a model."""
    session = session_of(context)
    rows = session.api.get(f"/models/{model_named(session, model)['id']}/aliases")
    session.output.rows(rows, ALIASES)


@alias.command("set")
def set_alias(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="NAME@ALIAS, such as iris@best.")],
    version: Annotated[int, typer.Argument(help="The number of the version.")],
) -> None:
    """Give a version of a model a name, or move the name to it."""
    session = session_of(context)
    session.output.rows([session.api.put(_alias_path(session, name), version=version)], ALIASES)


@alias.command("rm")
def delete_alias(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="NAME@ALIAS, such as iris@best.")],
    yes: Yes = False,
) -> None:
    """Delete a name; the version stays."""
    session = session_of(context)
    path = _alias_path(session, name)
    require_yes(f"Delete the name {name}?", yes=yes)
    session.api.delete(path)
    session.output.note(f"Deleted: {name}.")


def _alias_path(session: Session, written: str) -> str:
    model, name, _ = parts_of(written)
    if not name:
        raise CommandError(f"{written!r} has no alias.", remedy="Write NAME@ALIAS, such as iris@best.")
    return f"/models/{model_named(session, model)['id']}/aliases/{name}"


def serve(
    context: typer.Context,
    model: ModelArgument,
    host: Annotated[str, typer.Option(help="Where to listen; by default for this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 8600,
) -> None:
    """Predict over HTTP on this machine: POST /predict with {rows: [...]} as JSON. The model's own code runs here."""
    session = session_of(context)
    with tempfile.TemporaryDirectory() as temporary:
        folder = fetch(session, version_path(session, model), Path(temporary))
        run_program(folder, "serve.py", ["--host", host, "--port", str(port)])


def _answer(row: dict[str, Any]) -> str:
    if "next" in row:
        return repr(row["next"][0]["text"])
    found = row.get("prediction", row.get("output"))
    return f"{found:.6g}" if isinstance(found, float) else str(found)


def _probability(row: dict[str, Any]) -> str:
    values = row.get("probabilities") or {each["text"]: each["probability"] for each in row.get("next", [])}
    return f"{max(values.values()):.3f}" if values else ""
