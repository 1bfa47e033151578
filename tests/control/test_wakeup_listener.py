# SPDX-License-Identifier: Apache-2.0
"""What the control loop waits on between two rounds."""

from __future__ import annotations

import time

import pytest

from mlhub.control.wakeup_listener import WakeupListener
from mlhub.events.wakeups import EVENTS, wake

LONG_S, SHORT_S = 600.0, 60.0


@pytest.mark.parametrize("ends_by", ["an event", "the end of the loop"])
def test_a_wait_ends_by_an_event_and_by_the_end_of_the_loop(ends_by: str) -> None:
    n_asked = 0

    def is_over() -> bool:
        nonlocal n_asked
        n_asked += 1
        if ends_by == "an event":
            wake(EVENTS)
        return ends_by != "an event" and n_asked > 1

    began = time.monotonic()
    WakeupListener().wait(LONG_S, is_over=is_over)
    assert time.monotonic() - began < SHORT_S
    assert n_asked
