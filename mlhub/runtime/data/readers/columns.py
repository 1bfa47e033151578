# SPDX-License-Identifier: Apache-2.0
"""What inspection learns of a table's columns, batch by batch, so that no table has to fit into memory."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mlhub.runtime.data.readers.examples import Array
from mlhub.runtime.errors import BadInputError

MAX_CATEGORIES = 100
MAX_CLASSES = 1000
MAX_CLASSES_OF_INTEGERS = 100

Values: TypeAlias = pa.Array | pa.ChunkedArray


class TableColumn(Protocol):
    def add(self, values: Values) -> None:
        """Adds the values of the next rows. Raises pyarrow's errors, BadInputError."""

    def described(self) -> dict[str, Any]:
        """The column's part of the schema. Raises BadInputError naming field and remedy."""


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def numbers(column: Values) -> Array:
    """The values as float64, missing ones as NaN."""
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def words(column: Values) -> list[str]:
    return [_word(value) for value in column.to_pylist()]


def feature(name: str, kind: pa.DataType) -> TableColumn:
    return NumericColumn(name) if is_number(kind) else Categories(name)


def target(name: str, kind: pa.DataType) -> TableColumn:
    return NumericTarget(name) if is_number(kind) else WordTarget(name)


class UnscaledColumn:
    """A column of a table without targets: its scale or words come from the dataset that the model was trained on."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        self._name, self._kind = name, kind

    def add(self, values: Values) -> None:
        """Ignores the values: scale and words come from the training dataset."""

    def described(self) -> dict[str, Any]:
        if pa.types.is_null(self._kind):
            return {"name": self._name, "kind": "empty"}
        return {"name": self._name, "kind": "number" if is_number(self._kind) else "category"}


class NumericColumn:
    """A feature that is standardised; its mean and deviation are found in a second pass (table_moments.py)."""

    def __init__(self, name: str) -> None:
        self._name, self._has_values = name, False

    def add(self, values: Values) -> None:
        self._has_values = self._has_values or bool(np.isfinite(numbers(values)).any())

    def described(self) -> dict[str, Any]:
        if not self._has_values:
            raise BadInputError(f"The column {self._name} has no values.", field=self._name, remedy="Remove it.")
        return {"name": self._name, "kind": "number"}


class Categories:
    """A feature of words, each of which becomes one input."""

    def __init__(self, name: str) -> None:
        self._name, self._words = name, set[str]()

    def add(self, values: Values) -> None:
        self._words |= _counts(values).keys()
        if len(self._words) > MAX_CATEGORIES:
            raise BadInputError(
                f"The column {self._name} has more than {MAX_CATEGORIES} different words, which is as many as can be "
                "used.",
                field=self._name,
                remedy="Remove the column, or turn it into numbers or fewer categories.",
            )

    def described(self) -> dict[str, Any]:
        return {"name": self._name, "kind": "category", "categories": sorted(self._words)}


class NumericTarget:
    """Few different whole numbers are classes; everything else is a regression."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._n_missing, self._is_finite = 0, True
        self._counts: Counter[float] | None = Counter()  # None: they are no classes

    def add(self, values: Values) -> None:
        self._n_missing += values.null_count
        found = numbers(values.drop_null())
        self._is_finite = self._is_finite and bool(np.isfinite(found).all())
        if self._counts is None or not self._is_finite:
            return
        unique, counts = np.unique(found, return_counts=True)
        self._counts.update(dict(zip(unique.tolist(), counts.tolist(), strict=True)))
        if not (np.mod(unique, 1) == 0).all() or len(self._counts) > MAX_CLASSES_OF_INTEGERS:
            self._counts = None

    def described(self) -> dict[str, Any]:
        _check_missing(self._name, self._n_missing)
        if not self._is_finite:
            raise BadInputError(
                f"The target {self._name} has values that are NaN or infinite.",
                field="target",
                remedy="Remove those rows.",
            )
        if self._counts is None:
            return {"task": "regression"}
        return _classification(self._name, {int(value): n for value, n in self._counts.items()})


class WordTarget:
    """Classes by name."""

    def __init__(self, name: str) -> None:
        self._name, self._n_missing = name, 0
        self._counts: Counter[str] = Counter()

    def add(self, values: Values) -> None:
        found = _counts(values)
        self._n_missing += sum(n for word, n in found.items() if not word.strip())
        self._counts.update(found)
        if len(self._counts) > 100 * MAX_CLASSES:  # names or row numbers: the rest need not be read
            self.described()

    def described(self) -> dict[str, Any]:
        _check_missing(self._name, self._n_missing)
        return _classification(self._name, self._counts)


def _classification(name: str, counts: dict[Any, int] | Counter[str]) -> dict[str, Any]:
    classes = sorted(counts)
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise BadInputError(
            f"The target {name} has {len(classes):,} classes.",
            field="target",
            remedy=f"Between 2 and {MAX_CLASSES} classes can be learned.",
        )
    return {
        "task": "classification",
        "n_classes": len(classes),
        "classes": classes,
        "class_counts": [counts[c] for c in classes],
    }


def _check_missing(name: str, n_missing: int) -> None:
    if n_missing:
        raise BadInputError(
            f"The target {name} is missing in {n_missing:,} {'row' if n_missing == 1 else 'rows'}.",
            field="target",
            remedy="Fill them in, or remove those rows.",
        )


def _counts(values: Values) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in pc.value_counts(values).to_pylist():
        found[_word(one["values"])] += one["counts"]
    return found


def _word(value: Any) -> str:
    return "" if value is None else str(value)
