# SPDX-License-Identifier: Apache-2.0
"""Brings a pod's inputs: files of this machine are used where they are, others are fetched and checked."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlparse

from mlhub.runtime.launcher.ingest_api import IngestApi, IngestUnavailableError, RefusedError
from mlhub.wire.launch import Input

N_TRIES = 6


class InputUnavailableError(Exception):
    """An input could not be had, or does not match its hash."""


def bring(inputs: tuple[Input, ...], *, api: IngestApi, folder: Path) -> dict[str, Path]:
    """Paths by name. Raises InputUnavailableError, FencedError."""
    folder.mkdir(parents=True, exist_ok=True)
    return {item.name: _bring(item, api, folder / item.sha256) for item in inputs}


def _bring(item: Input, api: IngestApi, target: Path) -> Path:
    address = urlparse(item.uri)
    if address.scheme == "file":
        path = Path(unquote(address.path))
        if not path.is_file() or path.stat().st_size != item.size_bytes:
            raise InputUnavailableError(f"{item.name}: {path} is not there, or does not have {item.size_bytes} bytes.")
        return path
    return fetch_checked(item, fetch=api.fetch, target=target)


def fetch_checked(item: Input, *, fetch: Callable[[str, Path], None], target: Path) -> Path:
    """Fetches the input and compares its hash. Raises InputUnavailableError, FencedError."""
    _fetch(item, fetch, target)
    with target.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != item.sha256:
        raise InputUnavailableError(f"{item.name}: what was fetched has the hash {found}, not {item.sha256}.")
    return target


def _fetch(item: Input, fetch: Callable[[str, Path], None], target: Path) -> None:
    for n_try in range(N_TRIES):
        try:
            if target.exists() and target.stat().st_size > item.size_bytes:
                target.unlink()
            if not target.exists() or target.stat().st_size < item.size_bytes:
                fetch(item.uri, target)
            return
        except IngestUnavailableError as error:
            if n_try == N_TRIES - 1:
                raise InputUnavailableError(f"{item.name} could not be fetched: {error}") from error
            time.sleep(2.0**n_try / 2)
        except RefusedError as error:
            raise InputUnavailableError(f"{item.name} could not be fetched: {error}") from error
