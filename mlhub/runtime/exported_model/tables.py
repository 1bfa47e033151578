# SPDX-License-Identifier: Apache-2.0
"""Rows of a table as the model was trained on them, encoded by the specifications of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .columns.cells import cell_value, remedy_of
from .columns.encoding import encode
from .errors import UnusableRowError

Columns = Sequence[Mapping[str, Any]]
N_ROWS = 1024  # encoded at a time


def encoded_rows(rows: Sequence[Any], columns: Columns) -> Tensor:
    """Returns float32 inputs of shape (rows, width). Raises UnusableRowError that names the row and the column.

    Columns that the model does not use, such as its target, may be there or not. What is missing, and a word that
    training did not see, are encoded as in a prediction job.
    """
    return torch.cat(list(encoded_batches(rows, columns)))


def unseen_words(rows: Sequence[Any], columns: Columns) -> list[dict[str, str]]:
    """Of each row the categories that training did not see, by their column; they count as none of the known ones.

    rows: those that encoded_rows() takes. A column whose rarer categories share an input has a place for every word.
    """
    found: list[dict[str, str]] = [{} for _ in rows]
    for column in columns:
        if column["kind"] != "category" or column.get("other"):
            continue
        name, known = str(column["name"]), {"", *column["categories"]}
        for row, unseen in zip(rows, found, strict=True):
            word = str(cell_value(column, row[name]))
            if word not in known:
                unseen[name] = word
    return found


def encoded_batches(rows: Sequence[Any], columns: Columns) -> Iterator[Tensor]:
    """encoded_rows() in batches, since the inputs of texts are far larger than the rows."""
    for number, row in enumerate(rows):
        _check_columns(number, row, columns)
    for start in range(0, len(rows), N_ROWS):
        yield _encoded(rows[start : start + N_ROWS], columns, first=start)


def _encoded(rows: Sequence[Any], columns: Columns, *, first: int) -> Tensor:
    blocks = [encode(column, _values(rows, column, first=first), is_learnt=True) for column in columns]
    return torch.from_numpy(np.concatenate(blocks, axis=1).astype(np.float32))


def _check_columns(number: int, row: Any, columns: Columns) -> None:
    if not isinstance(row, Mapping):
        raise UnusableRowError(
            f"Row {number} is no object.", field="rows", remedy=f"Give the columns {_listed(columns)} by name."
        )
    for column in columns:
        if column["name"] not in row:
            raise UnusableRowError(
                f"Row {number} has no column {column['name']}.",
                field=str(column["name"]),
                remedy=f"Give the columns {_listed(columns)}.",
            )


def _values(rows: Sequence[Mapping[str, Any]], column: Mapping[str, Any], *, first: int) -> NDArray[Any]:
    """One column of the rows as encode() takes it. first: the number of the first of them."""
    found = np.empty(len(rows), dtype=object if column["kind"] in ("category", "text") else np.float64)
    for number, row in enumerate(rows):
        cell = row[column["name"]]
        try:
            found[number] = cell_value(column, cell)
        except ValueError as error:
            raise UnusableRowError(
                f"The column {column['name']} holds {str(cell)[:100]!r} in row {first + number}, which is no {error}.",
                field=str(column["name"]),
                remedy=remedy_of(column),
            ) from error
    return found


def _listed(columns: Columns) -> str:
    more = " ..." if len(columns) > 30 else ""
    return ", ".join(str(column["name"]) for column in columns[:30]) + more
