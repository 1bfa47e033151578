# SPDX-License-Identifier: Apache-2.0
"""CSV, Parquet and JSON lines: columns become inputs as description.py chose and encoding.py says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
from mlhub.runtime.data.readers.tables.parquet_shards import parquet_shards
from mlhub.runtime.data.readers.tables.rows import Table, held_out_rows, target_spec, used_rows
from mlhub.runtime.errors import BadInputError
from mlhub.wire.delimiters import delimiter_of

BLOCK_BYTES, N_ROWS = 2 * 2**20, 4096  # read at a time; pyarrow holds several
HEADER_BYTES = 2**20


class TableReader:
    """read: gives the pyarrow table of a path. stream: gives its batches, whose types may differ from the table's where
    a column's first rows are not typical. Both raise pyarrow's errors.
    """

    def __init__(
        self, read: Callable[[Path], pa.Table], stream: Callable[[Path], Iterator[pa.RecordBatch]], name: str
    ) -> None:
        self._read, self._stream, self._name = read, stream, name

    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        has_targets = wants_targets(options)
        try:
            found = describe(lambda: self._stream(path), options, has_targets=has_targets)
        except (pa.ArrowException, OSError, ValueError):
            # unreadable, or a column whose later rows have another type: only the whole file decides
            found = None
        if found is not None:
            return found
        table = self._load(path, least=2 if has_targets else 1)
        whole = describe(lambda: iter(table.to_batches()), options, has_targets=has_targets)
        assert whole is not None
        return whole

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        return self.examples(*_arrays(self._load(path, least=1), schema), schema)

    def examples(self, inputs: Array, targets: Array, schema: Mapping[str, Any]) -> Examples:
        if has_texts(schema["columns"]):
            return CompactExamples(inputs, targets, schema["columns"])
        return Examples(inputs, targets)

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        if schema.get("is_learnt"):  # an unknown word is no sign of another type there
            for batch in self._load(path, least=1).to_batches(max_chunksize=N_ROWS):
                yield _arrays(batch, schema)
            return
        n_yielded = 0
        try:
            for batch in self._stream(path):
                found = _arrays(pa.Table.from_batches([batch]), schema)
                if len(found[0]):
                    yield found
                    n_yielded += len(found[0])
        except (pa.ArrowException, KeyError):
            # a column whose later rows have another type: only the whole file decides
            inputs, targets = _arrays(self._load(path, least=1), schema)
            yield inputs[n_yielded:], targets[n_yielded:]

    def held_out(self, path: Path, schema: Mapping[str, Any]) -> Array:
        if not schema.get("is_learnt"):
            try:
                return np.concatenate([_held_out(batch, schema) for batch in self._stream(path)])
            except pa.ArrowException:
                pass  # as in parts()
        return _held_out(self._load(path, least=1), schema)

    def scale(self, schema: Mapping[str, Any]) -> float:  # noqa: ARG002 (the protocol's signature)
        return 1.0

    def _load(self, path: Path, *, least: int) -> pa.Table:
        try:
            table = self._read(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            first_line = str(error).splitlines()[0]
            raise BadInputError(
                f"The file cannot be read as {self._name}: {first_line}",
                field="file",
                remedy=f"Check that it is a {self._name} file with one header line and the same columns in each row.",
            ) from error
        if table.num_rows < least:
            raise BadInputError(f"There are {table.num_rows} rows.", field="file", remedy=f"Give at least {least}.")
        if len(set(table.column_names)) != table.num_columns:
            raise BadInputError("Two columns have the same name.", field="file", remedy="Name each column differently.")
        return table


class JsonLinesReader:
    """Looks through the file for its faults and the types of its columns, then reads it as a table of these."""

    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        return self._of(path).inspect(path, options)

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        return self._of(path).open(path, schema)

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        yield from self._of(path).parts(path, schema)

    def examples(self, inputs: Array, targets: Array, schema: Mapping[str, Any]) -> Examples:
        return CSV.examples(inputs, targets, schema)

    def held_out(self, path: Path, schema: Mapping[str, Any]) -> Array:
        return self._of(path).held_out(path, schema)

    def scale(self, schema: Mapping[str, Any]) -> float:  # noqa: ARG002 (the protocol's signature)
        return 1.0

    def _of(self, path: Path) -> TableReader:
        types = json_lines.types_of(path)
        return TableReader(
            lambda path: json_lines.table(path, types), lambda path: json_lines.batches(path, types), "JSON lines"
        )


def _csv_batches(path: Path) -> Iterator[pa.RecordBatch]:
    # several threads would read many blocks ahead
    options = pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False)
    with pyarrow.csv.open_csv(path, read_options=options, parse_options=_parse_options(path)) as batches:
        yield from batches


def _parse_options(path: Path) -> pyarrow.csv.ParseOptions:
    with path.open("rb") as file:
        header = file.readline(HEADER_BYTES).decode(errors="replace")
    return pyarrow.csv.ParseOptions(delimiter=delimiter_of(header))


def _parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    for shard in parquet_shards(path):
        # buffers that are filled ahead stay until the file is closed
        with pyarrow.parquet.ParquetFile(shard, pre_buffer=False) as file:
            yield from file.iter_batches(batch_size=N_ROWS)


def _parquet_table(path: Path) -> pa.Table:
    tables = [pyarrow.parquet.read_table(shard) for shard in parquet_shards(path)]
    return pa.concat_tables(tables)


CSV = TableReader(lambda path: pyarrow.csv.read_csv(path, parse_options=_parse_options(path)), _csv_batches, "CSV")
JSON_LINES = JsonLinesReader()
PARQUET = TableReader(_parquet_table, _parquet_batches, "Parquet")


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
