# SPDX-License-Identifier: Apache-2.0
"""mlhub dataset push|ls|show|versions|columns|diff|refresh|pull|rm, mlhub model push|ls|show|versions|pull|rm."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer

from mlhub.cli import packing, uploads
from mlhub.cli.commands.datasets.columns import columns
from mlhub.cli.commands.datasets.dataset_differences import diff
from mlhub.cli.commands.datasets.references import refer, refresh, shards_in
from mlhub.cli.commands.datasets.removals import remove_dataset, remove_model
from mlhub.cli.commands.datasets.versions import DatasetName, ModelName, dataset_versions, model_versions
from mlhub.cli.data_format import FILES, format_of, refuse_columns
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.model_names import model_named, version_named
from mlhub.cli.names import dataset_version, found, is_id, project_id
from mlhub.cli.output import size, until
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import short_id

New = Annotated[str, typer.Option(help="By default that of the file.")]
dataset = typer.Typer(help="Datasets.", no_args_is_help=True)
model = typer.Typer(help="Models: code that is uploaded, and what was trained.", no_args_is_help=True)


dataset.command("columns")(columns)
dataset.command("diff")(diff)
dataset.command("rm")(remove_dataset)
model.command("rm")(remove_model)
dataset.command("refresh")(refresh)
dataset.command("versions")(dataset_versions)
model.command("versions")(model_versions)


def _version(row: dict[str, Any]) -> dict[str, Any]:
    return row["latest_version"] or {}


OWNED = {
    "ID": short_id,
    "NAME": lambda row: row["name"],
    "PROJECT": lambda row: (row["project"] or {}).get("name", "built in"),
    "VERSION": lambda row: _version(row).get("number"),
    "STATE": lambda row: _version(row).get("state"),
    "CREATED": lambda row: until(row["created_at"]),
}


@dataset.command("ls")
def list_datasets(context: typer.Context) -> None:
    """List the datasets that you may see."""
    _list(context, "datasets", {**OWNED, "FORMAT": lambda row: _version(row).get("format")})


@model.command("ls")
def list_models(context: typer.Context) -> None:
    """List the models that you may use."""
    columns = {"KIND": lambda row: _version(row).get("kind"), "TRAINED": lambda row: row["n_trained"] + row["n_logged"]}
    _list(context, "models", {**OWNED, **columns}, has_built_in=True)


@dataset.command("show")
def show_dataset(context: typer.Context, name: DatasetName) -> None:
    """A dataset with its newest version: files, columns, preview."""
    session = session_of(context)
    session.output.data(session.api.get(f"/datasets/{_of(session, 'datasets', name)['id']}"))


@model.command("show")
def show_model(context: typer.Context, name: ModelName) -> None:
    """A model with its newest version."""
    session = session_of(context)
    session.output.data(session.api.get(f"/models/{model_named(session, name)['id']}"))


@dataset.command("push")
def push_dataset(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A file or a folder; with --from, the dataset's name.")],
    name: New = "",
    uri: Annotated[
        str,
        typer.Option("--from", help="https://, s3://, hf:// or file://: a file, or shards: train-{000..099}.tar."),
    ] = "",
    uri_list: Annotated[
        Path | None, typer.Option("--from-list", help="A file with an address of a shard a line, or: URI sha256=...")
    ] = None,
    secret: Annotated[
        list[str] | None, typer.Option(help="With --from: token=NAME of a secret of the project; repeatable.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="With --from: sha256, etag, endpoint or region=value; repeatable.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="csv, image_folder ..., files; else by what it is.")] = "",
    target: Annotated[str, typer.Option(help="The column to predict, of a table.")] = "",
    ignore: Annotated[list[str] | None, typer.Option(help="A column of a table not to learn from; repeatable.")] = None,
    options: Annotated[list[str] | None, typer.Option("--option", help="field=value, such as tokenizer=byte.")] = None,
) -> None:
    """Upload a dataset, or a new version of one of that name, unless it has not changed; or have it fetched."""
    session = session_of(context)
    fields: dict[str, Any] = {"target": target} if target else {}
    if ignore:
        fields["ignore"] = ignore
    if form:
        fields["format"] = form
    for option in options or []:
        field, separator, value = option.partition("=")
        if not separator:
            raise CommandError(f"{option!r} is no field=value.")
        fields[field] = value
    if uri and uri_list:
        raise CommandError("Give either --from or --from-list.")
    if uri or uri_list:
        called = (name or str(path))[:100]
        place: dict[str, Any] = {"uri": uri} if uri_list is None else {"shards": shards_in(uri_list)}
        version = refer(session, called, place, fields=fields, secrets=secret or [], places=source or [])
        _made(session, version, size(version["size_bytes"]))
        return
    if secret or source:
        raise CommandError(
            "--secret and --source are of --from and --from-list.", remedy="Give the address with --from URI."
        )
    if "format" not in fields and (found_format := format_of(path)):
        if found_format == FILES and path.is_dir() and (target or ignore):
            refuse_columns(path)
        fields["format"] = found_format
    with packing.packed(path) as file:
        version = uploads.uploaded(
            session, "datasets", file, name=(name or path.resolve().stem)[:100],
            project=project_id(session.api, session.project), fields=fields,
        )  # fmt: skip
    _made(session, version, size(version["size_bytes"]))


@dataset.command("pull")
def pull_dataset(
    context: typer.Context,
    name: DatasetName,
    to: Annotated[Path, typer.Option(help="The folder to write into.")] = Path(),
    number: Annotated[int, typer.Option("--version", help="By default the newest version.")] = 0,
) -> None:
    """Download the files of a dataset as they were uploaded."""
    session = session_of(context)
    row = _of(session, "datasets", name)
    version = row["latest_version"]
    if number:
        version = dataset_version(session.api, row, number)
    to.mkdir(parents=True, exist_ok=True)
    if version["n_files"] > len(version["files"]):
        version = session.api.get(f"/dataset-versions/{version['id']}")
    for file in version["files"]:
        path = to / Path(file["name"]).name
        session.api.download(f"/dataset-versions/{version['id']}/download", path, file=file["name"])
        if sha256_of(path) != file["sha256"]:
            remedy = "Pull it again."
            raise CommandError(f"{path} is not what the platform has.", remedy=remedy, code=CommandStatus.REFUSED)
        session.output.note(f"Written: {path} ({size(path.stat().st_size)}).")


@model.command("push")
def push_model(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A script, a package's folder, or a model of another framework.")],
    name: New = "",
    entry: Annotated[str, typer.Option(help="The script of a folder, such as src/train.py.")] = "",
) -> None:
    """Upload the code of a model, or a new version of one of that name, unless it has not changed."""
    session = session_of(context)
    project_of = project_id(session.api, session.project)
    if path.is_file() and path.suffix != ".py":
        with packing.packed(path) as file:
            called = (name or path.resolve().stem)[:100]
            version = uploads.uploaded(session, "models", file, name=called, project=project_of, fields={})
    else:
        code = packing.code(path, entry)
        version = uploads.uploaded_code(session, code, name=name or code.name, project=project_of)
    _made(session, version, version["kind"])


@model.command("pull")
def pull_model(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="A job that has trained, NAME, NAME:3 or NAME@ALIAS of a model, or a version's id.")
    ],
    to: Annotated[Path, typer.Option(help="The folder to write into.")] = Path(),
    what: Annotated[str, typer.Option(help="weights, package, metadata, or all.")] = "all",
) -> None:
    """Download what a job has trained: weights (safetensors), code and metadata."""
    session = session_of(context)
    version = _trained(session, name)
    to.mkdir(parents=True, exist_ok=True)
    endings = {"weights": "safetensors", "package": "zip", "metadata": "json"}
    offered = version["downloads"]
    for part in endings if what == "all" else [what]:
        if part not in endings:
            raise CommandError(f"--what is weights, package, metadata or all, not {part}.")
        if not offered.get(part) and what == "all":
            continue
        path = to / f"{part}.{endings[part]}"
        session.api.download(f"/model-versions/{version['id']}/download", path, what=part)
        session.output.note(f"Written: {path} ({size(path.stat().st_size)}).")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _trained(session: Session, name: str) -> dict[str, Any]:
    """The version that a job has trained, the version of that id, or of a model's name with :NUMBER or @ALIAS."""
    try:
        job = session.api.get(f"/jobs/{found(session.api, 'jobs', name)['id']}")
    except CommandError:
        version_id = name if is_id(name) else version_named(session, name)["id"]
        version: dict[str, Any] = session.api.get(f"/model-versions/{version_id}")
        return version
    if job["result_version"] is None:
        raise CommandError(f"{job['name']} has no trained model: its state is {job['state']}.")
    trained: dict[str, Any] = session.api.get(f"/model-versions/{job['result_version']}")
    return trained


def _of(session: Session, collection: str, name: str) -> dict[str, Any]:
    query = {"project": project_id(session.api, session.project)} if session.project else {}
    return found(session.api, collection, name, **query)


def _list(context: typer.Context, collection: str, columns: dict[str, Any], *, has_built_in: bool = False) -> None:
    """has_built_in: the collection also holds what every project may use; it comes after the project's own."""
    session = session_of(context)
    query: dict[str, Any] = {"project": project_id(session.api, session.project)} if session.project else {}
    rows = list(session.api.all(f"/{collection}", **query))
    if query and has_built_in:
        rows += session.api.all(f"/{collection}", builtin=True)
    session.output.rows(rows, columns)


def _made(session: Session, version: dict[str, Any], about: str) -> None:
    if session.output.form != "table":
        session.output.data(version)
    else:
        session.output.line(version["id"])
        session.output.note(f"Version {version['number']} is ready ({about}).")
