# SPDX-License-Identifier: Apache-2.0
"""Numbers of things in messages."""

from __future__ import annotations

from mlhub.wire.words import counted


def test_one_thing_is_in_the_singular_and_thousands_are_told_apart() -> None:
    assert [counted(n, "worker") for n in (0, 1, 2, 1200)] == ["0 workers", "1 worker", "2 workers", "1,200 workers"]
