# SPDX-License-Identifier: Apache-2.0
"""What inspection finds in a table: every column, which of them are learned from, and the scale of training rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mlhub.runtime.data.moments import training_mask
from mlhub.runtime.data.readers.examples import Array, InspectionResult
from mlhub.runtime.data.readers.tables import encoding
from mlhub.runtime.data.readers.tables.choice import ColumnChoice, choose_columns
from mlhub.runtime.data.readers.tables.measures import FeatureMeasure, TargetMeasure
from mlhub.runtime.data.readers.tables.number_evidence import FoundFormats, NumberEvidence, find_formats, needs_more
from mlhub.runtime.data.readers.tables.profiles import ColumnProfile
from mlhub.runtime.data.readers.tables.rows import held_out_rows, used_rows
from mlhub.runtime.data.readers.tables.statistics import TableStatistics
from mlhub.runtime.data.readers.tables.values import with_format, with_zeros_in_front
from mlhub.runtime.data.readers.tables.vocabulary import most_words

N_PREVIEW, N_PREVIEW_COLUMNS = 12, 13
ReadBatches = Callable[[Collection[str]], Iterator[pa.RecordBatch]]  # of a table, with columns that are read as words
TableBatches = Callable[[], Iterator[pa.RecordBatch]]


def describe(
    read: ReadBatches, options: Mapping[str, Any], *, has_targets: bool, delimiter: str | None = None
) -> InspectionResult | None:
    """Describes a table in passes over its batches: columns first, then the rows that are kept, then their measures.

    Which rows are held out is known once the rows are counted; they must not influence how training rows are scaled.
    delimiter: of a CSV, whose numbers may be written in any format; None: the file has real numbers. The result's
    problems are faults that another choice of columns repairs. Returns None where there are too few rows, or two
    columns of one name. Raises pyarrow's errors.
    """
    profiles, rows = _profiles(read(()), collects=delimiter is not None)
    if not profiles or profiles[0].n_rows < (2 if has_targets else 1):
        return None
    as_words: Collection[str] = ()
    if delimiter is not None:
        found = _number_formats(read, profiles, options, delimiter)
        formats, codes = found.formats, _columns_of_codes(read, profiles)
        as_words = sorted({*formats, *codes})
        if as_words:
            profiles, rows = _profiles(read(as_words), formats=formats, earlier=profiles)
        for profile in profiles:
            profile.is_format_assumed = profile.name in found.assumed
            profile.is_format_open = profile.name in found.open
            profile.is_format_chosen = profile.name in found.chosen
    batches = partial(read, as_words)
    statistics = TableStatistics(profiles, has_formats=delimiter is not None)
    if not has_targets:
        statistics.count(batches())
        return InspectionResult(_schema_to_predict_on(profiles), _preview(profiles, rows, None), statistics.described())
    choice = choose_columns(profiles, options)
    schema: dict[str, Any] = {}
    if not choice.problems:
        schema = _schema(batches, profiles, choice)
    statistics.count(batches())
    return InspectionResult(
        {} if choice.problems else schema,
        _preview(profiles, rows, choice.target),
        statistics.described(choice),
        choice.problems,
    )


def _profiles(
    batches: Iterator[pa.RecordBatch],
    *,
    collects: bool = False,
    formats: Mapping[str, str] | None = None,
    earlier: Sequence[ColumnProfile] = (),
) -> tuple[list[ColumnProfile], list[dict[str, Any]]]:
    """collects: whether evidence of number formats is. earlier: profiles with the evidence that led to the formats."""
    profiles, rows = list[ColumnProfile](), list[dict[str, Any]]()
    evidence = {profile.name: profile.evidence for profile in earlier}
    for batch in batches:
        if not profiles:
            if len(set(batch.schema.names)) != len(batch.schema.names):
                return [], []
            profiles = [
                ColumnProfile(
                    column.name,
                    column.type,
                    number_format=(formats or {}).get(column.name),
                    evidence=evidence.get(column.name),
                    collects=collects,
                )
                for column in batch.schema
            ]
        for profile in profiles:
            profile.add(batch[profile.name])
        rows += batch.slice(0, N_PREVIEW - len(rows)).to_pylist()
    return profiles, rows


def _number_formats(
    read: ReadBatches, profiles: Sequence[ColumnProfile], options: Mapping[str, Any], delimiter: str
) -> FoundFormats:
    """What the file shows, and what a person has chosen instead."""
    evidence = {p.name: p.evidence for p in profiles if p.evidence is not None and not p.date_formats}
    if needs_more(evidence):
        fractions = {profile.name for profile in profiles if profile.is_fraction}
        as_words = {name: NumberEvidence() for name in fractions}
        for batch in read(fractions) if fractions else ():
            for name, of_column in as_words.items():
                of_column.add(pc.drop_null(pc.unique(batch[name])))
        evidence |= as_words
    found = find_formats(evidence, delimiter)
    may_have = {profile.name for profile in profiles if profile.raw == "word" or profile.is_fraction}
    for name, number_format in (options.get("numbers") or {}).items():
        if name in may_have:
            found.choose(name, number_format)
    return found


def _columns_of_codes(read: ReadBatches, profiles: Sequence[ColumnProfile]) -> set[str]:
    """Columns of whole numbers of which one has zeros in front, such as postcodes: a CSV reader takes these off."""
    left = {p.name for p in profiles if p.raw == "number" and p.is_whole and not p.is_fraction}
    found = set[str]()
    for batch in read(left) if left else ():
        found |= {name for name in left - found if with_zeros_in_front(batch[name])}
        if found == left:
            break
    return found


def _schema(batches: TableBatches, profiles: Sequence[ColumnProfile], choice: ColumnChoice) -> dict[str, Any]:
    """The schema of the chosen columns. Adds to the choice's problems what only the kept rows show."""
    known = {profile.name: profile for profile in profiles}
    of_target = known[str(choice.target)]
    kind = choice.target_type if of_target.raw == "word" else "number"
    kind = kind or ("number" if of_target.type == "number" else "category")
    target = with_format({"name": choice.target, "kind": kind}, of_target.number_format)
    is_held_out, n_with_target = _kept(batches(), choice, target)
    n_kept, n_held_out = len(is_held_out), int(is_held_out.sum())
    if n_kept < 2:
        choice.add_problem("", f"{n_kept} rows are left to learn from.", "Leave fewer rows out, or more columns.")
        return {}
    if choice.split is not None and n_held_out in (0, n_kept):
        part = "train on" if n_held_out else "evaluate with"
        choice.add_problem(choice.split, f"No row that is kept is left to {part}.", "Leave fewer rows out.")
        return {}
    measured = TargetMeasure(kind, choice.target_type)
    is_trained = training_mask(n_kept, n_held_out=0) if choice.split is None else ~is_held_out
    _measure(batches(), choice, target, measured, is_trained)
    for spec in choice.features:
        if spec["kind"] == "text" and not spec["words"]:
            message = f"The texts of {spec['name']} have no words in the training rows."
            choice.add_problem(spec["name"], message, "Leave the column out, or take it as a category.")
            return {}
    try:
        described = measured.described()
    except ValueError as error:
        remedy = "Choose another target, or take it as numbers or as a category."
        choice.add_problem(str(choice.target), f"The target {choice.target} {error}.", remedy)
        return {}
    return {
        "n_examples": n_kept,
        "n_rows": of_target.n_rows,
        "n_with_target": n_with_target,
        "input_shape": [sum(encoding.width(spec) for spec in choice.features)],
        "columns": choice.features,
        "file_columns": {profile.name: profile.raw for profile in profiles},
        **_formats_of(profiles),
        "target": choice.target,
        **({} if choice.split is None else {"split": choice.split, "n_held_out": n_held_out}),
        **described,
    }


def _kept(batches: Iterator[pa.RecordBatch], choice: ColumnChoice, target: dict[str, Any]) -> tuple[Array, int]:
    """Whether the split holds each kept row out, bool, shape (kept rows,); and how many rows have a target."""
    dropping = [spec for spec in choice.features if spec.get("drops_rows")]
    parts, n_with_target = [], 0
    for batch in batches:
        rows = used_rows(batch, dropping, target)
        is_held_out = (
            np.zeros(batch.num_rows, dtype=bool) if choice.split is None else held_out_rows(batch, choice.split)
        )
        parts.append(is_held_out[rows.is_kept])
        n_with_target += rows.n_with_target
    return np.concatenate(parts), n_with_target


def _measure(
    batches: Iterator[pa.RecordBatch],
    choice: ColumnChoice,
    target: dict[str, Any],
    measured: TargetMeasure,
    is_trained: Array,
) -> None:
    share = most_words(sum(spec["kind"] == "text" for spec in choice.features))
    features = [FeatureMeasure(spec, most_words=share) for spec in choice.features]
    start = 0
    for batch in batches:
        rows = used_rows(batch, choice.features, target)
        own = is_trained[start : start + int(rows.is_kept.sum())]
        start += len(own)
        for feature, values in zip(features, rows.features, strict=True):
            feature.add(values, own)
        assert rows.target is not None
        measured.add(np.asarray(rows.target), own)
    for feature in features:
        feature.complete()


def _schema_to_predict_on(profiles: Sequence[ColumnProfile]) -> dict[str, Any]:
    """Of a table without targets: scale and categories come from the dataset that the model was trained on."""
    kinds = {"number": "number", "date": "date", "empty": "empty"}
    return {
        "n_examples": profiles[0].n_rows,
        "n_rows": profiles[0].n_rows,
        "input_shape": [len(profiles)],
        "columns": [{"name": profile.name, "kind": kinds.get(profile.raw, "category")} for profile in profiles],
        "file_columns": {profile.name: profile.raw for profile in profiles},
        **_formats_of(profiles),
        "target": None,
        "task": "none",
    }


def _formats_of(profiles: Sequence[ColumnProfile]) -> dict[str, Any]:
    """The part of a schema that says which columns are read as words: as codes, or by a format as numbers."""
    formats = {profile.name: profile.number_format for profile in profiles if profile.number_format is not None}
    codes = [profile.name for profile in profiles if profile.code]
    return {**({"number_formats": formats} if formats else {}), **({"codes": codes} if codes else {})}


def _preview(
    profiles: Sequence[ColumnProfile], rows: Sequence[Mapping[str, Any]], target: str | None
) -> dict[str, Any]:
    shown = [profile.name for profile in profiles if profile.name != target][: N_PREVIEW_COLUMNS - 1]
    shown += [] if target is None else [target]
    return {"kind": "table", "columns": shown, "rows": [[_cell(row[name]) for name in shown] for row in rows]}


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)[:80]
