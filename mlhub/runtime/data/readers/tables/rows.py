# SPDX-License-Identifier: Apache-2.0
"""The rows of a table that are used: those with a target, and with a value in each column that drops rows without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mlhub.runtime.data.given_split import holds_out
from mlhub.runtime.data.readers.examples import Array
from mlhub.runtime.data.readers.tables.number_evidence import NumberEvidence
from mlhub.runtime.data.readers.tables.values import missing, raw_type, values_of, with_format, words

Specs = Sequence[Mapping[str, Any]]
Table: TypeAlias = pa.Table | pa.RecordBatch


@dataclass(frozen=True)
class UsedRows:
    """features: one array a column, of the rows that are kept. is_kept: of all rows. n_with_target: of all rows."""

    features: list[Array]
    target: Array | None
    is_kept: Array
    n_with_target: int


def used_rows(table: Table, features: Specs, target: Mapping[str, Any] | None, *, drops: bool = True) -> UsedRows:
    """Reads the columns by their specifications. drops: whether features drop rows. Raises pyarrow's errors."""
    values = [values_of(spec, table[spec["name"]]) for spec in features]
    is_kept: Array = np.ones(table.num_rows, dtype=bool)
    targets = None
    if target is not None:
        targets = values_of(target, table[target["name"]])
        is_kept = ~missing(targets)
    n_with_target = int(is_kept.sum())
    if drops:
        for spec, found in zip(features, values, strict=True):
            if spec.get("drops_rows"):
                is_kept = is_kept & ~missing(found)
    if not is_kept.all():
        values = [found[is_kept] for found in values]
        targets = None if targets is None else targets[is_kept]
    return UsedRows(values, targets, is_kept, n_with_target)


def held_out_rows(table: Table, split: str) -> Array:
    """Whether each row is held out by the column of the split, bool, shape (rows,). Raises pyarrow's errors."""
    return np.array([bool(holds_out(word)) for word in words(table[split])], dtype=bool)


def target_spec(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """How the target's column is read; None where a schema has no targets, or they are not wanted."""
    if schema.get("target") is None or not schema.get("has_targets", True):
        return None
    is_word = schema["task"] == "classification" and isinstance(schema["classes"][0], str)
    spec = {"name": schema["target"], "kind": "category" if is_word else "number"}
    return with_format(spec, schema.get("number_formats", {}).get(schema["target"]))


def with_own_formats(table: Table, schema: Mapping[str, Any], *, delimiter: str | None) -> dict[str, Any]:
    """The schema of a model for another file, whose numbers may be written in another format than the training's.

    What inspection found in the file counts; else the training's format, unless it does not read all words, or they
    need none and commas separate the columns, which a decimal comma would make unlikely.
    """
    own, formats = schema.get("own_number_formats", {}), dict(schema.get("number_formats", {}))
    target = target_spec(schema)
    names = [spec["name"] for spec in [*schema["columns"], *([target] if target else [])] if spec["kind"] == "number"]
    for name in names:
        if raw_type(table.schema.field(name).type) != "word":
            continue
        evidence = NumberEvidence()
        evidence.add(pc.drop_null(pc.unique(table[name])))
        if evidence.is_plain and delimiter == "," and name not in own:
            formats.pop(name, None)
        elif evidence.formats and formats.get(name) not in (*evidence.formats, *([None] if evidence.is_plain else [])):
            formats[name] = evidence.formats[0]
    columns = [with_format(dict(spec), formats.get(spec["name"])) for spec in schema["columns"]]
    return {**schema, "columns": columns, "number_formats": formats}
