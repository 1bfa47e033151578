"""CSV and Parquet with a target column: numbers are standardised, words become one-hot columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.readers.examples import Array, Examples, Found, no_targets, wants_targets

USUAL_TARGETS = ("target", "label", "class", "y")
MAX_CATEGORIES = 100
MAX_CLASSES = 1000
MAX_CLASSES_OF_INTEGERS = 100
N_PREVIEW = 12
BLOCK_BYTES, N_ROWS = 8 * 2**20, 16_384  # read at a time


class TableReader:
    """read: a path to a pyarrow table; stream: to its batches, which may be of other types where a column's first rows
    say too little. Both raise pyarrow's errors."""

    def __init__(
        self, read: Callable[[Path], pa.Table], stream: Callable[[Path], Iterator[pa.RecordBatch]], name: str
    ) -> None:
        self._read, self._stream, self._name = read, stream, name

    def inspect(self, path: Path, options: Mapping[str, Any]) -> Found:
        has_targets = wants_targets(options)
        table = self._load(path, least=2 if has_targets else 1)
        target = _target(table, options.get("target")) if has_targets else None
        features = [name for name in table.column_names if name != target]
        if not features:
            raise BadInputError(f"{target} is the only column.", field="file", remedy="Add columns to learn from.")
        columns = [_column(name, table[name]) for name in features]
        width = sum(len(c["categories"]) if c["kind"] == "category" else 1 for c in columns)
        schema = {
            "n_examples": table.num_rows,
            "input_shape": [width],
            "columns": columns,
            "target": target,
            **({"task": "none"} if target is None else _task(target, table[target])),
        }
        rows = table.slice(0, N_PREVIEW).to_pylist()
        shown = [*features[:12], *([] if target is None else [target])]
        return Found(
            schema, {"kind": "table", "columns": shown, "rows": [[_word(row[c]) for c in shown] for row in rows]}
        )

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
    with pyarrow.csv.open_csv(path, read_options=pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES)) as batches:
        yield from batches


def _parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    with pyarrow.parquet.ParquetFile(path) as file:
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


def _target(table: pa.Table, asked: str | None) -> str:
    names = table.column_names
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


def _is_number(column: pa.ChunkedArray) -> bool:
    kind = column.type
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _numbers(column: pa.ChunkedArray) -> Array:
    """As float64, missing values as NaN."""
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _words(column: pa.ChunkedArray) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _column(name: str, column: pa.ChunkedArray) -> dict[str, Any]:
    if _is_number(column):
        values = _numbers(column)
        known = values[np.isfinite(values)]
        if not len(known):
            raise BadInputError(f"The column {name} has no values.", field=name, remedy="Remove it.")
        return {"name": name, "kind": "number", "mean": float(known.mean()), "std": float(known.std()) or 1.0}
    categories = sorted(set(_words(column)))
    if len(categories) > MAX_CATEGORIES:
        raise BadInputError(
            f"The column {name} has {len(categories):,} different words; at most {MAX_CATEGORIES} can be used.",
            field=name,
            remedy="Remove the column, or turn it into numbers or fewer categories.",
        )
    return {"name": name, "kind": "category", "categories": categories}


def _task(name: str, column: pa.ChunkedArray) -> dict[str, Any]:
    is_number = _is_number(column)
    n_missing = column.null_count if is_number else sum(not word.strip() for word in _words(column))
    if n_missing:
        raise BadInputError(
            f"The target {name} is missing in {n_missing:,} {'row' if n_missing == 1 else 'rows'}.",
            field="target",
            remedy="Fill them in, or remove those rows.",
        )
    if is_number:
        values = _numbers(column)
        if not np.isfinite(values).all():
            raise BadInputError(
                f"The target {name} has values that are NaN or infinite.", field="target", remedy="Remove those rows."
            )
        unique = np.unique(values)
        if not (np.mod(unique, 1) == 0).all() or len(unique) > MAX_CLASSES_OF_INTEGERS:
            return {"task": "regression", "target_mean": float(values.mean()), "target_std": float(values.std())}
        classes: list[Any] = [int(v) for v in unique]
        counts = [int((values == v).sum()) for v in unique]
    else:
        words = _words(column)
        classes = sorted(set(words))
        counts = [words.count(c) for c in classes] if len(classes) <= MAX_CLASSES else []
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise BadInputError(
            f"The target {name} has {len(classes):,} classes.",
            field="target",
            remedy=f"Between 2 and {MAX_CLASSES} classes can be learnt.",
        )
    return {"task": "classification", "n_classes": len(classes), "classes": classes, "class_counts": counts}


def _encode(spec: Mapping[str, Any], column: pa.ChunkedArray, *, is_learnt: bool) -> Array:
    """Shape (rows, width of the column). is_learnt: a word that is not among the column's is none of them."""
    if spec["kind"] == "number":
        values = _numbers(column)
        values = np.where(np.isfinite(values), values, spec["mean"])
        standard: Array = ((values - spec["mean"]) / spec["std"])[:, None]
        return standard
    number = {word: i for i, word in enumerate(spec["categories"])}
    words = np.array([number.get(word, -1) if is_learnt else number[word] for word in _words(column)], dtype=np.int64)
    block = np.zeros((len(column), len(number)))
    block[np.flatnonzero(words >= 0), words[words >= 0]] = 1.0
    return block


def _targets(schema: Mapping[str, Any], column: pa.ChunkedArray) -> Array:
    if schema["task"] == "regression":
        return _numbers(column).astype(np.float32)
    if _is_number(column):
        return np.searchsorted(np.asarray(schema["classes"]), _numbers(column)).astype(np.int64)
    number = {word: i for i, word in enumerate(schema["classes"])}
    return np.array([number[word] for word in _words(column)], dtype=np.int64)


def _word(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)[:80]
