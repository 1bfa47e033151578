# SPDX-License-Identifier: Apache-2.0
"""A process that waits between rounds collects garbage then, and not within them."""

from __future__ import annotations

import gc

from scheduler.commands.garbage_collection import collection_between_rounds


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def alive() -> int:
    return sum(isinstance(thing, Cycle) for thing in gc.get_objects())


def test_garbage_stays_until_the_round_has_ended() -> None:
    before = gc.get_threshold()
    with collection_between_rounds() as round_ended:
        for _ in range(2000):
            Cycle()
        kept = [[] for _ in range(60_000)]
        assert alive() == 2000
        round_ended()
        assert alive() == 0
    assert len(kept) == 60_000
    assert gc.get_threshold() == before
    gc.unfreeze()
