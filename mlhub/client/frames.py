# SPDX-License-Identifier: Apache-2.0
"""What people hold in memory as files that MLHub reads: tables as Parquet, arrays as NPZ."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.interchange
import pyarrow.parquet
from numpy.typing import NDArray

FrameArray = NDArray[Any]


@dataclass(frozen=True)
class Upload:
    """A file, with the options of its upload."""

    filename: str
    content: bytes
    options: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The same for the same content and options."""
        described = json.dumps(self.options, sort_keys=True).encode()
        return f"client-{hashlib.sha256(described + self.content).hexdigest()[:16]}"


def is_array(data: Any) -> bool:
    return isinstance(data, np.ndarray)


def as_table(data: Any) -> pa.Table:
    """Of a pyarrow.Table, a dict of columns, or a DataFrame of any library that speaks Arrow; without its row labels.

    Raises TypeError.
    """
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, Mapping):
        return pa.table(dict(data))
    if hasattr(data, "__arrow_c_stream__"):
        return _without_row_labels(pa.table(data))
    if hasattr(data, "__dataframe__"):
        return pyarrow.interchange.from_dataframe(data)
    raise TypeError(
        f"A {type(data).__name__} is no table: give a DataFrame, a pyarrow.Table, a dict of columns or a NumPy array."
    )


def table_upload(data: Any, *, features: Sequence[str] | None, label: str | None) -> Upload:
    """features: None for all columns. label: None without targets. Raises ValueError for columns that are not there."""
    table = as_table(data)
    wanted = [name for name in table.column_names if name != label] if features is None else list(features)
    wanted += [] if label is None else [label]
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        raise ValueError(f"There is no column {missing[0]!r}; there are: {', '.join(table.column_names[:30])}.")
    out = io.BytesIO()
    pyarrow.parquet.write_table(table.select(wanted), out)
    return Upload("table.parquet", out.getvalue(), {"targets": "none"} if label is None else {"target": label})


def array_upload(x: FrameArray, y: FrameArray | None) -> Upload:
    """y None: without targets. Raises ValueError when they do not go together."""
    if y is not None and len(x) != len(y):
        raise ValueError(f"x has {len(x)} examples and y {len(y)}.")
    out = io.BytesIO()
    if y is None:
        np.savez(out, x=x)
    else:
        np.savez(out, x=x, y=y)
    return Upload("arrays.npz", out.getvalue(), {"targets": "none"} if y is None else {})


def coded(y: Any, classes: Sequence[Any] | None) -> tuple[FrameArray, list[Any] | None]:
    """Words as numbers, with the words in order; numbers as they are, with None. classes: those of an earlier coding.

    Raises ValueError for a word that is not among them.
    """
    values = np.asarray(y).ravel()
    if classes is None and values.dtype.kind not in "OUS":
        return values, None
    words = [str(value) for value in values]
    known = sorted(set(words)) if classes is None else list(classes)
    unknown = sorted(set(words) - set(known))
    if unknown:
        raise ValueError(
            f"The class {unknown[0]!r} is new; the model was trained on {', '.join(map(str, known[:30]))}."
        )
    number = {word: i for i, word in enumerate(known)}
    return np.array([number[word] for word in words], dtype=np.int64), known


def _without_row_labels(table: pa.Table) -> pa.Table:
    """pandas' index comes along as a column, and a model would learn from it."""
    pandas_metadata = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    labels = [name for name in pandas_metadata.get("index_columns", []) if isinstance(name, str)]
    return table.drop_columns([name for name in labels if name in table.column_names])
