# SPDX-License-Identifier: Apache-2.0
"""What the words of a CSV's column say about how its numbers are written, so that no format is guessed against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from mlhub.runtime.data.readers.tables.encoding import NUMERIC_WORD
from mlhub.wire.number_formats import GROUP_MARKS, MARKS, MINUS, NUMBER_FORMATS, PATTERNS, SPACES

# of codes: postcodes and telephone numbers, which may look like whole numbers in groups
CODE = rf"^[+{MINUS}-]?0[0-9]|^\+[0-9]+[{SPACES}]"

LEAST_SHARE = 0.9  # of words with a digit that are numbers, for a column of numbers in several formats
OF_DELIMITER = {";": "comma", ",": "point"}


class NumberEvidence:
    """Of words batch by batch. Words without a digit are signs of a missing value and say nothing.

    formats: those in which every word so far is a number. is_plain: every word is one without a format. contrary: a
    number of each format that the other one does not read, once both came. example: the first word that is not plain.
    """

    def __init__(self) -> None:
        self.formats: tuple[str, ...] = NUMBER_FORMATS
        self.is_plain, self.example = True, ""
        self.contrary: tuple[str, ...] = ()
        self._own_words: dict[str, str] = {}  # by format, the first that only it reads
        self._has_fraction = dict.fromkeys(NUMBER_FORMATS, False)
        self._n_groups: dict[str, set[int]] = {name: set() for name in NUMBER_FORMATS}
        self._is_code = self._has_spaces = self._has_dots = False

    def add(self, words: pa.Array) -> None:
        """words: different, none of them empty. Raises pyarrow's errors."""
        if not self.formats:
            return
        stripped = pc.utf8_trim_whitespace(words)
        given = stripped.filter(pc.match_substring_regex(stripped, "[0-9]"))
        if not len(given):
            return
        is_plain = pc.match_substring_regex(given, NUMERIC_WORD)
        if not self.example and not pc.all(is_plain).as_py():
            self.is_plain = False
            self.example = str(given.filter(pc.invert(is_plain))[0].as_py())[:80]
        reads = {name: pc.match_substring_regex(given, PATTERNS[name]) for name in NUMBER_FORMATS}
        self._note_own_words(given, reads)
        self.formats = tuple(name for name in self.formats if pc.all(reads[name]).as_py())
        if self.formats:
            self._note_shapes(given)

    def is_certain(self, number_format: str) -> bool:
        """Whether the words show this format by themselves: another one does not read them, and they are no codes."""
        return not self.is_plain and self.formats == (number_format,) and not self.looks_like_codes(number_format)

    @property
    def is_ambiguous(self) -> bool:
        """Whether both formats read every word, and they are no codes in either."""
        return self.formats == NUMBER_FORMATS and not all(self.looks_like_codes(name) for name in self.formats)

    @property
    def is_plain_fraction(self) -> bool:
        """Whether the words have decimal points that cannot separate groups, as in 0.5."""
        return self.is_plain and self.formats == ("point",)

    @property
    def is_same_in_both(self) -> bool:
        """Of ambiguous words: whether the formats differ in no value, since only spaces or apostrophes separate."""
        return not any(self._has_fraction.values())

    def looks_like_codes(self, number_format: str) -> bool:
        """Whether they may be codes or IP addresses: with zeros in front, or all of them of equally many groups."""
        if self._is_code:
            return True
        counts = self._n_groups[number_format]
        if self._has_fraction[number_format] or len(counts) != 1:
            return False
        return (self._has_spaces and counts != {0}) or (self._has_dots and counts != {1})

    def _note_own_words(self, given: pa.Array, reads: dict[str, pa.Array]) -> None:
        if pc.sum(pc.or_(*reads.values())).as_py() < LEAST_SHARE * len(given):
            return  # words with some numbers among them
        for name, other in (NUMBER_FORMATS, NUMBER_FORMATS[::-1]):
            if name not in self._own_words:
                own = given.filter(pc.and_not(reads[name], reads[other]))
                if len(own):
                    self._own_words[name] = str(own[0].as_py())[:40]
        if len(self._own_words) == len(NUMBER_FORMATS):
            self.contrary = tuple(self._own_words[name] for name in NUMBER_FORMATS)

    def _note_shapes(self, given: pa.Array) -> None:
        self._is_code = self._is_code or bool(pc.any(pc.match_substring_regex(given, CODE)).as_py())
        for name in self.formats:
            if not self._has_fraction[name]:
                self._has_fraction[name] = bool(pc.any(pc.match_substring(given, MARKS[name])).as_py())
        for name in self.formats:
            if not self._has_fraction[name] and len(self._n_groups[name]) < 2:
                counted = pc.count_substring_regex(given, GROUP_MARKS[name])
                self._n_groups[name] |= set(pc.unique(counted).to_pylist())
        self._has_spaces = self._has_spaces or bool(pc.any(pc.match_substring(given, " ")).as_py())
        self._has_dots = self._has_dots or bool(pc.any(pc.match_substring(given, ".")).as_py())


@dataclass(frozen=True)
class FoundFormats:
    """By column. formats: of those that are read by one. assumed: columns whose words could be of the other one, too.
    open: columns that neither their words, other columns nor the delimiter decide. chosen: those that a person decided.
    """

    formats: dict[str, str] = field(default_factory=dict)
    assumed: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    chosen: set[str] = field(default_factory=set)

    def choose(self, name: str, number_format: str) -> None:
        """Takes what a person has chosen for a column in the place of what was found."""
        self.formats[name] = number_format
        self.chosen.add(name)
        self.assumed.discard(name)
        self.open.discard(name)


def needs_more(evidence: Mapping[str, NumberEvidence]) -> bool:
    """Whether columns that a CSV reader takes for fractions may be whole numbers in groups, as 1.234 may be 1234."""
    return any(found.is_certain("comma") or (found.is_ambiguous and not found.is_plain) for found in evidence.values())


def find_formats(evidence: Mapping[str, NumberEvidence], delimiter: str) -> FoundFormats:
    """By the words of each column; where both formats read them by the other columns, and then by the delimiter.

    Where commas are decimal marks, spreadsheets separate columns by semicolons. Words without a format in an unclear
    column stay so, unless other columns have a decimal comma.
    """
    found = FoundFormats()
    for name, of_column in evidence.items():
        certain = next((each for each in NUMBER_FORMATS if of_column.is_certain(each)), None)
        if certain is not None:
            found.formats[name] = certain
    marks = {*found.formats.values(), *("point" for each in evidence.values() if each.is_plain_fraction)}
    of_columns = marks.pop() if len(marks) == 1 else None
    mark = of_columns or OF_DELIMITER.get(delimiter)
    for name, of_column in evidence.items():
        if name in found.formats or not of_column.is_ambiguous:
            continue
        if of_column.is_plain:
            if of_columns == "comma" and not (of_column.is_same_in_both or of_column.looks_like_codes("comma")):
                found.formats[name] = "comma"
                found.assumed.add(name)
        elif of_column.is_same_in_both:
            found.formats[name] = mark or NUMBER_FORMATS[0]
        elif mark is None:
            found.open.add(name)
        elif not of_column.looks_like_codes(mark):
            found.formats[name] = mark
            found.assumed.add(name)
    return found
