# SPDX-License-Identifier: Apache-2.0
"""What inspection learns of a table: its columns, its target, and the scale of its training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from mlhub.runtime.data.readers import columns
from mlhub.runtime.data.readers.columns import TableColumn
from mlhub.runtime.data.readers.examples import InspectionResult
from mlhub.runtime.data.readers.table_moments import add_training_moments
from mlhub.runtime.errors import BadInputError

USUAL_TARGETS = ("target", "label", "class", "y")
N_PREVIEW = 12


def describe(
    batches: Callable[[], Iterator[pa.RecordBatch]], options: Mapping[str, Any], *, has_targets: bool
) -> InspectionResult | None:
    """Describes a table in two passes over its batches: types, words and classes first, then means and deviations.

    Which rows are held out is known once the rows are counted; they must not influence how training rows are scaled.
    Returns None where there are too few rows, or two columns of one name. Raises BadInputError, pyarrow's errors.
    """
    n_rows, rows = 0, list[dict[str, Any]]()
    target: str | None = None
    features = dict[str, TableColumn]()
    of_target: TableColumn | None = None
    for batch in batches():
        if not features:
            names = batch.schema.names
            if len(set(names)) != len(names):
                return None
            target = _target(names, options.get("target")) if has_targets else None
            kind = columns.feature if has_targets else columns.UnscaledColumn
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
    if has_targets:
        add_training_moments(schema, batches())
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


def _word(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)[:80]
