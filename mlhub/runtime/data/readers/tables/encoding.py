# SPDX-License-Identifier: Apache-2.0
"""From a column's values to a model's inputs, by a specification that is plain JSON and travels with the model.

    {"name", "kind": "number", "mean", "std"}                   (value - mean) / std
    {"name", "kind": "category", "categories": [...], "other"}  one input for each category; other: one for all else
    {"name", "kind": "date", "mean", "std", "has_time"}         days since 1970 in standard units; then sine and
                                                                cosine of year and week, and with has_time of the day
    {"name", "kind": "text", "words": [...], "idf": [...],      one input for each word of the vocabulary: its tf-idf
     "length"}                                                  among the first `length` known words of the text
Of every kind: "indicator" adds a last input, which is 1 where the value is missing. What fills a missing value is the
mean, the category "fill" where there is one, or zeros. All of it was measured on training rows. The exports of models
carry a copy of this module: it imports numpy only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Spec = Mapping[str, Any]
FloatColumn = NDArray[np.float64]
DAY_S, YEAR_DAYS, WEEK_DAYS = 86_400.0, 365.2425, 7.0
# a word of a text: letters and digits, with an apostrophe between them; scripts without spaces have a word a character
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:['\u2019][^\W_{UNSPACED}]+)?")
MAX_CHARACTERS, MAX_WORD = 20_000, 50  # that are read of a text, and of a word
MAX_LENGTH = 256  # known words of a text that count
TEXT_NORM = 8.0  # of a text's inputs: several inputs of about 1, as columns in standard units have
NUMERIC_WORD = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"  # of a column of words that is taken as numbers


def width(spec: Spec) -> int:
    """How many inputs a column becomes."""
    own = 1
    if spec["kind"] == "category":
        own = len(spec["categories"]) + bool(spec.get("other"))
    elif spec["kind"] == "date":
        own = 7 if spec.get("has_time") else 5
    elif spec["kind"] == "text":
        own = len(spec["words"])
    return own + bool(spec.get("indicator"))


def encode(spec: Spec, values: NDArray[Any], *, is_learnt: bool) -> FloatColumn:
    """Encodes a column, shape (rows, width). values: float64 with NaN where missing, of dates in
    seconds since 1970, of categories and texts an array of str, empty where missing.

    is_learnt: words that training did not see become zeros. Raises KeyError for such a word otherwise.
    """
    if spec["kind"] == "category":
        is_missing = values == ""
        block = _categories(spec, values, is_learnt=is_learnt)
    elif spec["kind"] == "text":
        is_missing = values == ""
        block = weighted_words(spec, word_numbers(spec, values))
    else:
        is_missing = np.isnan(values)
        block = _number(spec, values)[:, None] if spec["kind"] == "number" else _date(spec, values)
    if not spec.get("indicator"):
        return block
    return np.concatenate([block, np.asarray(is_missing, dtype=np.float64)[:, None]], axis=1)


def _number(spec: Spec, values: FloatColumn) -> FloatColumn:
    standard: FloatColumn = (np.where(np.isfinite(values), values, spec["mean"]) - spec["mean"]) / spec["std"]
    return standard


def _categories(spec: Spec, words: NDArray[Any], *, is_learnt: bool) -> FloatColumn:
    number = {word: i for i, word in enumerate(spec["categories"])}
    unknown = len(number) if spec.get("other") else -1
    if "" not in number:
        number[""] = number.get(spec.get("fill"), -1)
    if is_learnt or unknown >= 0:
        places = np.array([number.get(word, unknown) for word in words], dtype=np.int64)
    else:
        places = np.array([number[word] for word in words], dtype=np.int64)
    block = np.zeros((len(words), len(spec["categories"]) + bool(spec.get("other"))))
    block[np.flatnonzero(places >= 0), places[places >= 0]] = 1.0
    return block


def _date(spec: Spec, seconds: FloatColumn) -> FloatColumn:
    days = seconds / DAY_S
    periods = [YEAR_DAYS, WEEK_DAYS, *([1.0] if spec.get("has_time") else [])]
    columns = [_number(spec, days)]
    for period in periods:
        angle = 2 * np.pi * days / period
        columns += [np.nan_to_num(np.sin(angle)), np.nan_to_num(np.cos(angle))]
    return np.stack(columns, axis=1)


def words_of(text: str) -> list[str]:
    """The words of a text in their order, in small letters."""
    return [word[:MAX_WORD] for word in WORD.findall(text[:MAX_CHARACTERS].lower())]


def word_numbers(spec: Spec, texts: NDArray[Any]) -> NDArray[np.float32]:
    """The places in the vocabulary, from 1 on, of the first words that are in it; 0 after the last one.

    Returns shape (rows, length): what is stored of a text, which is far smaller than its inputs.
    """
    number = {word: i for i, word in enumerate(spec["words"], start=1)}
    found = np.zeros((len(texts), spec["length"]), dtype=np.float32)
    for row, text in enumerate(texts):
        known = [number[word] for word in words_of(text) if word in number][: spec["length"]]
        found[row, : len(known)] = known
    return found


def weighted_words(spec: Spec, numbers: NDArray[Any]) -> FloatColumn:
    """The inputs of texts, shape (rows, words), from their word_numbers().

    A word that comes n times weighs (1 + ln n) * idf; then each text is scaled to the norm TEXT_NORM. One without a
    known word is zeros. Source: Manning, Raghavan, Schuetze, Introduction to Information Retrieval, sec. 6.4.
    """
    n_rows, n_words = numbers.shape[0], len(spec["words"])
    rows, places = np.nonzero(numbers)
    there = rows * n_words + numbers[rows, places].astype(np.int64) - 1
    there, counts = np.unique(there, return_counts=True)  # by row, and in it by word
    rows, words = np.divmod(there, n_words)
    weights = (1.0 + np.log(counts)) * np.asarray(spec["idf"])[words]
    norms = np.sqrt(np.bincount(rows, np.square(weights), minlength=n_rows))
    found = np.zeros((n_rows, n_words))
    found[rows, words] = weights * TEXT_NORM / norms[rows]
    return found
