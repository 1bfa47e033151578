# SPDX-License-Identifier: Apache-2.0
"""Numbers of things in messages."""

from __future__ import annotations

from mlhub.wire.words import counted, counted_words, hours_text, of_them, too_many


def test_one_thing_is_in_the_singular_and_thousands_are_told_apart() -> None:
    assert [counted(n, "worker") for n in (0, 1, 2, 1200)] == ["0 workers", "1 worker", "2 workers", "1,200 workers"]


def test_a_noun_in_the_plural_is_one_thing_in_the_singular() -> None:
    assert [counted_words(n, "studies") for n in (1, 2)] == ["1 study", "2 studies"]
    assert [counted_words(n, "logged models") for n in (0, 1)] == ["0 logged models", "1 logged model"]
    assert [too_many(n) for n in (1, 1200)] == ["1 is too many", "1,200 are too many"]
    assert [of_them(n) for n in (0, 1)] == ["0 of them are", "1 of them is"]


def test_gpu_hours_are_digits_however_many_they_are() -> None:
    hours = (0, 10, 10.5, 0.0042, 1234567.891, 1e9)
    assert [hours_text(one) for one in hours] == ["0", "10", "10.5", "0.0042", "1,234,567.89", "1,000,000,000"]
