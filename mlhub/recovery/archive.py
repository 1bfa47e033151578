# SPDX-License-Identifier: Apache-2.0
"""The file of a backup: a tar whose last member is a manifest with the size and SHA-256 of every other one.

A file without its manifest was cut short, and is refused. While it is written it has another name, and mode 0600
throughout: it contains the platform's keys.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO

MANIFEST, DATABASE, KEYS = "manifest.json", "database.dump", "keys.json"
FORMAT = 1
BLOB = re.compile(r"blobs/([0-9a-f]{64})")
CHECKPOINT = re.compile(r"checkpoints/([0-9a-f-]{36})/([\w.-]+)/([\w.-]+)")
_CHUNK = 2**20


class BackupError(Exception):
    """The backup cannot be made or used; the message names the reason and the remedy."""


@dataclass(frozen=True)
class Member:
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """tables: rows of each table in the dump. at: the moment that it shows, ISO 8601.

    lost: SHA-256 of blobs that the database names and whose bytes the store no longer had, or had damaged.
    """

    at: str
    version: str
    epoch: int
    tables: Mapping[str, int]
    lost: Sequence[str] = ()
    members: Mapping[str, Member] = field(default_factory=dict)
    format: int = FORMAT

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Raises BackupError for a form that this version does not read."""
        raw = json.loads(text)
        if isinstance(raw, dict) and raw.get("format") != FORMAT:
            raise BackupError(f"The backup has the form {raw.get('format')}; this MLHub reads {FORMAT}. Upgrade it.")
        try:
            return cls(**{**raw, "members": {name: Member(**member) for name, member in raw["members"].items()}})
        except (AttributeError, KeyError, TypeError) as error:
            raise BackupError(f"The backup's manifest is damaged: {error}. Use another backup.") from error


class _Hashed(io.RawIOBase):
    """A stream that is hashed as it is read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._hash = stream, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size)
        self._hash.update(chunk)
        return chunk

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


class BackupWriter:
    """Adds members one after the other. Use writing(), which publishes the file once it is complete."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115 (closed by finish)
        self.members: dict[str, Member] = {}

    def add(self, name: str, stream: IO[bytes], *, size_bytes: int) -> None:
        """Raises BackupError when the stream ends early."""
        hashed, info = _Hashed(stream), tarfile.TarInfo(name)
        info.size, info.mode = size_bytes, 0o600
        try:
            self._tar.addfile(info, hashed)
        except (OSError, tarfile.TarError) as error:
            raise BackupError(
                f"{name} could not be written to the backup: {error}. Make room and repeat it."
            ) from error
        self.members[name] = Member(size_bytes, hashed.hexdigest())

    def add_file(self, name: str, file: IO[bytes]) -> None:
        size_bytes = os.fstat(file.fileno()).st_size
        file.seek(0)
        self.add(name, file, size_bytes=size_bytes)

    def add_json(self, name: str, value: object) -> None:
        content = json.dumps(value, indent=1).encode()
        self.add(name, io.BytesIO(content), size_bytes=len(content))

    def finish(self, manifest: Manifest) -> Manifest:
        """Writes the manifest, which completes the backup. Returns it with the members."""
        whole = replace(manifest, members=dict(self.members))
        self.add_json(MANIFEST, asdict(whole))
        self._tar.close()
        return whole


@contextmanager
def writing(target: Path) -> Iterator[BackupWriter]:
    """A backup that has its name only once the block has ended and all bytes are on the disk."""
    partial = target.with_name(f".{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield BackupWriter(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
        _sync(target.parent)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def reading(path: Path) -> Iterator[BackupReader]:
    """Raises BackupError when it is no complete backup."""
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise BackupError(f"There is no file {path}.") from error
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        with file, tarfile.open(fileobj=file, mode="r:") as tar:
            yield BackupReader(tar)
    except (tarfile.TarError, ValueError) as error:
        raise BackupError(f"{path} is no backup, or it is damaged: {error}. Use another one.") from error


class BackupReader:
    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._infos = {info.name: info for info in tar.getmembers()}
        if MANIFEST not in self._infos:
            raise BackupError("The backup has no manifest: it was cut short while it was written. Use another one.")
        with self.open(MANIFEST) as file:
            self.manifest = Manifest.from_json(file.read().decode())
        missing = set(self.manifest.members) - set(self._infos)
        if missing:
            raise BackupError(f"The backup lacks {', '.join(sorted(missing)[:3])}. Use another one.")

    def open(self, name: str) -> IO[bytes]:
        found = self._tar.extractfile(self._infos[name]) if name in self._infos else None
        if found is None:
            raise BackupError(f"The backup has no {name}. Use another one.")
        return found

    def blobs(self) -> list[str]:
        """The SHA-256 of each blob in it."""
        return [match[1] for name in self.manifest.members if (match := BLOB.fullmatch(name))]

    def checkpoints(self) -> list[tuple[str, str, str, str]]:
        """Of each file of a checkpoint: its member, job, folder and name. None of them leaves the job's folder."""
        matches = [match for name in self.manifest.members if (match := CHECKPOINT.fullmatch(name))]
        return [(m[0], m[1], m[2], m[3]) for m in matches if {m[2], m[3]}.isdisjoint({".", ".."})]

    def keys(self) -> dict[str, str]:
        with self.open(KEYS) as file:
            found: dict[str, str] = json.loads(file.read())
        return found

    def check(self) -> None:
        """Reads all of it. Raises BackupError for the first member whose bytes are not those that were written."""
        for name, member in self.manifest.members.items():
            with self.open(name) as stream:
                hashed = _Hashed(stream)
                n_read = 0
                while chunk := hashed.read(_CHUNK):
                    n_read += len(chunk)
            blob = BLOB.fullmatch(name)
            names_it = blob is None or blob[1] == member.sha256
            if not names_it or (n_read, hashed.hexdigest()) != (member.size_bytes, member.sha256):
                raise BackupError(f"{name} is damaged: its bytes have another hash. Use another backup.")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
