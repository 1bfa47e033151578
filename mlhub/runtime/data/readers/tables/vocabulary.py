# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of a table's column of texts: the words that come in most training rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from mlhub.runtime.data.readers.tables.encoding import MAX_LENGTH, words_of

MAX_WORDS = 2000  # of a table's vocabularies, which its columns of texts share evenly
LEAST_WORDS = 100  # of a column, however many there are
LEAST_ROWS = 2  # in which a word must come; where no word does, one is enough
MAX_COUNTED = 300_000  # words; of more, those that came in one row so far are forgotten


class TextVocabulary:
    """Counts in how many texts each word comes. Memory stays bounded: see MAX_COUNTED.

    Source: Manku and Motwani, VLDB '02, whose lossy counting also forgets rare words.
    """

    def __init__(self, most_words: int) -> None:
        self._most_words = most_words
        self._rows, self._n_rows, self._longest = Counter[str](), 0, 0

    def add(self, texts: Iterable[str]) -> None:
        """Adds texts of training rows; missing ones are empty."""
        for text in texts:
            found = words_of(text)
            self._n_rows += 1
            self._longest = max(self._longest, len(found))
            self._rows.update(set(found))
            if len(self._rows) > MAX_COUNTED:
                self._forget_rare()

    def described(self) -> dict[str, Any]:
        """The part of the specification: the words by the alphabet, their idf, and how many of a text are kept."""
        frequent = {word: n for word, n in self._rows.items() if n >= LEAST_ROWS} or self._rows
        words = sorted(sorted(frequent, key=lambda word: (-frequent[word], word))[: self._most_words])
        idf = [round(1.0 + math.log((1 + self._n_rows) / (1 + self._rows[word])), 6) for word in words]
        return {"words": words, "idf": idf, "length": max(1, min(self._longest, MAX_LENGTH))}

    def _forget_rare(self) -> None:
        least = 2
        while len(self._rows) > MAX_COUNTED / 2:
            self._rows = Counter({word: n for word, n in self._rows.items() if n >= least})
            least *= 2


def most_words(n_texts: int) -> int:
    """How many words each of a table's columns of texts may have."""
    return max(LEAST_WORDS, MAX_WORDS // max(1, n_texts))
