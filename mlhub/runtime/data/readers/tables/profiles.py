# SPDX-License-Identifier: Apache-2.0
"""What the first look at a table finds in each column, batch by batch, so that no table has to fit into memory."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mlhub.runtime.data.readers.tables import values as column_values
from mlhub.runtime.data.readers.tables.encoding import WORD
from mlhub.runtime.data.readers.tables.number_evidence import NumberEvidence
from mlhub.runtime.data.readers.tables.values import Values, with_zeros_in_front

MAX_CATEGORIES = 100
MAX_TRACKED = 20_000  # different values that are counted; a column of more is no category
N_EXAMPLES = 5
N_SAMPLED = 200  # different values of a batch whose words are counted
IDENTIFIER_NAME = re.compile(r"(^$|^unnamed: ?0$|(^|[_\s.-])(id|uuid|guid|idx|index|rowid|key)$)", re.IGNORECASE)
CAMEL_IDENTIFIER = re.compile(r"[a-z](Id|ID)$")
LEAST_ROWS_OF_IDENTIFIERS = 20  # all different words in fewer rows may be categories
LEAST_WORDS_OF_TEXT = 3.0  # on average of a column's values; in scripts without spaces characters
LEAST_NUMERIC_SHARE = 0.9  # of words that are numbers; the rest is taken for signs of a missing value
# by their shape, digits as 9 and years as Y; of those of one shape the first one is taken while both fit
DAY_FORMATS = {
    "Y-9-9": ("%Y-%m-%d",),
    "Y/9/9": ("%Y/%m/%d",),
    "9/9/Y": ("%m/%d/%Y", "%d/%m/%Y"),
    "9.9.Y": ("%d.%m.%Y",),
    "9-9-Y": ("%d-%m-%Y",),
}
TIME_FORMATS = {"": "", " 9:9": " %H:%M", " 9:9:9": " %H:%M:%S", "T9:9:9": "T%H:%M:%S"}
SHAPES = {f"{day}{time}": (day, time) for day in DAY_FORMATS for time in TIME_FORMATS}


class DateFormats:
    """Which formats read all words of a column so far. Every shape that dates have in it is read in one format."""

    def __init__(self) -> None:
        self._days: dict[str, tuple[str, ...]] = {}  # by shape: those that read all of its words
        self._shapes: list[str] = []
        self.unread = ""  # the first word that none reads

    def add(self, unique: pa.Array) -> tuple[float, float] | None:
        """Returns the bounds of the words in seconds, however they may be read; None once they are not all dates."""
        if self.unread or not len(unique):
            return None
        shapes = _shapes_of(unique)
        least, most = np.inf, -np.inf
        for shape in pc.unique(shapes).to_pylist():
            words = unique.filter(pc.equal(shapes, shape))
            day, time = SHAPES.get(shape, ("", ""))
            tried = {name: self._read(words, name, time) for name in self._days.get(day, DAY_FORMATS.get(day, ()))}
            read = {name: found for name, found in tried.items() if np.isfinite(found).all()}
            if not read:
                is_read = np.isfinite(next(reversed(tried.values()))) if tried else np.zeros(len(words))
                self.unread = str(words[int(np.argmin(is_read))])
                return None
            self._days[day] = tuple(read)
            self._shapes += [shape] if shape not in self._shapes else []
            found = np.concatenate(list(read.values()))
            least, most = min(least, float(found.min())), max(most, float(found.max()))
        return least, most

    @property
    def names(self) -> tuple[str, ...]:
        """By which the words are read, in turn; () if they are not all dates, or there are none."""
        if self.unread:
            return ()
        return tuple(f"{self._days[day][0]}{TIME_FORMATS[time]}" for day, time in map(SHAPES.__getitem__, self._shapes))

    @property
    def is_ambiguous(self) -> bool:
        """Whether day and month could be the other way round."""
        return any(len(found) > 1 for found in self._days.values())

    @staticmethod
    def _read(words: pa.Array, day: str, time: str) -> Any:
        return column_values.seconds(words, (f"{day}{TIME_FORMATS[time]}",))


def _shapes_of(words: pa.Array) -> pa.Array:
    years = pc.replace_substring_regex(pc.utf8_trim_whitespace(words), r"[0-9]{4}", "Y")
    return pc.replace_substring_regex(years, r"[0-9]{1,2}", "9")


class ColumnProfile:
    """raw: what the file stores (values.raw_type). minimum, maximum: bounds of numbers, or of dates in seconds.

    n_numeric: values that are numbers, or words that look like one.
    number_format: by which words are read as numbers; where a person has chosen it, they are numbers. evidence: of
    formats, of words in a file that may have any; it is collected where no format is given. code: a word with zeros in
    front of a whole number, as postcodes have, which is then no number; "" for none.
    """

    def __init__(
        self,
        name: str,
        kind: pa.DataType,
        *,
        number_format: str | None = None,
        evidence: NumberEvidence | None = None,
        collects: bool = False,
    ) -> None:
        self.name, self.raw = name, column_values.raw_type(kind)
        self.is_fraction = pa.types.is_floating(kind)
        self.number_format = number_format
        self.is_format_assumed = self.is_format_open = self.is_format_chosen = False
        self.evidence = NumberEvidence() if collects and self.raw == "word" else evidence
        self._collects = collects
        self.n_rows = self.n_missing = self.n_numeric = 0
        self._n_sampled = self._n_words = 0  # of the values whose words are counted
        self.minimum, self.maximum = np.inf, -np.inf
        self.is_whole, self.code = True, ""
        self._dates = DateFormats()
        self.examples: list[str] = []
        self._counts: Counter[Any] | None = Counter()  # None: more than MAX_TRACKED

    def add(self, values: Values) -> None:
        """Adds the values of the next rows. Raises pyarrow's errors."""
        self.n_rows += len(values)
        if self.raw == "word":
            self._add_words(values)
        elif self.raw in ("number", "date"):
            found = column_values.numbers(values) if self.raw == "number" else column_values.seconds(values, ())
            self._add_numbers(found)
        else:
            self.n_missing += values.null_count
        if len(self.examples) < N_EXAMPLES:
            shown = [str(value)[:80] for value in values.slice(0, 200).to_pylist() if value not in (None, "")]
            self.examples = list(dict.fromkeys([*self.examples, *shown]))[:N_EXAMPLES]

    @property
    def date_formats(self) -> tuple[str, ...]:
        """Of words that are all dates: each is read by the first one that reads it."""
        return self._dates.names

    @property
    def is_date_ambiguous(self) -> bool:
        return bool(self.date_formats) and self._dates.is_ambiguous

    @property
    def no_date(self) -> str:
        """The first word that is no date of a known format; "" for none."""
        return self._dates.unread

    @property
    def n_values(self) -> int:
        return self.n_rows - self.n_missing

    @property
    def n_distinct(self) -> int | None:
        """None: more than MAX_TRACKED."""
        return None if self._counts is None else len(self._counts)

    @property
    def type(self) -> str:
        """number, category, date, text; or, for what is better left out: identifier, constant, empty, other."""
        if self.raw == "other":
            return "other"
        if not self.n_values:
            return "empty"
        # of numbers, even constant ones are kept: they may be pixels, whose places a model counts on
        if self.n_distinct == 1 and not self.n_missing and self.raw == "word" and not self._are_numbers:
            return "constant"
        if self.raw == "word":
            return self._type_of_words()
        is_identifier = self.raw == "number" and self.is_whole and _is_identifier_name(self.name)
        return "identifier" if is_identifier and self.n_distinct in (None, self.n_values) else self.raw

    def top(self, n: int) -> list[tuple[str, int]]:
        """The most frequent words with their counts; of equally frequent ones the alphabet decides."""
        if self.raw != "word" or self._counts is None:
            return []
        return sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))[:n]

    def _type_of_words(self) -> str:
        if self.date_formats:
            return "date"
        if self._are_numbers and (self.n_numeric >= LEAST_NUMERIC_SHARE * self.n_values or self.is_format_chosen):
            return "number"
        n_distinct = self.n_distinct
        if n_distinct is not None and n_distinct <= MAX_CATEGORIES:
            is_mostly_different = n_distinct > self.n_values / 2 and self.n_values >= LEAST_ROWS_OF_IDENTIFIERS
            if is_mostly_different and self._is_text:
                return "text"
            return "identifier" if is_mostly_different and n_distinct == self.n_values else "category"
        if n_distinct is not None and n_distinct <= self.n_values / 2:
            return "category"
        return "text" if self._is_text else "identifier"

    @property
    def _are_numbers(self) -> bool:
        """Whether there are any, of words whose zeros in front may be left out."""
        return self.n_numeric > 0 and (not self.code or self.is_format_chosen)

    @property
    def _is_text(self) -> bool:
        return self._n_words >= LEAST_WORDS_OF_TEXT * max(1, self._n_sampled)

    def _add_numbers(self, found: Any) -> None:
        finite = found[np.isfinite(found)]
        self.n_missing += len(found) - len(finite)
        self.n_numeric += len(finite)
        if not len(finite):
            return
        self.minimum, self.maximum = min(self.minimum, float(finite.min())), max(self.maximum, float(finite.max()))
        self.is_whole = self.is_whole and bool((np.mod(finite, 1) == 0).all())
        if self._counts is not None:
            self._count(Counter(dict.fromkeys(np.unique(finite).tolist(), 1)))

    def _add_words(self, values: Values) -> None:
        counted, counts = pc.value_counts(values), Counter[str]()
        for word, n in zip(
            column_values.words(counted.field("values")), counted.field("counts").to_pylist(), strict=True
        ):
            counts[word] += n
        self.n_missing += counts.pop("", 0)
        for word in islice(counts, N_SAMPLED):
            self._n_sampled += 1
            self._n_words += sum(len(WORD.findall(part)) if not part.isascii() else 1 for part in word[:500].split())
        unique = pa.array(list(counts), pa.string())
        as_numbers = column_values.numbers(unique, self.number_format)
        is_number = np.isfinite(as_numbers)
        self.n_numeric += sum(n for n, is_it in zip(counts.values(), is_number, strict=True) if is_it)
        if is_number.any():
            self.minimum = min(self.minimum, float(as_numbers[is_number].min()))
            self.maximum = max(self.maximum, float(as_numbers[is_number].max()))
        if not self.code:
            self.code = with_zeros_in_front(unique)
        if (bounds := self._dates.add(unique)) is not None:
            self.minimum, self.maximum = min(self.minimum, bounds[0]), max(self.maximum, bounds[1])
        if self._collects and self.evidence is not None:
            self.evidence.add(unique)
        if self._counts is not None:
            self._count(counts)

    def _count(self, counts: Counter[Any]) -> None:
        assert self._counts is not None
        self._counts.update(counts)
        if len(self._counts) > MAX_TRACKED:
            self._counts = None


def _is_identifier_name(name: str) -> bool:
    return bool(IDENTIFIER_NAME.search(name.strip()) or CAMEL_IDENTIFIER.search(name.strip()))
