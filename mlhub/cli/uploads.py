# SPDX-License-Identifier: Apache-2.0
"""Uploads of datasets and models: only what has changed, with a progress bar, until the platform accepts it."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.packing import Packed
from mlhub.cli.session import Session
from mlhub.client.api import Refused

POLL_S = 0.3


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
    made = _sent(session, path, file, {**new, **fields})
    version = _accepted(session, collection, (made if there else made["latest_version"])["id"])
    _remember(key, version["id"])
    return version


def _sent(session: Session, path: str, file: Packed, fields: dict[str, Any]) -> dict[str, Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=session.output.notes, transient=True) as progress, file.path.open("rb") as raw:
        reader = progress.wrap_file(raw, total=file.size_bytes, description=f"Uploading {file.filename}")
        return session.api.upload(path, file.filename, reader, **fields)


def _accepted(session: Session, collection: str, pk: str) -> dict[str, Any]:
    """Waits for the inspection of a version."""
    with session.output.notes.status("The platform inspects it ..."):
        while True:
            version: dict[str, Any] = session.api.get(_version_path(collection, pk))
            if version["state"] in ("ready", "refused"):
                break
            time.sleep(POLL_S)
    if version["state"] == "refused":
        error = version["error"]
        raise CommandError(error["message"], remedy=error.get("remedy") or "", code=CommandStatus.REFUSED)
    return version


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
