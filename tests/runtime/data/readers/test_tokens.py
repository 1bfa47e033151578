# SPDX-License-Identifier: Apache-2.0
"""Text becomes numbers and text again; the same text always gives the same vocabulary; documents are packed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlhub.runtime.data.readers import open_split, text, text_file, tokens
from mlhub.runtime.data.readers.text_file import TextFile
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.errors import BadInputError


class Held:
    """A text in memory, as learners take it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def blocks(self) -> Iterator[str]:
        return tokens.blocks(self._text)

    def head(self, n_characters: int) -> str:
        return self._text[:n_characters]


def learn(kind: str, of: str, *, size: int) -> tokens.Tokenizer:
    return tokens.learn(kind, Held(of), size=size)


SONG = "the cat sat on the mat; the dog sat on the cat.\n" * 30 + "größer ist größer als groß 🙂\n"


@pytest.mark.parametrize("kind", tokens.KINDS)
def test_a_vocabulary_survives_being_stored(kind: str) -> None:
    trained = learn(kind, SONG, size=400)
    stored = tokens.from_json(json.loads(json.dumps(trained.to_json())))
    assert stored.size == trained.size
    assert stored.encode(SONG).tolist() == trained.encode(SONG).tolist()
    assert trained.decode(trained.encode(SONG).tolist()) == SONG
    assert max(trained.encode(SONG)) < trained.size
    assert learn(kind, SONG, size=400).to_json() == trained.to_json()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_byte_pairs_write_every_text(unseen: str) -> None:
    trained = learn("bpe", SONG, size=300)
    unseen = unseen.encode(errors="replace").decode()
    assert trained.decode(trained.encode(unseen).tolist()) == unseen


def naive_merges(text_: str, n: int) -> list[tuple[int, int]]:
    """Byte-pair encoding as its paper defines it, counting everything anew each time."""
    words: list[list[int]] = [list(piece.encode()) for piece in tokens.pieces_of([text_])]
    found: list[tuple[int, int]] = []
    for _ in range(n):
        counts: dict[tuple[int, int], int] = {}
        for word in words:
            for pair in pairwise(word):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts or max(counts.values()) < 2:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = [tokens.merge_pair(word, best, 256 + len(found)) for word in words]
        found.append(best)
    return found


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="ab c", min_size=10, max_size=120))
def test_pairs_are_found_as_the_paper_finds_them(of: str) -> None:
    assert learn("bpe", of, size=257 + 12).to_json()["merges"] == [list(p) for p in naive_merges(of, 12)]


def test_frequent_words_become_one_token_and_strange_ones_stay_unknown() -> None:
    trained = learn("word", SONG, size=8)
    assert trained.size == 8
    assert 0 in trained.encode("zebra")
    assert tokens.Words.UNKNOWN in trained.decode(trained.encode("a zebra").tolist())
    pairs = learn("bpe", SONG, size=400)
    assert len(pairs.encode(" the")) == 1


def opened(folder: Path, content: str, **options: object) -> tuple[dict[str, object], list[list[int]], list[list[int]]]:
    path = folder / "t.txt"
    path.write_text(content)
    schema = text.READER.inspect(path, options).schema
    inputs, targets = text.READER.open(path, schema).batch(np.arange(schema["n_examples"]))
    return schema, inputs.tolist(), targets.tolist()


def test_documents_are_packed_end_to_end_and_targets_are_the_next_tokens(tmp_path: Path) -> None:
    content = "\n\n".join(f"a short text, number {i}" for i in range(20))
    schema, inputs, targets = opened(tmp_path, content, documents="paragraphs", context_length=16)
    flat = [token for window in inputs for token in window]
    assert [token for window in targets for token in window][:-1] == flat[1:]
    assert schema["vocabulary_size"] == 257
    assert flat.count(256) in (19, 20), "one end for each document, whose neighbour follows at once"
    trained = tokens.from_json(schema["tokenizer"])  # type: ignore[arg-type]
    assert trained.decode(flat).startswith("a short text, number 0a short text, number 1")


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet="ab \n\t\r\N{LATIN SMALL LETTER O WITH DIAERESIS}\N{SLIGHTLY SMILING FACE}", max_size=120),
    st.integers(1, 9),
    st.integers(2, 20),
)
def test_a_text_read_in_parts_is_cut_like_the_whole(content: str, read_bytes: int, block: int) -> None:
    with tempfile.NamedTemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        file.write(content.encode())
        file.flush()
        patch.setattr(text_file, "READ_BYTES", read_bytes)
        for module in (text_file, tokens):
            patch.setattr(module, "BLOCK_CHARACTERS", block)
        found = TextFile(Path(file.name))
        assert "".join(found.chunks()) == content
        assert found.head(7) == content[:7]
        assert list(found.blocks()) == list(tokens.blocks(content))
        for between in text.DOCUMENTS.values():
            if between is not None:
                assert list(found.documents(between)) == between.split(content)


def test_the_byte_that_is_no_text_is_named_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "READ_BYTES", 4)
    (tmp_path / "t.txt").write_bytes("größer".encode() * 3 + b"\xff more")
    with pytest.raises(BadInputError, match="at byte 24"):
        text.READER.inspect(tmp_path / "t.txt", {})


def test_a_vocabulary_is_stored_with_the_dataset_and_given_to_the_model(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text(SONG)
    schema = text.READER.inspect(path, {"tokenizer": "bpe", "vocabulary_size": 320, "context_length": 8}).schema
    split = open_split("text", path, schema, validation=ValidationSplit())
    assert split.facts["vocabulary_size"] == schema["vocabulary_size"] <= 320
    assert split.facts["tokenizer"] == schema["tokenizer"]
    inputs, targets = split.batch(split.train[:3])
    assert inputs.shape == targets.shape == (3, 8)
    assert int(inputs.max()) < schema["vocabulary_size"]


def test_a_dataset_from_before_vocabularies_is_read_as_bytes(tmp_path: Path) -> None:
    schema, inputs, _ = opened(tmp_path, SONG, context_length=64)
    old = {name: schema[name] for name in ("task", "n_examples", "input_shape", "context_length")}
    again = text.READER.open(tmp_path / "t.txt", old).batch(np.arange(2))[0].tolist()
    assert again == inputs[:2]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"tokenizer": "letters"}, "tokenizer"),
        ({"tokenizer": "bpe", "vocabulary_size": 20}, "vocabulary_size"),
        ({"context_length": "long"}, "context_length"),
        ({"documents": "pages"}, "documents"),
        ({"context_length": 8000}, "file"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, object], field: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as refused:
        opened(tmp_path, SONG, **options)
    assert refused.value.field == field
