# SPDX-License-Identifier: Apache-2.0
"""Plain text, for language models: documents as tokens, packed end to end; each example is a window of them, its target
the same window one token on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlhub.runtime.data.readers.examples import Array, Examples, InspectionResult, as_tensor
from mlhub.runtime.data.readers.text_file import TextFile
from mlhub.runtime.data.readers.tokens import KINDS, Text, Tokenizer, from_json, learn
from mlhub.runtime.data.sampling import Indices
from mlhub.runtime.errors import BadInputError

CONTEXT_LENGTH, MAX_CONTEXT_LENGTH = 64, 8192
LEAST_VOCABULARY_SIZE, MAX_VOCABULARY_SIZE = 300, 32_768
USUAL_VOCABULARY_SIZES, CHARACTERS_PER_TOKEN = (512, 8192), 500
FEW_CHARACTERS = 100_000  # too few to learn pieces from
DOCUMENTS = {"whole": None, "paragraphs": re.compile(r"\n[ \t]*\n\s*"), "lines": re.compile(r"\n+")}
MAX_BYTES = 2**31


class TextReader:
    """Options: tokenizer (byte, word, bpe; by default bpe, of short texts byte), vocabulary_size (of word and bpe; by
    default more for longer texts), context_length, documents (whole, paragraphs, lines: the separator becomes one
    token)."""

    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:
        text = _text(path)
        n_characters = n_ends = 0
        for chunk in text.chunks():
            n_characters += len(chunk)
            n_ends += chunk.count("\n")
        documents = _choice(options, "documents", tuple(DOCUMENTS), "whole")
        length = context_length(options, CONTEXT_LENGTH)
        tokenizer = chosen_tokenizer(options, text, n_characters=n_characters)
        n_tokens = sum(len(part) for part in _packed(text, tokenizer, documents))
        n_examples = (n_tokens - 1) // length
        if n_examples < 2:
            raise BadInputError(
                f"The text has {n_tokens:,} tokens.",
                field="file",
                remedy=f"Give at least {2 * length + 1}, or a shorter context_length.",
            )
        n_bytes = path.stat().st_size
        lines = [line for line in text.head(20_000).splitlines() if line.strip()]
        schema = {
            "task": "language_modelling",
            "n_examples": n_examples,
            "input_shape": [length],
            "context_length": length,
            "vocabulary_size": tokenizer.size,
            "tokenizer": tokenizer.to_json(),
            "documents": documents,
            "n_tokens": n_tokens,
            "bytes_per_token": n_bytes / n_tokens,
            "n_bytes": n_bytes,
            "n_lines": n_ends + 1,
        }
        return InspectionResult(schema, {"kind": "text", "lines": [{"text": line[:300]} for line in lines[:12]]})

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        tokenizer = from_json(schema.get("tokenizer"))
        parts = [part.astype(np.uint16) for part in _packed(_text(path), tokenizer, schema.get("documents", "whole"))]
        return Windows.of(np.concatenate(parts), schema)


class Windows(Examples):
    """tokens: (n_tokens,), of which example i takes a stretch of `length` from i * length on."""

    def __init__(self, tokens: Array, *, n_examples: int, length: int) -> None:
        self._tokens, self._n, self._places = tokens, n_examples, np.arange(length)
        self.n_tokens = len(tokens)

    @classmethod
    def of(cls, tokens: Array, schema: Mapping[str, Any]) -> Windows:
        """All windows of the tokens. Raises BadInputError when there is none."""
        length = schema["context_length"]
        # a text that is read in another one's vocabulary has as many windows as that gives
        n_examples = schema.get("n_examples") or (len(tokens) - 1) // length
        if n_examples < 1:
            raise BadInputError(
                f"The text has {len(tokens):,} tokens.", field="dataset", remedy=f"Give at least {length + 1}."
            )
        return cls(tokens, n_examples=n_examples, length=length)

    def __len__(self) -> int:
        return self._n

    def batch(self, indices: Indices) -> Any:
        places = indices[:, None] * len(self._places) + self._places
        return as_tensor(self._tokens[places]), as_tensor(self._tokens[places + 1])


READER = TextReader()


def context_length(options: Mapping[str, Any], usual: int) -> int:
    """Tokens of an example, by the option of that name. Raises BadInputError."""
    return _count(options, "context_length", usual, least=8, most=MAX_CONTEXT_LENGTH)


def chosen_tokenizer(options: Mapping[str, Any], text: Text, *, n_characters: int) -> Tokenizer:
    """By the options tokenizer and vocabulary_size, learned from the text of that length. Raises BadInputError."""
    kind = _choice(options, "tokenizer", KINDS, "byte" if n_characters < FEW_CHARACTERS else "bpe")
    usual = int(np.clip(n_characters // CHARACTERS_PER_TOKEN, *USUAL_VOCABULARY_SIZES))
    size = _count(options, "vocabulary_size", usual, least=LEAST_VOCABULARY_SIZE, most=MAX_VOCABULARY_SIZE)
    return learn(kind, text, size=size)


def _packed(text: TextFile, tokenizer: Tokenizer, documents: str) -> Iterator[Array]:
    """The tokens of all documents, each with its end; in parts. A text that is whole has no end."""
    between = DOCUMENTS[documents]
    if between is None:
        yield from (tokenizer.encode(block) for block in text.blocks())
        return
    end = np.array([tokenizer.end], dtype=np.int32)
    for document in text.documents(between):
        if document.strip():
            yield np.concatenate([tokenizer.encode(document), end])


def _text(path: Path) -> TextFile:
    if path.stat().st_size > MAX_BYTES:
        raise BadInputError(
            f"The text has more than {MAX_BYTES:,} bytes.", field="file", remedy="Split it into several datasets."
        )
    return TextFile(path)


def _choice(options: Mapping[str, Any], name: str, choices: tuple[str, ...], default: str) -> str:
    value = options.get(name, default)
    if value not in choices:
        raise BadInputError(f"{name} is {value!r}.", field=name, remedy=f"One of {', '.join(choices)}.")
    return str(value)


def _count(options: Mapping[str, Any], name: str, default: int, *, least: int, most: int) -> int:
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadInputError(f"{name} is {value!r}.", field=name, remedy=f"Give a number from {least} to {most:,}.")
    return value
