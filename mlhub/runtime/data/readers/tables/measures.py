# SPDX-License-Identifier: Apache-2.0
"""Measures of a table's columns: those of training rows, by which inputs are scaled, and those that people look at."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from mlhub.runtime.data.readers.examples import Array
from mlhub.runtime.data.readers.tables.encoding import DAY_S
from mlhub.runtime.data.readers.tables.profiles import MAX_CATEGORIES, MAX_TRACKED
from mlhub.runtime.data.readers.tables.vocabulary import TextVocabulary

N_BINS = 20
MAX_CLASSES = 1000
MAX_CLASSES_OF_INTEGERS = 100


class ColumnMoments:
    """Mean and deviation of one column. Source: Chan, Golub, LeVeque (1979), pairwise."""

    def __init__(self) -> None:
        self.n, self.mean, self._squares = 0, 0.0, 0.0

    def add(self, values: Array) -> None:
        """values: shape (n,), finite."""
        if not len(values):
            return
        mean, before = float(values.mean()), self.n
        self.n += len(values)
        step = mean - self.mean
        self._squares += float(np.square(values - mean).sum()) + step * step * before * len(values) / self.n
        self.mean = mean if not before else self.mean + step * len(values) / self.n

    @property
    def std(self) -> float:
        """0.0 of a column without values."""
        return math.sqrt(self._squares / self.n) if self.n else 0.0


class Histogram:
    """Counts of numbers in N_BINS bins of equal width between bounds that are known before."""

    def __init__(self, minimum: float, maximum: float) -> None:
        self._edges = np.linspace(minimum, maximum, N_BINS + 1) if minimum < maximum else np.array([minimum, minimum])
        self._counts = np.zeros(len(self._edges) - 1, dtype=np.int64)

    def add(self, values: Array) -> None:
        """values: shape (n,), finite."""
        if len(self._counts) == 1:
            self._counts += len(values)
        else:
            self._counts += np.histogram(values, self._edges)[0]

    def described(self) -> dict[str, Any]:
        return {"edges": self._edges.tolist(), "counts": self._counts.tolist()}


class FeatureMeasure:
    """Completes a feature's specification by its training rows: mean and std, categories, and what fills in.

    most_words: of the vocabulary of a text.
    """

    def __init__(self, spec: dict[str, Any], *, most_words: int) -> None:
        self._vocabulary = TextVocabulary(most_words) if spec["kind"] == "text" else None
        self._spec, self._moments, self._counts = spec, ColumnMoments(), Counter[str]()
        self._other: set[str] = set()  # words of held-out rows, which get an input as well
        self._has_time = False

    def add(self, values: Array, is_trained: Array) -> None:
        """values: of kept rows, as values_of() gives them. is_trained: whether each row is trained on."""
        if self._vocabulary is not None:
            self._vocabulary.add(values[is_trained])
            return
        if self._spec["kind"] == "category":
            if len(self._counts) + len(self._other) <= MAX_TRACKED:
                self._counts.update(word for word in values[is_trained] if word)
                self._other |= {word for word in values[~is_trained] if word}
            return
        scaled = values / DAY_S if self._spec["kind"] == "date" else values
        own = scaled[is_trained]
        self._moments.add(own[np.isfinite(own)])
        self._has_time = self._has_time or bool((np.mod(values[np.isfinite(values)], DAY_S) != 0).any())

    def complete(self) -> None:
        """Writes what was measured into the specification. A constant feature has a deviation of 1."""
        spec = self._spec
        if self._vocabulary is not None:
            spec |= self._vocabulary.described()
            return
        if spec["kind"] != "category":
            spec |= {"mean": self._moments.mean, "std": self._moments.std or 1.0}
            if spec["kind"] == "date":
                spec["has_time"] = self._has_time
            return
        by_frequency = sorted(self._counts, key=lambda word: (-self._counts[word], word))
        every = sorted({*by_frequency, *self._other})
        spec["other"] = len(every) > MAX_CATEGORIES
        spec["categories"] = sorted(by_frequency[:MAX_CATEGORIES]) if spec["other"] else every
        if not spec["indicator"] and by_frequency:
            spec["fill"] = by_frequency[0]


class TargetMeasure:
    """Few different whole numbers, and words, are classes; everything else is a regression. asked: number, category."""

    def __init__(self, kind: str, asked: str | None) -> None:
        self._is_number, self._asked = kind == "number", asked
        self._moments, self._n = ColumnMoments(), 0
        self._counts: Counter[Any] | None = None if asked == "number" else Counter()  # None: they are no classes

    def add(self, values: Array, is_trained: Array) -> None:
        """values: of kept rows, none of them missing."""
        if self._is_number:
            self._moments.add(values[is_trained])
        if self._counts is None:
            return
        self._counts.update(values.tolist())
        is_whole = not self._is_number or bool((np.mod(values, 1) == 0).all())
        most = MAX_CLASSES_OF_INTEGERS if self._is_number and self._asked is None else 100 * MAX_CLASSES
        if not is_whole or len(self._counts) > most:
            self._counts = None

    def described(self) -> dict[str, Any]:
        """The target's part of the schema. Raises ValueError with a message where nothing can be learned."""
        if self._counts is None:
            if not self._is_number or self._asked == "category":
                raise ValueError("has too many different values, or fractions, to be classes")
            return {"task": "regression", "target_mean": self._moments.mean, "target_std": self._moments.std}
        counts = {int(value): n for value, n in self._counts.items()} if self._is_number else dict(self._counts)
        classes = sorted(counts)
        if not 2 <= len(classes) <= MAX_CLASSES:
            found = "class" if len(classes) == 1 else "classes"
            raise ValueError(f"has {len(classes):,} {found}; between 2 and {MAX_CLASSES:,} can be learned")
        n_each = [counts[c] for c in classes]
        return {"task": "classification", "n_classes": len(classes), "classes": classes, "class_counts": n_each}
