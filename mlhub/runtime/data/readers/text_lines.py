# SPDX-License-Identifier: Apache-2.0
"""Texts in JSON lines: with a label each, {"text": "...", "label": "..."}, they are classified; without, a language
model learns them, as documents of plain text.

A field called split (train, test, validation ...) says which texts are held out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mlhub.runtime.data.given_split import SPLIT, holds_out
from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult, no_targets, wants_targets
from mlhub.runtime.data.readers.pictures import described_classes
from mlhub.runtime.data.readers.tables.choice import USUAL_TARGETS
from mlhub.runtime.data.readers.tables.json_lines import LineFaults, lines_of, row_of
from mlhub.runtime.data.readers.text import CONTEXT_LENGTH, Windows, chosen_tokenizer, context_length
from mlhub.runtime.data.readers.tokens import first_tokens, from_json
from mlhub.runtime.errors import BadInputError

TEXT_COLUMN = "text"
CLASSIFIED_LENGTH = 2 * CONTEXT_LENGTH  # tokens of a text that is classified, by default
MAX_CLASSES, MAX_LABEL = 10_000, 200
N_PREVIEW, N_AT_ONCE = 12, 4096
REMEDY = 'Write one object a line, such as {"text": "A fine film.", "label": "good"}.'


@dataclass
class _Found:
    """What a pass over the file found. labels: how many texts each class has, held-out ones among them."""

    n_rows: int = 0
    n_characters: int = 0
    n_held_out: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    trained: set[str] = field(default_factory=set)
    shown: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Columns:
    """target, split: None where the file has none, or it is not read."""

    text: str
    target: str | None
    split: str | None


class TextLinesReader:
    """Options: text_column, target, targets, and those of tokens (text.py). Of a text that is classified its first
    context_length tokens are read; a shorter one ends in tokens of the end."""

    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        columns = _columns(path, options)
        found = _look_through(path, columns)
        is_model = columns.target is None and wants_targets(options)
        length = context_length(options, CONTEXT_LENGTH if is_model else CLASSIFIED_LENGTH)
        tokenizer = chosen_tokenizer(options, _Texts(path, columns.text), n_characters=found.n_characters)
        lengths = [len(tokenizer.encode(text)) for text in _Texts(path, columns.text).blocks()]
        schema: dict[str, Any] = {
            "n_examples": found.n_rows,
            "n_rows": found.n_rows,
            "n_held_out": found.n_held_out,
            "input_shape": [length],
            "context_length": length,
            "vocabulary_size": tokenizer.size,
            "tokenizer": tokenizer.to_json(),
            "text_column": columns.text,
            "n_tokens": sum(lengths),
            "n_bytes": path.stat().st_size,
        }
        if is_model:
            schema |= _windows(sum(lengths) + found.n_rows, length, n_bytes=path.stat().st_size)
        else:
            schema |= {"split": columns.split, "n_cut": sum(n > length for n in lengths)}
            schema |= {"task": "none"} if columns.target is None else _classes(columns.target, found)
        return InspectionResult(schema, {"kind": "text", "lines": found.shown})

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        if schema["task"] == "language_modelling":
            return _open_windows(path, schema)
        parts = list(self.parts(path, schema))
        return Examples(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def parts(self, path: Path, schema: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
        if schema["task"] == "language_modelling":
            windows = _open_windows(path, schema)
            for start in range(0, len(windows), N_AT_ONCE):
                inputs, targets = windows.batch(np.arange(start, min(start + N_AT_ONCE, len(windows))))
                yield inputs.numpy().astype(np.uint16), targets.numpy().astype(np.uint16)
            return
        has_targets = schema.get("has_targets", schema["task"] != "none")
        tokenizer, length = from_json(schema["tokenizer"]), schema["context_length"]
        number = {label: i for i, label in enumerate(schema.get("classes", ()))}
        rows = _rows_in_order(path, schema.get("split"))
        while some := list(islice(rows, N_AT_ONCE)):
            tokens = np.stack([first_tokens(tokenizer, str(row[schema["text_column"]]), length) for row in some])
            labels = [number[str(row[schema["target"]])] for row in some] if has_targets else no_targets(len(some))
            yield tokens, np.asarray(labels, dtype=np.int64)

    def scale(self, schema: Mapping[str, Any]) -> float:  # noqa: ARG002 (the protocol's signature)
        return 1.0


READER = TextLinesReader()


class _Texts:
    """The texts of the file, one after another, to learn a vocabulary from."""

    def __init__(self, path: Path, column: str) -> None:
        self._path, self._column = path, column

    def blocks(self) -> Iterator[str]:
        return (str(row_of(line)[self._column]) for _, line in lines_of(self._path))

    def head(self, n_characters: int) -> str:
        found, n = list[str](), 0
        for text in self.blocks():
            found.append(text)
            n += len(text) + 1
            if n >= n_characters:
                break
        return "\n".join(found)[:n_characters]


def _columns(path: Path, options: Mapping[str, Any]) -> _Columns:
    """By the options, else by the first object. Raises BadInputError for a column that is not there."""
    first: dict[str, Any] = {}
    for number, line in lines_of(path):
        try:
            first = row_of(line)
        except ValueError as error:
            raise BadInputError(f"Line {number:,}: {error}.", field="file", remedy=REMEDY) from error
        break
    if not first:
        raise BadInputError("There are no texts in the file.", field="file", remedy=REMEDY)
    known = ", ".join(list(first)[:30])
    text, target = options.get("text_column") or TEXT_COLUMN, None
    if wants_targets(options):
        usual = next((name for name in first if name.lower() in USUAL_TARGETS and name != text), None)
        target = options.get("target") or usual
    for option, name in (("text_column", text), ("target", target)):
        if name is not None and name not in first:
            raise BadInputError(
                f"The first line has no field {name!r}.", field=option, remedy=f"Name one of: {known[:500]}."
            )
    if text == target:
        raise BadInputError(f"{text!r} is the text.", field="target", remedy="Name another field as the target.")
    is_split = target is not None and holds_out(str(first.get(SPLIT))) is not None and SPLIT not in (text, target)
    return _Columns(text, target, SPLIT if is_split else None)


def _look_through(path: Path, columns: _Columns) -> _Found:
    """Raises BadInputError with all faults, each with its line."""
    found, faults = _Found(), LineFaults(REMEDY)
    for number, line in lines_of(path):
        try:
            row = row_of(line)
            text = _text(row, columns.text)
            label = None if columns.target is None else _label(row, columns.target)
            is_held_out = columns.split is not None and _part(row)
        except ValueError as error:
            faults.add(number, str(error))
            continue
        found.n_rows += 1
        found.n_characters += len(text)
        found.n_held_out += is_held_out
        shown = {"text": text[:300]}
        if label is not None:
            found.labels[label] += 1
            shown["label"] = label
            if not is_held_out:
                found.trained.add(label)
        if len(found.shown) < N_PREVIEW:
            found.shown.append(shown)
    faults.check()
    return found


def _text(row: Mapping[str, Any], column: str) -> str:
    text = row.get(column)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{column!r} holds no text")
    if any("\ud800" <= c <= "\udfff" for c in text) or "\0" in text:
        raise ValueError(f"{column!r} holds half of a surrogate pair, or a zero byte, which is no character")
    return text


def _label(row: Mapping[str, Any], column: str) -> str:
    label = row.get(column)
    text = str(label)
    if isinstance(label, bool) or not isinstance(label, str | int) or not text.strip() or len(text) > MAX_LABEL:
        raise ValueError(f"{column!r} holds no class: give a word or a whole number")
    if not text.isprintable():
        raise ValueError(f"{column!r} holds signs that cannot be shown")
    return text


def _part(row: Mapping[str, Any]) -> bool:
    """Whether the row is held out."""
    part = holds_out(str(row.get(SPLIT)))
    if part is None:
        raise ValueError(
            f"{SPLIT!r} holds {str(row.get(SPLIT))[:50]!r}; it is train, test or validation in other lines"
        )
    return part


def _classes(target: str, found: _Found) -> dict[str, Any]:
    unknown = set(found.labels) - found.trained
    if not 2 <= len(found.labels) <= MAX_CLASSES or unknown:
        count = f"There are {len(found.labels):,} classes in {target!r}."
        raise BadInputError(
            f"No text to train on has the class {min(unknown)}." if unknown else count,
            field="target",
            remedy=f"Name a field of 2 to {MAX_CLASSES:,} classes, each of which has texts to train on.",
        )
    return {"target": target, **described_classes(found.labels, sorted(found.labels))}


def _windows(n_tokens: int, length: int, *, n_bytes: int) -> dict[str, Any]:
    n_examples = (n_tokens - 1) // length
    if n_examples < 2:
        raise BadInputError(
            f"The texts have {n_tokens:,} tokens.",
            field="file",
            remedy=f"Give at least {2 * length + 1}, or a shorter context_length.",
        )
    return {
        "task": "language_modelling",
        "n_examples": n_examples,
        "n_tokens": n_tokens,
        "bytes_per_token": n_bytes / n_tokens,
    }


def _open_windows(path: Path, schema: Mapping[str, Any]) -> Windows:
    """The texts end to end, each with its end."""
    tokenizer = from_json(schema["tokenizer"])
    parts = [
        np.append(tokenizer.encode(text), tokenizer.end).astype(np.uint16)
        for text in _Texts(path, schema["text_column"]).blocks()
    ]
    return Windows.of(np.concatenate(parts), schema)


def _rows_in_order(path: Path, split: str | None) -> Iterator[dict[str, Any]]:
    """Those to train on first, then those that are held out."""
    for is_held_out in (False, True) if split else (None,):
        for _, line in lines_of(path):
            row = row_of(line)
            if is_held_out is None or _part(row) is is_held_out:
                yield row
