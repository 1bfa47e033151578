# SPDX-License-Identifier: Apache-2.0
"""Uploads of datasets and models: only what has changed, with a progress bar, until the platform accepts it."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import time
from pathlib import Path
from typing import Any, BinaryIO

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.output import size
from mlhub.cli.packing import Code, Packed, zipped
from mlhub.cli.session import Session
from mlhub.client.api import Refused
from mlhub.client.synchronous.resumable import FROM_BYTES, ResumableFile
from mlhub.wire.words import counted

POLL_S = 0.3
MOST_NAMED = 3  # of the files that are left out
COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    DownloadColumn(),
    TransferSpeedColumn(),
    TimeRemainingColumn(),
)


def uploaded(
    session: Session, collection: str, file: Packed, *, name: str, project: str, fields: dict[str, Any]
) -> dict[str, Any]:
    """The ready version of a dataset or model (collection "datasets" or "models") with this content and these fields.

    A version that this machine has uploaded before is used again. Raises CommandError when the platform refuses it.
    """
    key = _key(session.api.url, collection, project, name, file.digest, fields)
    known = _remembered().get(key)
    if known and (version := _still_there(session, collection, known)):
        session.output.note(f"{name} has not changed; version {version['number']} is used.")
        return version
    there = session.api.get(f"/{collection}", name=name, project=project, limit=1)["results"]
    path = f"/{collection}/{there[0]['id']}/versions" if there else f"/{collection}"
    new = {} if there else {"name": name, "project": project}
    made = _sent(session, path, file, {**new, **fields}, project=project)
    version = accepted(session, collection, (made if there else made["latest_version"])["id"])
    _remember(key, version["id"])
    return version


def uploaded_code(session: Session, code: Code, *, name: str, project: str, data: Path | None = None) -> dict[str, Any]:
    """The ready version of a model whose code this is. Says which files of a single script's folder stay here.

    data: what is uploaded as the dataset, which may lie in that folder.
    """
    of_data = data.resolve() if data is not None else None
    left = [path for path in code.left_out if of_data is None or not path.resolve().is_relative_to(of_data)]
    if left:
        named = [os.path.relpath(path) for path in left[:MOST_NAMED]] + ["..."] * (len(left) > MOST_NAMED)
        verb = "is" if len(left) == 1 else "are"
        session.output.note(
            f"{counted(len(left), 'file')} of the script's folder {verb} left out, as neither code nor text: "
            f"{', '.join(named)}. To send all of it, name the folder and --entry {code.entry}."
        )
    with zipped(code.files, f"{code.name}.zip") as file:
        fields = {"kind": code.kind, "entry": code.entry}
        version = uploaded(session, "models", file, name=name, project=project, fields=fields)
    if version["image"]:
        session.output.note(f"The code brings the image {version['image']}, for jobs that name none.")
    return version


def _sent(session: Session, path: str, file: Packed, fields: dict[str, Any], *, project: str) -> dict[str, Any]:
    with Progress(*COLUMNS, console=session.output.notes, transient=True) as progress, file.path.open("rb") as raw:
        if file.size_bytes >= FROM_BYTES:
            upload_id = _sent_in_pieces(session, file, raw, progress, project=project)
            return session.api.use_upload(path, upload_id, **fields)
        reader = progress.wrap_file(raw, total=file.size_bytes, description=f"Uploading {file.filename}")
        return session.api.upload(path, file.filename, reader, **fields)


def _sent_in_pieces(session: Session, file: Packed, raw: BinaryIO, progress: Progress, *, project: str) -> str:
    """The id of the upload, which goes on where an earlier run of this command was ended."""
    key = _key("upload", session.api.url, project, file.digest)
    task = progress.add_task(f"Uploading {file.filename}", total=file.size_bytes)
    sending = ResumableFile(
        raw,
        size_bytes=file.size_bytes,
        filename=file.filename,
        project=project,
        on_begun=lambda upload_id: _remember(key, upload_id),
        on_bytes=lambda n_bytes: progress.update(task, completed=n_bytes),
    )
    return sending.send(session.api.transport, _remembered().get(key, ""))


def accepted(session: Session, collection: str, pk: str) -> dict[str, Any]:
    """Waits until a version is fetched and inspected, with its packages built. Raises CommandError when it is refused,
    or needs a choice of columns."""
    progress = InspectionProgress(session)
    with session.output.notes.status("The platform inspects it ...") as status:
        while True:
            version: dict[str, Any] = session.api.get(_version_path(collection, pk))
            progress.show(version)
            if version["state"] not in ("fetching", "inspecting"):
                break
            status.update(_under_way(version))
            time.sleep(POLL_S)
    if version["state"] == "ready":
        return version
    error, remedy = version["error"], version["error"].get("remedy") or ""
    if version["state"] == "needs_columns":
        name = shlex.quote(version["dataset"]["name"])
        options = "--target COLUMN --ignore COLUMN"
        if "number format" in remedy:
            options = f"--numbers {shlex.quote(error['field'])}=comma"
        remedy = f"{remedy}\nThe file is kept: mlhub dataset columns {name} {options}"
    raise CommandError(error["message"], remedy=remedy, code=CommandStatus.REFUSED)


class InspectionProgress:
    """Lines about a version that is not ready yet: in a pipe what is done; everywhere the log of its packages' build,
    and why the platform tries it again.

    A terminal has a line that changes for the first.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._phase = self._log = self._problem = ""
        self._state = ""  # of the environment

    def show(self, version: dict[str, Any]) -> None:
        environment = version.get("environment")
        if self._state == "building" and environment is not None:
            self._show_log(environment)  # before what follows the build
        phase, before = _phase(version), self._phase
        self._phase = phase
        if phase and phase != before and not self._session.output.notes.is_terminal:
            self._session.output.note(phase)
        self._show_problem((version.get("queue") or {}).get("problem", ""))
        if environment is None or environment["state"] == self._state:
            return
        if environment["state"] == "building":
            self._show_log(environment)
        elif environment["state"] == "ready":
            stored = f" ({size(environment['size_bytes'])})" if environment["size_bytes"] else ""
            self._session.output.note(f"The packages of {environment['origin']} are built{stored}.")
        self._state = environment["state"]

    def _show_problem(self, problem: str) -> None:
        """Why it takes longer: the platform failed, and tries again. Ctrl-C leaves the version waiting."""
        if problem and problem != self._problem:
            self._session.output.note(f"It is tried again, since the platform could not do it: {problem}")
        self._problem = problem or self._problem

    def _show_log(self, environment: dict[str, Any]) -> None:
        """Its new lines; of a build that goes on the last one may not be whole yet. A build may begin anew."""
        log = self._session.api.get(f"/environments/{environment['id']}/log")["log"]
        if not log.startswith(self._log):
            self._log = ""
        whole = log[: log.rfind("\n") + 1] if environment["state"] == "building" else log
        for line in whole[len(self._log) :].splitlines():
            self._session.output.note(f"  {line.rstrip()}")
        self._log = whole or self._log


def _phase(version: dict[str, Any]) -> str:
    """What the platform does with a version; "" when it is done."""
    environment = version.get("environment")
    if version["state"] == "inspecting" and environment is not None and environment["state"] == "building":
        return f"The platform builds the packages of {environment['origin']} ..."
    return {"inspecting": "The platform inspects it ...", "fetching": "The platform fetches it ..."}.get(
        version["state"], ""
    )


def _under_way(version: dict[str, Any]) -> str:
    if version["state"] != "fetching":
        return _phase(version)
    progress = version["source"]["progress"] or {}
    total = progress.get("total_bytes")
    of = f" of {size(total)}" if total is not None else ""
    return f"The platform fetches it: {size(progress.get('fetched_bytes', 0))}{of} ..."


def _still_there(session: Session, collection: str, pk: str) -> dict[str, Any] | None:
    try:
        version: dict[str, Any] = session.api.get(_version_path(collection, pk))
    except Refused:
        return None
    return version if version["state"] == "ready" else None


def _version_path(collection: str, pk: str) -> str:
    return f"/{collection.rstrip('s')}-versions/{pk}"


def _key(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _memory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mlhub" / "uploads.json"


def _remembered() -> dict[str, str]:
    try:
        found = json.loads(_memory().read_text())
    except (OSError, ValueError):
        return {}  # a cache: what is unreadable is uploaded again
    return found if isinstance(found, dict) else {}


def _remember(key: str, pk: str) -> None:
    path = _memory()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps({**_remembered(), key: pk}))
    part.replace(path)
