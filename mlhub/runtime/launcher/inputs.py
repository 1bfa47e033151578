# SPDX-License-Identifier: Apache-2.0
"""Brings a pod's inputs: files of this machine are used where they are, others are fetched and checked.

What was fetched stays in the cache of the machine, where jobs of the same project find it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.launcher.ingest_api import IngestApi, IngestUnavailableError, RefusedError
from mlhub.wire.launch import Input

N_TRIES = 6
BROUGHT = "brought.json"  # next to a pod's specification: what was brought before its main process started


class InputUnavailableError(Exception):
    """An input could not be had, or does not match its hash."""


@dataclass(frozen=True)
class BroughtInput:
    """An input that was not read in place. is_found: in the cache of this machine; else it was fetched.

    seconds: until it was there, with the wait for another pod that was fetching it.
    """

    sha256: str
    is_found: bool
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {"sha256": self.sha256, "is_found": self.is_found, "seconds": round(self.seconds, 3)}


def bring_cached(
    inputs: Sequence[Input], *, api: IngestApi, cache: NodeCache, folder: Path
) -> tuple[dict[str, Path], list[BroughtInput]]:
    """Paths by name, and what became of those that are no files of this machine. folder: of the pod's own.

    Entries stay while the cache is open. Raises InputUnavailableError, FencedError, OSError.
    """
    paths: dict[str, Path] = {}
    brought: dict[str, BroughtInput] = {}
    for item in inputs:
        if urlparse(item.uri).scheme == "file":
            paths[item.name] = _bring(item, api, folder / item.sha256)
            continue
        paths[item.name], found = _cached(item, api=api, cache=cache, folder=folder)
        brought.setdefault(item.sha256, found)
    return paths, list(brought.values())


def _cached(item: Input, *, api: IngestApi, cache: NodeCache, folder: Path) -> tuple[Path, BroughtInput]:
    """The file in the cache was checked before it was given its name, and no program may write to it by mistake."""
    began, is_fetched = time.monotonic(), False

    def fetch(entry: Path) -> None:
        nonlocal is_fetched
        is_fetched = True
        fetch_checked(item, fetch=api.fetch, target=entry / item.sha256).chmod(0o444)

    path = _found(item, cache, fetch)
    if path is None:  # something else wrote to the cache
        folder.mkdir(parents=True, exist_ok=True)
        path, is_fetched = fetch_checked(item, fetch=api.fetch, target=folder / item.sha256), True
    return path, BroughtInput(item.sha256, not is_fetched, time.monotonic() - began)


def _found(item: Input, cache: NodeCache, fetch: Callable[[Path], None]) -> Path | None:
    """The file in the cache, which may have been fetched into it; None when the cache cannot hold it."""
    try:
        path = cache.get(f"{item.sha256}.input", fetch) / item.sha256
        is_whole = path.is_file() and not path.is_symlink() and path.stat().st_size == item.size_bytes
    except OSError:
        return None
    return path if is_whole else None


def brought_before(spec_path: Path) -> list[BroughtInput]:
    """What was brought for the pod by a process before this one; none where that wrote nothing down."""
    with suppress(OSError, ValueError, TypeError):
        return [BroughtInput(**one) for one in json.loads(spec_path.with_name(BROUGHT).read_text())]
    return []


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
