# SPDX-License-Identifier: Apache-2.0
"""Reads the whole chain of events and says whether it is as it was written."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from mlhub.core.locks import lock_until_commit
from mlhub.events.chain import GENESIS, hash_of
from mlhub.events.models import ChainHead, Event

ROWS = 2000  # that are in memory at a time


@dataclass(frozen=True)
class Verification:
    """n_events: that were read. head: the hash of the newest. problem: "" when the chain is intact."""

    n_events: int
    head: str
    problem: str = ""

    @property
    def is_intact(self) -> bool:
        return not self.problem


def verify(*, expected: str = "") -> Verification:
    """Stops at the first event that is wrong. expected: a head of earlier, which must still be in the chain; it finds
    a chain that was rewritten as a whole, or cut at its end."""
    with transaction.atomic():
        lock_until_commit("events")  # no event is appended between reading the head and the last event
        head = ChainHead.objects.filter(pk=1).first()
        previous, n_events, is_expected_there = head.first_hash if head else GENESIS, 0, not expected
        is_expected_there |= previous == expected
        for event in Event.objects.order_by("id").iterator(chunk_size=ROWS):
            if event.previous_hash != previous:
                found = f"Before event {event.id} an event was deleted, inserted or moved."
                return Verification(n_events, previous, found)
            if hash_of(event, previous) != event.hash:
                return Verification(n_events, previous, f"Event {event.id} was changed after it was written.")
            previous, n_events = event.hash, n_events + 1
            is_expected_there |= previous == expected
    return Verification(n_events, previous, _problem_at_the_end(head, n_events, previous, is_expected_there))


def _problem_at_the_end(head: ChainHead | None, n_events: int, newest: str, is_expected_there: bool) -> str:
    if head is None:
        return "" if n_events == 0 else "The head of the chain was deleted."
    if head.hash != newest or head.n_events != n_events:
        return (
            f"{head.n_events} events were written up to {head.hash}, and {n_events} are there: the newest are missing."
        )
    return "" if is_expected_there else "The expected head is not in the chain: the chain was rewritten or cut."
