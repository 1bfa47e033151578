# SPDX-License-Identifier: Apache-2.0
"""CSV, Parquet and JSON lines: columns become inputs as description.py chose and encoding.py says."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult, no_targets, wants_targets
from mlhub.runtime.data.readers.tables import json_lines
from mlhub.runtime.data.readers.tables.compact import CompactExamples, compact, has_texts
from mlhub.runtime.data.readers.tables.description import describe
from mlhub.runtime.data.readers.tables.parquet_shards import parquet_shards, words_of
from mlhub.runtime.data.readers.tables.rows import Table, held_out_rows, target_spec, used_rows, with_own_formats
from mlhub.runtime.errors import BadInputError
from mlhub.wire.row_files import delimiter_of
from mlhub.wire.text_encodings import NAMES, UTF_8, encoding_of

BLOCK_BYTES, N_ROWS = 2 * 2**20, 4096  # read at a time; pyarrow holds several
HEADER_CHARACTERS = 2**20
REMEDIES = {
    "CSV": "Check that it is a CSV file with one header line and the same columns in each row.",
    "Parquet": "Check that it is a Parquet file and whole: read it with pandas.read_parquet, or write it again.",
}


class TableReader:
    """read: gives the pyarrow table of a path, with the named columns as words. stream: gives its batches, whose types
    may differ from the table's where a column's first rows are not typical. Both raise pyarrow's errors. delimiter,
    encoding: of a CSV, which may write its numbers in any format; else None, and no column is named.
    """

    def __init__(
        self,
        read: Callable[[Path, Collection[str]], pa.Table],
        stream: Callable[[Path, Collection[str]], Iterator[pa.RecordBatch]],
        name: str,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
    ) -> None:
        self._read, self._stream, self._name = read, stream, name
        self._delimiter, self._encoding = delimiter, encoding

    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        found = self._inspect(path, options)
        if self._encoding not in NAMES:
            return found
        return replace(found, statistics={**found.statistics, "encoding": NAMES[self._encoding]})

    def _inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        has_targets = wants_targets(options)
        try:
            batches_of = partial(self._stream, path)
            found = describe(batches_of, options, has_targets=has_targets, delimiter=self._delimiter)
        except (pa.ArrowException, OSError, ValueError):
            # unreadable, or a column whose later rows have another type: only the whole file decides
            found = None
        if found is not None:
            return found
        table = self._load(path, least=2 if has_targets else 1)

        def batches(as_words: Collection[str]) -> Iterator[pa.RecordBatch]:
            return iter((self._load(path, as_words) if as_words else table).to_batches())

        whole = describe(batches, options, has_targets=has_targets, delimiter=self._delimiter)
        assert whole is not None
        return whole

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        table, schema = self._table_of(path, schema)
        return self.examples(*_arrays(table, schema), schema)

    def examples(self, inputs: Array, targets: Array, schema: Mapping[str, Any]) -> Examples:
        if has_texts(schema["columns"]):
            return CompactExamples(inputs, targets, schema["columns"])
        return Examples(inputs, targets)

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        if schema.get("is_learnt"):  # an unknown word is no sign of another type there
            table, schema = self._table_of(path, schema)
            for batch in table.to_batches(max_chunksize=N_ROWS):
                yield _arrays(batch, schema)
            return
        n_yielded = 0
        try:
            for batch in self._stream(path, _as_words(schema)):
                found = _arrays(pa.Table.from_batches([batch]), schema)
                if len(found[0]):
                    yield found
                    n_yielded += len(found[0])
        except (pa.ArrowException, KeyError):
            # a column whose later rows have another type: only the whole file decides
            inputs, targets = _arrays(self._load(path, _as_words(schema)), schema)
            yield inputs[n_yielded:], targets[n_yielded:]

    def held_out(self, path: Path, schema: Mapping[str, Any]) -> Array:
        if not schema.get("is_learnt"):
            try:
                return np.concatenate([_held_out(batch, schema) for batch in self._stream(path, _as_words(schema))])
            except pa.ArrowException:
                pass  # as in parts()
        return _held_out(*self._table_of(path, schema))

    def scale(self, schema: Mapping[str, Any]) -> float:  # noqa: ARG002 (the protocol's signature)
        return 1.0

    def _table_of(self, path: Path, schema: Mapping[str, Any]) -> tuple[pa.Table, Mapping[str, Any]]:
        """The table, and how it is read: another file than the training's may write its numbers otherwise."""
        table = self._load(path, _as_words(schema))
        if schema.get("is_learnt"):
            schema = with_own_formats(table, schema, delimiter=self._delimiter)
        return table, schema

    def _load(self, path: Path, as_words: Collection[str] = (), *, least: int = 1) -> pa.Table:
        try:
            table = self._read(path, as_words)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise BadInputError(
                f"The file cannot be read as {self._name}: {words_of(error)}",
                field="file",
                remedy=REMEDIES.get(self._name, "Check that the file is whole."),
            ) from error
        if table.num_rows < least:
            raise BadInputError(f"There are {table.num_rows} rows.", field="file", remedy=f"Give at least {least}.")
        if len(set(table.column_names)) != table.num_columns:
            raise BadInputError("Two columns have the same name.", field="file", remedy="Name each column differently.")
        return table


class ExaminedReader:
    """Looks at a file first, and then reads it as a table by what it found there. Looking may raise as reading does."""

    def __init__(self, reader_of: Callable[[Path], TableReader]) -> None:
        self._reader_of = reader_of

    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        return self._reader_of(path).inspect(path, options)

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        return self._reader_of(path).open(path, schema)

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        yield from self._reader_of(path).parts(path, schema)

    def examples(self, inputs: Array, targets: Array, schema: Mapping[str, Any]) -> Examples:
        return PARQUET.examples(inputs, targets, schema)

    def held_out(self, path: Path, schema: Mapping[str, Any]) -> Array:
        return self._reader_of(path).held_out(path, schema)

    def scale(self, schema: Mapping[str, Any]) -> float:
        return PARQUET.scale(schema)


def _json_lines_reader(path: Path) -> TableReader:
    """Raises BadInputError with the faults of the file."""
    types = json_lines.types_of(path)
    return TableReader(
        lambda path, _: json_lines.table(path, types), lambda path, _: json_lines.batches(path, types), "JSON lines"
    )


def _csv_reader(path: Path) -> TableReader:
    encoding = encoding_of(path)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        header = file.readline(HEADER_CHARACTERS)
    delimiter = delimiter_of(header)
    json_lines.require_few_columns(_n_columns(header, delimiter))
    options = partial(_csv_options, encoding=encoding, delimiter=delimiter)

    def table(path: Path, as_words: Collection[str]) -> pa.Table:
        return pyarrow.csv.read_csv(path, **options(as_words))

    def batches(path: Path, as_words: Collection[str]) -> Iterator[pa.RecordBatch]:
        # several threads would read many blocks ahead
        with pyarrow.csv.open_csv(path, **options(as_words, block_size=BLOCK_BYTES, use_threads=False)) as found:
            yield from found

    return TableReader(table, batches, "CSV", delimiter=delimiter, encoding=encoding)


def _n_columns(header: str, delimiter: str) -> int:
    """At least so many."""
    try:
        return len(next(csv.reader([header], delimiter=delimiter), []))
    except csv.Error:  # a field longer than that module reads
        return 1


def _csv_options(as_words: Collection[str], *, encoding: str, delimiter: str, **reading: Any) -> dict[str, Any]:
    # pyarrow decodes others through Python; of UTF-8 it leaves out the mark by itself
    codec = "utf8" if encoding == UTF_8 else encoding
    return {
        "read_options": pyarrow.csv.ReadOptions(encoding=codec, **reading),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=delimiter),
        "convert_options": pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(as_words, pa.string())),
    }


def _as_words(schema: Mapping[str, Any]) -> Collection[str]:
    """Columns of codes, and those whose numbers have a format, which are read as they are written."""
    return {*schema.get("codes", ()), *schema.get("number_formats", {})}


def _parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    for shard in parquet_shards(path):
        # buffers that are filled ahead stay until the file is closed
        with pyarrow.parquet.ParquetFile(shard, pre_buffer=False) as file:
            yield from file.iter_batches(batch_size=N_ROWS)


def _parquet_table(path: Path) -> pa.Table:
    tables = [pyarrow.parquet.read_table(shard) for shard in parquet_shards(path)]
    return pa.concat_tables(tables)


CSV = ExaminedReader(_csv_reader)
JSON_LINES = ExaminedReader(_json_lines_reader)
PARQUET = TableReader(lambda path, _: _parquet_table(path), lambda path, _: _parquet_batches(path), "Parquet")


def _arrays(table: Table, schema: Mapping[str, Any]) -> tuple[Array, Array]:
    is_learnt = schema.get("is_learnt", False)
    specs, target = schema["columns"], target_spec(schema)
    rows = used_rows(table, specs, target, drops=schema.get("drops_rows", True))
    inputs = compact(specs, rows.features, is_learnt=is_learnt)
    if rows.target is None:
        return inputs, no_targets(len(inputs))
    return inputs, _targets(schema, rows.target)


def _held_out(table: Table, schema: Mapping[str, Any]) -> Array:
    """Of the rows that _arrays() gives."""
    dropping = [spec for spec in schema["columns"] if spec.get("drops_rows")]
    rows = used_rows(table, dropping, target_spec(schema), drops=schema.get("drops_rows", True))
    found: Array = held_out_rows(table, schema["split"])[rows.is_kept]
    return found


def _targets(schema: Mapping[str, Any], values: Array) -> Array:
    if schema["task"] == "regression":
        return values.astype(np.float32)
    if values.dtype != object:
        return np.searchsorted(np.asarray(schema["classes"]), values).astype(np.int64)
    number = {word: i for i, word in enumerate(schema["classes"])}
    return np.array([number[word] for word in values], dtype=np.int64)
