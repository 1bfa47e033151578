# SPDX-License-Identifier: Apache-2.0
"""The zip of an exported model, made piece by piece while it is sent, so that weights of any size need no memory."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from typing import IO

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.registry.export import description
from mlhub.registry.export.source_code import IMPORTS_MLHUB, builtin_source, command_files, program_files
from mlhub.registry.models import Kind, ModelVersion
from mlhub.registry.trained_on import inputs_read_by
from mlhub.runtime.data.archives import open_archive
from mlhub.runtime.prediction.schema_compatibility import TrainedSchema
from mlhub.storage.models import Blob
from mlhub.storage.stores import CHUNK_BYTES, blob_store

EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest date a zip can carry
MAX_SOURCE_BYTES = 4 * 2**20  # of a Python file that is looked through
SEARCHED_BYTES = 64 * 2**20  # of all of them
LITTER = re.compile(r"(^|/)(__MACOSX|__pycache__)(/|$)|\.pyc$")


@dataclass(frozen=True)
class ModelFolder:
    """texts: the content of small files by name. package: the zip of the model's code, of an uploaded model."""

    name: str
    texts: dict[str, str]
    weights: Blob
    package: Blob | None


def model_folder(version: ModelVersion) -> ModelFolder:
    """What the export of a version holds. version: with model, code_version with environment, dataset_version.

    Raises InvalidInputError or ConflictError for a version that cannot be exported, with the reason.
    """
    (weights, trained_on), code = check_exportable(version), version.code_version or version
    about = description.preprocessing(trained_on.format, trained_on.schema)
    texts = {
        **command_files(),
        "README.md": description.readme(version, about),
        "requirements.txt": "".join(f"{line}\n" for line in description.requirements(version, about)),
        "requirements-onnx.txt": "".join(f"{line}\n" for line in description.ONNX),
        "model.json": _json(description.model_description(version)),
        "preprocessing.json": _json(about),
        **{f"exported_model/{name}": source for name, source in program_files().items()},
    }
    if code.kind == Kind.BUILTIN:
        texts[f"code/{code.entry}.py"] = builtin_source(code.entry)
    name = re.sub(r"[^\w.-]+", "-", version.model.name).strip(".-") or "model"
    return ModelFolder(f"{name}-{version.number}", texts, weights, code.package)


def check_bytes(folder: ModelFolder) -> None:
    """Raises FileNotFoundError when the store has lost them: before the answer begins, which cannot be taken back."""
    for blob in (folder.weights, folder.package):
        if blob is not None:
            blob_store().open(blob.sha256).close()


def zipped(folder: ModelFolder) -> Iterator[bytes]:
    """Yields the zip of the folder in pieces. Raises OSError when the bytes of a file are gone."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as archive:  # type: ignore[call-overload]
        for name, text in folder.texts.items():
            archive.writestr(zipfile.ZipInfo(f"{folder.name}/{name}", EPOCH), text)
        yield sink.taken()
        with ExitStack() as stack:
            for name, file in _files(folder, stack):
                yield from _stored(archive, sink, f"{folder.name}/{name}", file)
    yield sink.taken()


def _files(folder: ModelFolder, stack: ExitStack) -> Iterator[tuple[str, IO[bytes]]]:
    """The large files: the code of a package, then the weights."""
    if folder.package is not None:
        package = stack.enter_context(open_archive(stack.enter_context(blob_store().local_file(folder.package.sha256))))
        for info in package.infolist():
            if not info.is_dir() and not LITTER.search(info.filename):
                with package.open(info) as file:
                    yield f"code/{info.filename}", file
    with blob_store().open(folder.weights.sha256) as weights:
        yield "weights.safetensors", weights


def _stored(archive: zipfile.ZipFile, sink: _Sink, name: str, file: IO[bytes]) -> Iterator[bytes]:
    """Adds a file without compression, which weights hardly gain from."""
    with archive.open(zipfile.ZipInfo(name, EPOCH), "w", force_zip64=True) as member:
        while piece := file.read(CHUNK_BYTES):
            member.write(piece)
            yield sink.taken()


def check_exportable(version: ModelVersion) -> tuple[Blob, TrainedSchema]:
    """The weights, and how inputs are read. Raises InvalidInputError, ConflictError with the reason."""
    code, trained_on = version.code_version or version, inputs_read_by(version)
    weights: Blob | None = version.weights
    if weights is None:
        raise InvalidInputError(
            f"Version {version.number} of {version.model.name} has no weights: it is code.",
            code="not_exportable",
            remedy="Train it, and name the version that the job made.",
        )
    if code.kind == Kind.SCRIPT:
        raise InvalidInputError(
            f"{version.model.name} is a script: nothing says how its model is built from the weights.",
            code="not_exportable",
            remedy="Bring the model as a package with build_model, or download its weights.",
        )
    if trained_on is None:
        raise ConflictError(
            f"Nothing says how inputs of {version.model.name} are read: it was trained without a dataset, or by an "
            "earlier version of MLHub on one that is deleted.",
            code="not_exportable",
            remedy="Train the model again on a dataset, and take the new version.",
        )
    if code.kind != Kind.BUILTIN:
        _check_package(code)
    return weights, trained_on


def _check_package(code: ModelVersion) -> None:
    """Refuses code that runs on MLHub only. Raises ConflictError, InvalidInputError."""
    if code.package is None:
        raise ConflictError("The code of this version is gone.", code="not_exportable", remedy="Train it again.")
    sources = _sources_of(code.package.sha256)
    if sources.importing:
        raise InvalidInputError(
            f"{sources.importing} imports mlhub, which is not there elsewhere.",
            code="not_exportable",
            remedy="Leave that import out of the package, upload it as a new version, and train that.",
        )
    if not sources.n_files:
        raise InvalidInputError(
            "The model was imported from a file of another framework; its layers are built by MLHub's importer.",
            code="not_exportable",
            remedy="Download its weights, or predict on the platform with a prediction job.",
        )


@dataclass(frozen=True)
class _Sources:
    """importing: the first Python file that imports mlhub; "" for none."""

    n_files: int
    importing: str


@lru_cache(maxsize=1024)
def _sources_of(sha256: str) -> _Sources:
    """Of a package, whose content never changes. Code is looked through up to SEARCHED_BYTES of it in all."""
    n_files, left = 0, SEARCHED_BYTES
    with blob_store().local_file(sha256) as path, open_archive(path) as package:
        for info in package.infolist():
            if not info.filename.endswith(".py") or LITTER.search(info.filename):
                continue
            n_files += 1
            if info.file_size > min(MAX_SOURCE_BYTES, left):
                continue
            left -= info.file_size
            if IMPORTS_MLHUB.search(package.read(info).decode(errors="replace")):
                return _Sources(n_files, info.filename)
    return _Sources(n_files, "")


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


class _Sink:
    """What zipfile writes to: it keeps what was written until it is taken, and cannot be sought in."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def write(self, piece: bytes) -> int:
        self._kept += piece
        return len(piece)

    def flush(self) -> None:
        """Nothing is held back."""

    def taken(self) -> bytes:
        """What was written since the last call."""
        found = bytes(self._kept)
        self._kept.clear()
        return found
