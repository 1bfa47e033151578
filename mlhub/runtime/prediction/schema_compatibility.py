# SPDX-License-Identifier: Apache-2.0
"""Checks a dataset against the one that a model was trained on, and gives the schema to read it by. Without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlhub.runtime.errors import BadInputError
from mlhub.wire.formats import AUDIO, PICTURES, TABLES

NO_TARGETS = "none"
# what describes the file alone; all else comes from the dataset that the model was trained on
OWN = (
    "n_examples", "n_rows", "n_with_target", "n_held_out", "class_counts", "dtype", "n_sizes", "n_tokens", "n_bytes",
    "n_lines", "documents", "text_column", "split", "n_cut",
)  # fmt: skip
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class TrainedSchema:
    """A dataset version as inspection found it."""

    format: str
    schema: Schema


def has_targets(schema: Schema) -> bool:
    return schema.get("task") != NO_TARGETS


def schema_for_model(trained: TrainedSchema, given: TrainedSchema, *, needs_targets: bool) -> dict[str, Any]:
    """The schema by which a file is read for a model that was trained on another one.

    In it has_targets is whether targets are read, and is_learnt marks that it comes from another file.
    Raises BadInputError.
    """
    _check_format(trained, given)
    if given.format in TABLES:
        _check_columns(trained.schema, given.schema, is_csv=given.format == "csv")
    elif given.format == "npz":
        _check_arrays(trained.schema, given.schema)
    if needs_targets:
        _check_targets(trained.schema, given.schema, is_named=given.format not in (*PICTURES, *AUDIO))
    merged = {name: value for name, value in trained.schema.items() if name not in OWN}
    merged |= {name: given.schema[name] for name in OWN if name in given.schema}
    if given.format in TABLES:
        merged |= _number_formats(trained.schema, given.schema)
    if trained.schema.get("task") == "language_modelling":
        if any(given.schema.get(name) != trained.schema.get(name) for name in ("task", "tokenizer", "context_length")):
            del merged["n_examples"]  # it has other tokens in the learned vocabulary: reading counts them
    elif given.format == "text_lines":
        merged["n_examples"] = given.schema["n_rows"]
    if given.format in PICTURES:
        merged["target"] = given.schema.get("target")  # names a field of its own file
    if given.format in TABLES and given.schema != trained.schema:
        # rows are left out of training for a missing value; of another file each row is answered
        merged["drops_rows"] = False
        merged["n_examples"] = given.schema.get("n_with_target" if needs_targets else "n_rows", merged["n_examples"])
    elif given.format in TABLES and not needs_targets:
        merged |= {"drops_rows": False, "n_examples": given.schema.get("n_rows", merged["n_examples"])}
    return merged | {"is_learnt": True, "has_targets": needs_targets}


def _number_formats(trained: Schema, given: Schema) -> Schema:
    """Which columns are read as words, and how their numbers are written: as the file has it, else as in training."""
    formats, own = trained.get("number_formats", {}), given.get("number_formats", {})
    return {"number_formats": {**formats, **own}, "own_number_formats": own} if formats or own else {}


def _check_format(trained: TrainedSchema, given: TrainedSchema) -> None:
    alike = (TABLES, PICTURES)
    kinds = [next((group for group in alike if known.format in group), (known.format,)) for known in (trained, given)]
    if kinds[0] != kinds[1]:
        raise BadInputError(
            f"The model was trained on {trained.format}, and the dataset is {given.format}.",
            field="dataset",
            remedy=f"Upload the dataset as {' or '.join(kinds[0])}.",
        )


def _check_columns(trained: Schema, given: Schema, *, is_csv: bool) -> None:
    raw = file_columns(given)
    there = {*raw, given.get("target")}
    missing = [column["name"] for column in trained["columns"] if column["name"] not in there]
    if missing:
        raise BadInputError(
            f"The dataset has no column {', '.join(missing[:5])}{' ...' * (len(missing) > 5)}.",
            field="dataset",
            remedy=f"The model was trained on: {', '.join(c['name'] for c in trained['columns'][:30])}.",
        )
    words = {"number": "numbers", "word": "words", "date": "dates", "other": "lists or bytes"}
    for column in trained["columns"]:
        usual = {"number": "number", "category": "word", "text": "word", "date": "date"}[column["kind"]]
        learned = column.get("from", usual)
        found = raw.get(column["name"], learned)
        if column["kind"] == "number" and column["name"] in given.get("number_formats", {}):
            found = "number"
        if is_csv and column["name"] in {*trained.get("codes", ()), *given.get("codes", ())}:
            found = learned  # it is read as in training: with its zeros in front, or without
        if found not in (learned, "empty") and (learned != "word" or found != column["kind"]):
            raise BadInputError(
                f"The column {column['name']} holds {words[found]}; the model was trained on {words[learned]}.",
                field="dataset",
                remedy=f"Give {column['name']} as it was trained with.",
            )


def file_columns(schema: Schema) -> dict[str, str]:
    """What the file stores in each column: number, word, date, empty, other. Older versions know features only."""
    if "file_columns" in schema:
        return dict(schema["file_columns"])
    return {c["name"]: "word" if c["kind"] in ("category", "text") else c["kind"] for c in schema["columns"]}


def _check_arrays(trained: Schema, given: Schema) -> None:
    if list(trained["input_shape"]) != list(given["input_shape"]):
        raise BadInputError(
            f"Examples have the shape {given['input_shape']}; the model was trained on {trained['input_shape']}.",
            field="dataset",
            remedy=f"Give x the shape (n, {', '.join(map(str, trained['input_shape']))}).",
        )
    ours, theirs = _numbers(trained), _numbers(given)
    if ours != theirs:
        raise BadInputError(
            f"x is {given['dtype']}; the model was trained on {trained['dtype']}.",
            field="dataset",
            remedy=f"Save x as {trained['dtype']}, in the same units.",
        )


def _numbers(schema: Schema) -> str:
    """Kinds of numbers that are read differently."""
    dtype = str(schema.get("dtype") or "float32")
    if dtype == "uint8" and len(schema["input_shape"]) > 1:
        return "pixels"
    return "measurements" if dtype.startswith("float") else "whole numbers"


def _check_targets(trained: Schema, given: Schema, *, is_named: bool) -> None:
    """is_named: whether both files must call the target by one name."""
    if not has_targets(given):
        raise BadInputError(
            "The dataset has no targets to compare with.",
            field="dataset",
            remedy="Predict on it, or upload it with targets.",
        )
    if is_named and trained.get("target") != given.get("target"):
        raise BadInputError(
            f"The dataset's target is {given.get('target')}; the model was trained on {trained.get('target')}.",
            field="dataset",
            remedy=f"Upload it again with target={trained.get('target')}.",
        )
    classes = given.get("classes") or []
    if trained.get("task") == "classification":
        unknown = [c for c in classes if c not in trained["classes"]]
        if unknown or given.get("task") != "classification":
            found = f"the class {unknown[0]!r}" if unknown else "numbers that are no classes"
            raise BadInputError(
                f"The targets have {found}, which training did not see.",
                field="dataset",
                remedy=f"Known: {', '.join(map(str, trained['classes'][:30]))}. Leave those examples out.",
            )
    if trained.get("task") == "regression" and any(isinstance(c, str) for c in classes):
        raise BadInputError(
            "The targets are words; the model was trained on numbers.",
            field="dataset",
            remedy="Give the target as numbers.",
        )
