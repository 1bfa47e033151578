# SPDX-License-Identifier: Apache-2.0
"""CSV and Parquet with a target column: numbers are standardised, words become one-hot columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from mlhub.runtime.data.readers import columns
from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult, no_targets, wants_targets
from mlhub.runtime.data.readers.table_description import describe
from mlhub.runtime.errors import BadInputError

BLOCK_BYTES, N_ROWS = 2 * 2**20, 4096  # read at a time; pyarrow holds several


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
        return Examples(*_arrays(self._load(path, least=1), schema))

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        if schema.get("is_learnt"):  # an unknown word is no sign of another type there
            yield _arrays(self._load(path, least=1), schema)
            return
        n_yielded = 0
        try:
            for batch in self._stream(path):
                if batch.num_rows:
                    found = _arrays(pa.Table.from_batches([batch]), schema)
                    yield found
                    n_yielded += len(found[0])
        except (pa.ArrowException, KeyError):
            # a column whose later rows have another type: only the whole file decides
            inputs, targets = _arrays(self._load(path, least=1), schema)
            yield inputs[n_yielded:], targets[n_yielded:]

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


def _csv_batches(path: Path) -> Iterator[pa.RecordBatch]:
    # several threads would read many blocks ahead
    options = pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False)
    with pyarrow.csv.open_csv(path, read_options=options) as batches:
        yield from batches


def _parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    # buffers that are filled ahead stay until the file is closed
    with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
        yield from file.iter_batches(batch_size=N_ROWS)


CSV = TableReader(lambda path: pyarrow.csv.read_csv(path), _csv_batches, "CSV")
PARQUET = TableReader(lambda path: pyarrow.parquet.read_table(path), _parquet_batches, "Parquet")


def _arrays(table: pa.Table, schema: Mapping[str, Any]) -> tuple[Array, Array]:
    is_learnt = schema.get("is_learnt", False)
    blocks = [_encode(column, table[column["name"]], is_learnt=is_learnt) for column in schema["columns"]]
    inputs = np.concatenate(blocks, axis=1).astype(np.float32)
    if not schema.get("has_targets", True):
        return inputs, no_targets(len(inputs))
    return inputs, _targets(schema, table[schema["target"]])


def _encode(spec: Mapping[str, Any], column: pa.ChunkedArray, *, is_learnt: bool) -> Array:
    """Encodes a column, shape (rows, width). is_learnt: words that training did not see become zeros."""
    if spec["kind"] == "number":
        values = columns.numbers(column)
        values = np.where(np.isfinite(values), values, spec["mean"])
        standard: Array = ((values - spec["mean"]) / spec["std"])[:, None]
        return standard
    number = {word: i for i, word in enumerate(spec["categories"])}
    words = np.array(
        [number.get(word, -1) if is_learnt else number[word] for word in columns.words(column)], dtype=np.int64
    )
    block = np.zeros((len(column), len(number)))
    block[np.flatnonzero(words >= 0), words[words >= 0]] = 1.0
    return block


def _targets(schema: Mapping[str, Any], column: pa.ChunkedArray) -> Array:
    if schema["task"] == "regression":
        return columns.numbers(column).astype(np.float32)
    if columns.is_number(column.type):
        return np.searchsorted(np.asarray(schema["classes"]), columns.numbers(column)).astype(np.int64)
    number = {word: i for i, word in enumerate(schema["classes"])}
    return np.array([number[word] for word in columns.words(column)], dtype=np.int64)
