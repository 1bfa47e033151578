# SPDX-License-Identifier: Apache-2.0
"""Texts in JSON lines: with labels they are classified, without they are learned as plain text is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mlhub.runtime.data import readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.readers import prepared, text_lines, tokens
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.exported_model.inputs import InputReader
from mlhub.runtime.inspection.dry_run import try_out
from mlhub.runtime.prediction.schema_compatibility import TrainedSchema, schema_for_model
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.datasets.files import reviews
from tests.runtime.gang import Gang

OPTIONS = {
    "learning_rate": 0.05,
    "width": 16,
    "class_weights": "balanced",
    "sampling": "balanced",
    "validation_stratified": True,
}


def written(folder: Path, *lines: Any, name: str = "texts.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def schema_of(path: Path, **options: Any) -> dict[str, Any]:
    return readers.inspect("text_lines", path, options).schema


def test_a_text_becomes_its_first_tokens_and_as_many_ends_as_are_missing(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": "né", "label": 1}, {"text": "a long text", "label": 0})
    found = readers.inspect("text_lines", path, {"context_length": 8})
    assert found.preview["lines"][0] == {"text": "né", "label": "1"}
    assert (found.schema["classes"], found.schema["n_cut"]) == (["0", "1"], 1)
    inputs, targets = readers.open_all("text_lines", path, found.schema).batch(np.arange(2))
    assert inputs.tolist() == [[*"né".encode(), 256, 256, 256, 256, 256], list(b"a long t")]
    assert targets.tolist() == [1, 0]


def test_rows_with_a_part_are_held_out_whatever_their_order(tmp_path: Path) -> None:
    parts = ("test", "train", "Validation", "train", "train")
    rows = [{"text": f"text {i}", "label": "ab"[i % 2], "split": part} for i, part in enumerate(parts)]
    rows[4]["label"], rows[0]["label"] = "a", "b"
    path = written(tmp_path, *rows)
    schema = schema_of(path, context_length=8)
    split = readers.open_split("text_lines", path, schema, validation=ValidationSplit())
    inputs, _ = split.batch(np.concatenate([split.train, split.held_out]))
    read = [bytes(row[:6]).decode() for row in inputs.tolist()]
    assert (read, len(split.held_out)) == (["text 1", "text 3", "text 4", "text 0", "text 2"], 2)


def test_texts_without_labels_are_learned_as_the_documents_of_a_plain_text_are(tmp_path: Path) -> None:
    documents = [f"the tale of {i} words, and of {i * i} more" for i in range(40)]
    lines = written(tmp_path, *({"text": each} for each in documents))
    plain = tmp_path / "plain.txt"
    plain.write_text("\n".join(documents))
    options = {"tokenizer": "byte", "context_length": 16}
    expected = readers.inspect("text", plain, {**options, "documents": "lines"}).schema
    schema = schema_of(lines, **options)
    for name in ("task", "n_examples", "n_tokens", "vocabulary_size"):
        assert schema[name] == expected[name]
    everything = np.arange(schema["n_examples"])
    both = (readers.open_all("text", plain, expected), readers.open_all("text_lines", lines, schema))
    for one, other in zip(*(examples.batch(everything) for examples in both), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("fields", [{}, {"label": "a"}])
def test_what_is_mapped_is_what_would_have_been_loaded(
    fields: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_lines, "N_AT_ONCE", 7)
    rows = [{"text": f"number {i} of them", **fields} for i in range(40)]
    path = written(tmp_path, *rows, *([{"text": "another", "label": "b"}] if fields else []))
    schema = schema_of(path, tokenizer="bpe", vocabulary_size=300, context_length=12)
    loaded = readers.open_all("text_lines", path, schema)
    monkeypatch.setattr(prepared, "SMALL_BYTES", 10)
    mapped = readers.open_all("text_lines", path, schema, cache=NodeCache(tmp_path / "cache"), sha256="ab")
    everything = np.arange(len(loaded))
    for one, other in zip(mapped.batch(everything), loaded.batch(everything), strict=True):
        assert torch.equal(one, other)


UNSOUND = {
    "an empty file": ([], {}, "file", "no texts"),
    "no text": ([{"label": 1}], {}, "text_column", "no field 'text'"),
    "an unknown target": ([{"text": "a"}], {"target": "stars"}, "target", "no field 'stars'"),
    "the text as target": ([{"text": "a"}], {"target": "text"}, "target", "is the text"),
    "one class": ([{"text": "a", "label": 1}] * 3, {}, "target", "1 classes"),
    "a class that is held out only": (
        [{"text": "a", "label": n, "split": part} for n, part in ((1, "train"), (2, "train"), (3, "test"))],
        {}, "target", "class 3",
    ),
    "a part that is none": (
        [{"text": "a", "label": 1, "split": "train"}, {"text": "a", "label": 2, "split": "later"}],
        {}, "file", "Line 2: 'split' holds 'later'",
    ),
    "faults in lines": (
        [{"text": "a", "label": 1}, {"text": 3, "label": 1}, {"text": "a", "label": 1.5}, "no"],
        {}, "file", "Line 2.*\n.*Line 3.*\n.*Line 4",
    ),
    "a short text": ([{"text": "a"}], {}, "file", "2 tokens"),
    "a tokenizer that is not known": ([{"text": "a"}], {"tokenizer": "x"}, "tokenizer", "'x'"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSOUND)
def test_what_cannot_be_learned_from_is_named(name: str, tmp_path: Path) -> None:
    lines, options, field, words = UNSOUND[name]
    with pytest.raises(BadInputError, match=words) as refused:
        schema_of(written(tmp_path, *lines), **options)
    assert (refused.value.field, bool(refused.value.remedy)) == (field, True)


@pytest.mark.slow
def test_reviews_are_classified_on_two_workers_and_a_row_is_read_as_in_training(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_bytes(reviews(80))
    gang = Gang(
        tmp_path, path, format="text_lines", model=ModelSpec(kind="builtin", entry="text_cnn"),
        training=TrainingSpec(epochs=4, batch_size=8, hyperparameters=OPTIONS),
    )  # fmt: skip
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["metrics"]["eval/accuracy"] == 1.0
    schema = schema_of(path)
    row = InputReader({"format": "text_lines", "facts": readers.facts_of(schema)})
    (inputs,) = row.tensors([{"text": "A dull film, number 0."}])
    assert torch.equal(inputs, readers.open_all("text_lines", path, schema).batch(np.arange(1))[0])


def test_a_file_to_predict_on_is_read_in_the_vocabulary_of_the_model(tmp_path: Path) -> None:
    trained = tmp_path / "reviews.jsonl"
    trained.write_bytes(reviews(40))
    schema = schema_of(trained, tokenizer="word", context_length=8)
    given = written(tmp_path, *({"body": f"A fine film {i}"} for i in range(3)), name="new.jsonl")
    found = schema_of(given, text_column="body", targets="none", tokenizer="byte")
    merged = schema_for_model(
        TrainedSchema("text_lines", schema), TrainedSchema("text_lines", found), needs_targets=False
    )
    inputs, _ = readers.open_all("text_lines", given, merged).batch(np.arange(3))
    expected = tokens.first_tokens(tokens.from_json(schema["tokenizer"]), "A fine film 2", 8)
    assert (merged["n_examples"], inputs[2].tolist()) == (3, expected.tolist())


@pytest.mark.parametrize(("entry", "rows"), [("tiny_transformer", 80), ("small_cnn", 80)])
def test_a_model_of_another_kind_is_refused_with_the_one_to_use(entry: str, rows: int, tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_bytes(reviews(rows))
    gang = Gang(tmp_path, path, format="text_lines", model=ModelSpec(kind="builtin", entry=entry))
    with pytest.raises(BadInputError) as refused:
        try_out(gang.spec(), {"data": path}, code=tmp_path / "code")
    assert "text_cnn" in refused.value.remedy
