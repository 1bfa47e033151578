"""CSV and Parquet with a target column: numbers are standardised, words become one-hot columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from mlhub.runtime.data.readers import columns
from mlhub.runtime.data.readers.columns import TableColumn
from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult, no_targets, wants_targets
from mlhub.runtime.errors import BadInputError

USUAL_TARGETS = ("target", "label", "class", "y")
N_PREVIEW = 12
BLOCK_BYTES, N_ROWS = 2 * 2**20, 4096  # read at a time; pyarrow holds several


class TableReader:
    """read: a path to a pyarrow table; stream: to its batches, which may be of other types where a column's first rows
    say too little. Both raise pyarrow's errors."""

    def __init__(
        self, read: Callable[[Path], pa.Table], stream: Callable[[Path], Iterator[pa.RecordBatch]], name: str
    ) -> None:
        self._read, self._stream, self._name = read, stream, name

    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        has_targets = wants_targets(options)
        try:
            found = _described(self._stream(path), options, has_targets=has_targets)
        except (pa.ArrowException, OSError, ValueError):
            # unreadable, or a column whose later rows look unlike its first ones: only the whole file tells
            found = None
        if found is not None:
            return found
        table = self._load(path, least=2 if has_targets else 1)
        whole = _described(iter(table.to_batches()), options, has_targets=has_targets)
        assert whole is not None
        return whole

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        return Examples(*_arrays(self._load(path, least=1), schema))

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        if schema.get("is_learnt"):  # a word that is unknown says nothing about types there
            yield _arrays(self._load(path, least=1), schema)
            return
        n_given = 0
        try:
            for batch in self._stream(path):
                if batch.num_rows:
                    found = _arrays(pa.Table.from_batches([batch]), schema)
                    yield found
                    n_given += len(found[0])
        except (pa.ArrowException, KeyError):
            # a column whose later rows look unlike its first ones: only the whole file tells what it is
            inputs, targets = _arrays(self._load(path, least=1), schema)
            yield inputs[n_given:], targets[n_given:]

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
    # what is buffered ahead is kept until the file is closed
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


def _described(
    batches: Iterator[pa.RecordBatch], options: Mapping[str, Any], *, has_targets: bool
) -> InspectionResult | None:
    """None where there are too few rows, or columns of one name. Raises BadInputError, pyarrow's errors."""
    n_rows, rows = 0, list[dict[str, Any]]()
    target: str | None = None
    features = dict[str, TableColumn]()
    of_target: TableColumn | None = None
    for batch in batches:
        if not features:
            names = batch.schema.names
            if len(set(names)) != len(names):
                return None
            target = _target(names, options.get("target")) if has_targets else None
            kind = columns.feature if has_targets else columns.Named
            features = {f.name: kind(f.name, f.type) for f in batch.schema if f.name != target}
            if not features:
                raise BadInputError(f"{target} is the only column.", field="file", remedy="Add columns to learn from.")
            of_target = None if target is None else columns.target(target, batch.schema.field(target).type)
        for name, column in features.items():
            column.add(batch[name])
        if of_target is not None:
            of_target.add(batch[target])
        n_rows += batch.num_rows
        rows += batch.slice(0, N_PREVIEW - len(rows)).to_pylist()
    if n_rows < (2 if has_targets else 1):
        return None
    described = [column.described() for column in features.values()]
    schema = {
        "n_examples": n_rows,
        "input_shape": [sum(len(c["categories"]) if "categories" in c else 1 for c in described)],
        "columns": described,
        "target": target,
        **({"task": "none"} if of_target is None else of_target.described()),
    }
    shown = [*list(features)[:12], *([] if target is None else [target])]
    return InspectionResult(
        schema, {"kind": "table", "columns": shown, "rows": [[_word(row[c]) for c in shown] for row in rows]}
    )


def _target(names: Sequence[str], asked: str | None) -> str:
    if asked is not None:
        if asked not in names:
            raise BadInputError(
                f"There is no column {asked!r}.", field="target", remedy=f"Name one of: {', '.join(names[:30])}."
            )
        return asked
    for name in names:
        if name.lower() in USUAL_TARGETS:
            return str(name)
    raise BadInputError(
        "It is not clear which column is to be predicted.",
        field="target",
        remedy=f"Name the target: one of {', '.join(names[:30])}. To predict on it only, say targets=none.",
    )


def _encode(spec: Mapping[str, Any], column: pa.ChunkedArray, *, is_learnt: bool) -> Array:
    """Shape (rows, width of the column). is_learnt: a word that is not among the column's is none of them."""
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


def _word(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)[:80]
