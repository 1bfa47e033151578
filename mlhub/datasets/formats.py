"""Guessing a file's format from its name, or from its first bytes. Only inspection says whether the file is sound."""

from __future__ import annotations

from pathlib import Path

from mlhub.core.errors import InvalidInputError
from mlhub.datasets.models import Format

BY_SUFFIX = {
    ".npz": Format.NPZ,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".zip": Format.IMAGE_FOLDER,
    ".txt": Format.TEXT,
    ".text": Format.TEXT,
}
BY_FIRST_BYTES = {b"PAR1": Format.PARQUET, b"PK\x03\x04": Format.IMAGE_FOLDER}
TAKES = {
    "target": (Format.CSV, Format.PARQUET),
    "targets": (Format.CSV, Format.PARQUET, Format.NPZ, Format.IMAGE_FOLDER),
} | dict.fromkeys(("tokenizer", "vocabulary_size", "context_length", "documents"), (Format.TEXT,))


def guess(filename: str, path: Path) -> Format:
    """Raises InvalidInputError when neither name nor content tells."""
    by_name = BY_SUFFIX.get(Path(filename).suffix.lower())
    if by_name is not None:
        return by_name
    with path.open("rb") as file:
        by_content = BY_FIRST_BYTES.get(file.read(4))
    if by_content is None:
        raise InvalidInputError(
            f"Neither the name {filename} nor the first bytes tell the format.",
            field="format",
            remedy=f"Give the format: {', '.join(Format.values)}.",
        )
    return by_content
