# SPDX-License-Identifier: Apache-2.0
"""LIKE and ILIKE of MLflow's filters: what they match, and that no pattern takes longer than text and pattern say."""

from __future__ import annotations

import pytest

from mlhub.core.errors import InvalidInputError
from mlhub.tracking.filters import read_filter, read_orders


def holds(sign: str, pattern: str, text: str) -> bool:
    [comparison] = read_filter(f"tags.note {sign} '{pattern}'")
    return comparison.holds(text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("abc", "abc", True), ("abc", "abcd", False), ("a%", "abc", True), ("%c", "abc", True), ("%b%", "abc", True),
        ("%%b%%", "abc", True), ("a_c", "abc", True), ("a_c", "ac", False), ("%", "", True), ("_", "", False),
        ("ab%ba", "aba", False), ("ab%ba", "abba", True), ("%ab%ab", "abab", True), ("%a_%_b", "xacdb", True),
        ("%aab%", "aaab", True), ("a%b%c", "axxbxxc", True), ("a%b%c", "axxcxxb", False), ("a.c", "abc", False),
        ("%\n%", "a\nb", True),
    ],
)  # fmt: skip
def test_a_pattern_matches_as_in_sql(pattern: str, text: str, expected: bool) -> None:
    assert holds("LIKE", pattern, text) is expected


def test_ilike_ignores_case_and_like_does_not() -> None:
    assert holds("ILIKE", "%MODEL_%", "my-model1")
    assert not holds("LIKE", "%MODEL_%", "my-model1")


def test_a_hostile_pattern_is_compared_without_backtracking() -> None:
    assert not holds("LIKE", "%a" * 19 + "%x", "a" * 8000)  # 8000 ** 19 steps for one that goes back


@pytest.mark.parametrize("pattern", ["%a" * 21, "a" * 251])
def test_a_pattern_beyond_the_limits_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInputError, match="too long"):
        read_filter(f"tags.note LIKE '{pattern}'")


def test_more_comparisons_or_orders_than_the_limit_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="20 comparisons"):
        read_filter(" AND ".join(["metrics.a > 1"] * 21))
    with pytest.raises(InvalidInputError, match="20 columns"):
        read_orders(["metrics.a"] * 21)
