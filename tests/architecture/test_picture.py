# SPDX-License-Identifier: Apache-2.0
"""The picture of the components in ARCHITECTURE.md is that of the code."""

from __future__ import annotations

from tests.architecture import picture


def test_the_committed_picture_is_drawn_from_the_code() -> None:
    assert picture.committed() == picture.picture(), "draw it again with: make picture"


def test_arrows_that_follow_from_others_are_left_out() -> None:
    edges = {"a": frozenset({"b", "c"}), "b": frozenset({"c"}), "c": frozenset()}
    assert picture.reduced(edges) == {"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset()}
