# SPDX-License-Identifier: Apache-2.0
"""mlhub dataset rm, mlhub model rm, mlhub rm: what is deleted for good, after a question."""

from __future__ import annotations

from typing import Annotated

import typer

from mlhub.cli.commands.completion import names_of
from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.failures import CommandError
from mlhub.cli.model_names import model_named, parts_of, version_of
from mlhub.cli.names import dataset_version, found, project_id
from mlhub.cli.output import size
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import short_id
from mlhub.wire.words import counted


def remove_dataset(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or id of a dataset.", autocompletion=names_of("datasets"))],
    version: Annotated[int, typer.Option(min=0, help="Only the version of this number.")] = 0,
    yes: Yes = False,
) -> None:
    """Delete a dataset with all its versions, or one version; refused while jobs use it."""
    session = session_of(context)
    row = found(session.api, "datasets", name, **_project(session))
    place = row["project"]["name"]
    if version:
        one = dataset_version(session.api, row, version)
        require_yes(f"Delete version {version} of {row['name']} ({place}) for good?", yes=yes)
        session.api.delete(f"/dataset-versions/{one['id']}")
        session.output.note(f"Deleted: version {version} of {row['name']}.")
        return
    require_yes(f"Delete the dataset {row['name']} ({place}) with all its versions for good?", yes=yes)
    session.api.delete(f"/datasets/{row['id']}")
    session.output.note(f"Deleted: {row['name']}.")


def remove_model(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            help="Name or id of a model; with :NUMBER or @ALIAS only that version.", autocompletion=names_of("models")
        ),
    ],
    yes: Yes = False,
) -> None:
    """Delete a model with all its versions, or one version; refused while jobs or trained models use it."""
    session = session_of(context)
    called, alias, number = parts_of(name)
    row = model_named(session, called)
    if row["project"] is None:
        raise CommandError(f"{row['name']} is one of MLHub's own models.", remedy="Name a model of a project.")
    if alias or number:
        one = version_of(session, row, alias=alias, number=number)
        written = f"version {one['number']} of {row['name']}"
        require_yes(f"Delete {written} ({row['project']['name']}) for good?", yes=yes)
        session.api.delete(f"/model-versions/{one['id']}")
        session.output.note(f"Deleted: {written}.")
        return
    require_yes(f"Delete the model {row['name']} ({row['project']['name']}) with all its versions for good?", yes=yes)
    session.api.delete(f"/models/{row['id']}")
    session.output.note(f"Deleted: {row['name']}.")


def rm(
    context: typer.Context,
    jobs: Annotated[list[str], typer.Argument(help="Names or ids of jobs that have ended.")],
    yes: Yes = False,
) -> None:
    """Delete jobs for good, with curves, logs, predictions and checkpoints; models that they trained stay."""
    session = session_of(context)
    chosen = [found(session.api, "jobs", name) for name in jobs]
    for job in chosen:
        goes = session.api.get(f"/jobs/{job['id']}/deletion")
        if goes["refusal"]:
            raise CommandError(goes["refusal"], remedy=goes["remedy"])
        stored = (goes["checkpoint_bytes"] or 0) + goes["result_bytes"]
        goes_with_it = f"{counted(goes['n_attempts'], 'attempt')}, {size(stored)}"
        session.output.note(f"{job['name']} ({short_id(job)}): {goes_with_it}.")
    require_yes("Delete it for good?" if len(chosen) == 1 else f"Delete these {len(chosen)} jobs for good?", yes=yes)
    for job in chosen:
        session.api.delete(f"/jobs/{job['id']}")
        session.output.note(f"Deleted: {job['name']}.")


def _project(session: Session) -> dict[str, str]:
    return {"project": project_id(session.api, session.project)} if session.project else {}
