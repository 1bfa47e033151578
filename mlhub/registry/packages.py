# SPDX-License-Identifier: Apache-2.0
"""The form of uploaded code: a zip, or one file (of Python, or a model made elsewhere), which becomes a zip; and what
its entry is called."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from mlhub.core.errors import InvalidInputError
from mlhub.registry.models import Kind
from mlhub.runtime.model.file_signatures import HEAD_BYTES, kind_of_head
from mlhub.storage.stores import CHUNK_BYTES, IncomingBytes, StagedBytes

MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest date a zip can carry
MAX_SOURCE_BYTES = 4 * 2**20
IMPORTED = "ONNX (.onnx), Keras (.keras, .h5), Torch7 (.t7), or a zip with Caffe's .prototxt and .caffemodel"


def as_zip(staging: StagedBytes, into: IncomingBytes, *, filename: str) -> StagedBytes:
    """The staging that holds a zip: the upload itself, or `into` with the upload's one Python file inside.

    The same file gives the same zip, byte for byte. Raises InvalidInputError when the upload is neither.
    """
    staging.finish()
    if is_zip(filename, staging):
        return staging
    if is_made_elsewhere(filename, staging):
        _store(staging, into, name=Path(filename).name)
        return into
    if Path(filename).suffix != ".py":
        raise InvalidInputError(
            f"{filename} is neither a zip nor a Python file, nor a model that is known by its content.",
            field="file",
            remedy=f"Send a zip of the package's files, a single .py file, or a model made elsewhere: {IMPORTED}.",
        )
    if staging.size_bytes > MAX_SOURCE_BYTES:
        raise InvalidInputError(
            f"{filename} has {staging.size_bytes:,} bytes; a single file may have {MAX_SOURCE_BYTES:,}.",
            field="file",
            remedy="Send code only, as a zip when it is several files.",
        )
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive, staging.open() as source:
        archive.writestr(zipfile.ZipInfo(Path(filename).name, EPOCH), source.read())
    into.write(zipped.getvalue())
    return into


def is_made_elsewhere(filename: str, staging: StagedBytes) -> bool:
    """By its first bytes, which is all that is looked at here: the sandbox reads it."""
    if Path(filename).suffix == ".py":
        return False
    with staging.open() as file:
        return kind_of_head(file.read(HEAD_BYTES), size_bytes=staging.size_bytes) is not None


class _Sink:
    """What zipfile needs of a file that it cannot seek in."""

    def __init__(self, into: IncomingBytes) -> None:
        self._into = into

    def write(self, piece: bytes) -> int:
        self._into.write(piece)
        return len(piece)

    def flush(self) -> None:
        """Nothing is held back."""


def _store(staging: StagedBytes, into: IncomingBytes, *, name: str) -> None:
    """A zip with the file, not packed: weights hardly pack."""
    info = zipfile.ZipInfo(name, EPOCH)
    with (
        staging.open() as source,
        zipfile.ZipFile(_Sink(into), "w") as archive,  # type: ignore[call-overload]
        archive.open(info, "w", force_zip64=True) as member,
    ):
        shutil.copyfileobj(source, member, CHUNK_BYTES)


def is_zip(filename: str, staging: StagedBytes) -> bool:
    """Decides by its name or its first bytes; only validation proves that the zip is sound."""
    if Path(filename).suffix.lower() == ".zip":
        return True
    with staging.open() as file:
        return file.read(4) == b"PK\x03\x04"


def kind_of(given: str | None, entry: str | None, *, is_code: bool) -> tuple[Kind, bool]:
    """What uploaded code is said to be, by its kind or its entry, and whether that is still to be found out.

    is_code: or it is a model made elsewhere.
    """
    if given is not None:
        return Kind(given), False
    if entry is not None and entry.endswith(".py"):
        return Kind.SCRIPT, False
    return Kind.PACKAGE, is_code and entry is None


def entry_of(given: str | None, *, kind: Kind, filename: str, is_single_file: bool, is_code: bool = True) -> str:
    """The module of a package or the path of a script; by default `model`, or the single file.

    is_code: or it is a model made elsewhere, which has no module; its entry is `model`.
    Raises InvalidInputError for one that cannot name a module or a file inside the zip, and for a built-in's kind.
    """
    if kind in (Kind.BUILTIN, Kind.MLFLOW):
        raise InvalidInputError(
            f"Code is not uploaded as {kind}.", field="kind", remedy="Upload a package or a script."
        )
    name = PurePosixPath(Path(filename).name)
    if not is_code and kind is Kind.SCRIPT:
        raise InvalidInputError(
            f"{filename} is a model, not a script.", field="kind", remedy="Send it as a package, or without a kind."
        )
    if not is_code:
        return "model"
    if kind is Kind.SCRIPT:
        entry = given or (str(name) if is_single_file else "")
        parts = PurePosixPath(entry).parts
        if not entry.endswith(".py") or entry.startswith("/") or "\\" in entry or ".." in parts:
            raise InvalidInputError(
                f"The entry of a script is {entry!r}." if entry else "A zip of a script needs its entry.",
                field="entry",
                remedy="Give the path of the script inside the zip, such as train.py.",
            )
        return entry
    entry = given or (name.stem if is_single_file else "model")
    if not MODULE.fullmatch(entry) and given is None:
        raise InvalidInputError(
            f"{name} cannot be imported: {entry!r} is not the name of a Python module.",
            field="file",
            remedy="Rename the file, for example to model.py.",
        )
    if not MODULE.fullmatch(entry):
        raise InvalidInputError(
            f"The entry {entry!r} is not the name of a Python module.",
            field="entry",
            remedy="Give the module that defines build_model, such as model for model.py.",
        )
    return entry
