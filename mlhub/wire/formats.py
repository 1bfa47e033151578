# SPDX-License-Identifier: Apache-2.0
"""The formats in which datasets come. To add one: a line here, its reader, a test; the dashboard fails to compile until
it names the format. Standard library only: the server validates uploads by it, pods open files by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TABLE_OPTIONS = ("target", "targets", "ignore", "types", "missing")
CSV_OPTIONS = (*TABLE_OPTIONS, "numbers")  # the format of numbers by column; other tables store them as numbers
# as which a table's column may be used; split: not learned from
COLUMN_TYPES = ("number", "category", "date", "text", "split")
MISSING_TREATMENTS = ("indicator", "fill", "drop")  # of values that are missing in a column; the first is the default
TOKEN_OPTIONS = ("tokenizer", "vocabulary_size", "context_length")
AUDIO_OPTIONS = ("sample_rate", "clip_s")
AUDIO_SUFFIXES = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3")  # of the clips in an archive
TEXT_OPTIONS = (*TOKEN_OPTIONS, "documents")

FILES_TASK = "files"  # of a schema: only code that reads files by itself can use the dataset

TEXT_FIELDS = {"text", "label", "class", "target", "y", "split"}  # a file of JSON lines with no others is of texts


@dataclass(frozen=True)
class DatasetFormat:
    """reader: "module:attribute" below mlhub.runtime.data.readers. suffixes, first_bytes: what a file is recognised by.
    options: fields of an upload that this format takes."""

    title: str
    reader: str
    suffixes: tuple[str, ...]
    first_bytes: bytes = b""
    options: tuple[str, ...] = ()


FORMATS: Mapping[str, DatasetFormat] = {
    "npz": DatasetFormat("NumPy arrays", "npz:READER", (".npz",), options=("targets",)),
    "csv": DatasetFormat("CSV table", "tables.reader:CSV", (".csv",), options=CSV_OPTIONS),
    "parquet": DatasetFormat("Parquet table", "tables.reader:PARQUET", (".parquet", ".pq"), b"PAR1", TABLE_OPTIONS),
    "json_lines": DatasetFormat("JSON lines", "tables.reader:JSON_LINES", (".jsonl", ".ndjson"), options=TABLE_OPTIONS),
    "image_folder": DatasetFormat(
        "Images in folders", "image_folder:READER", (".zip",), b"PK\x03\x04", options=("targets", "image_size")
    ),
    "webdataset": DatasetFormat(
        "WebDataset shards", "webdataset:READER", (".tar",), options=("target", "targets", "image_size")
    ),
    "audio_folder": DatasetFormat(
        "Audio in folders", "audio.reader:READER", (), options=("target", "targets", *AUDIO_OPTIONS)
    ),
    "text": DatasetFormat("Text", "text:READER", (".txt", ".text"), options=TEXT_OPTIONS),
    "text_lines": DatasetFormat(
        "Texts in JSON lines", "text_lines:READER", (), options=("text_column", "target", "targets", *TOKEN_OPTIONS)
    ),
    "files": DatasetFormat("Files of any kind", "files:READER", ()),
}
SHARDED = (
    "webdataset",
    "parquet",
    "audio_folder",
    "files",
)  # whose versions may be of many files, read together as one dataset
TABLES = tuple(name for name, form in FORMATS.items() if "ignore" in form.options)  # rows of named columns
PICTURES = tuple(name for name, form in FORMATS.items() if "image_size" in form.options)
AUDIO = tuple(name for name, form in FORMATS.items() if "sample_rate" in form.options)
OPTIONS = tuple(dict.fromkeys(option for form in FORMATS.values() for option in form.options))


def by_suffix(suffix: str) -> str | None:
    """The format's name for a file's suffix, such as ".csv"; None if no format claims it."""
    return next((name for name, form in FORMATS.items() if suffix.lower() in form.suffixes), None)


def by_first_bytes(head: bytes) -> str | None:
    """The format's name for the first bytes of a file; None if no format claims them."""
    return next((n for n, form in FORMATS.items() if form.first_bytes and head.startswith(form.first_bytes)), None)


def taking(option: str) -> list[str]:
    """The names of the formats that take an upload's option."""
    return [name for name, form in FORMATS.items() if option in form.options]
