# SPDX-License-Identifier: Apache-2.0
"""What the control loop waits on between two rounds."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mlhub.control.rounds.wakeup_listener import WakeupListener
from mlhub.embedded.ports import free_port
from mlhub.events.wakeups import EVENTS, wake

LONG_S, SHORT_S = 600.0, 60.0


@pytest.fixture(params=["with Valkey", "while Valkey is away"])
def is_up(request: pytest.FixtureRequest, settings: Any) -> bool:
    if request.param != "with Valkey":
        settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}"
    return bool(request.param == "with Valkey")


@pytest.mark.django_db
def test_a_wait_ends_by_the_end_of_the_loop(is_up: bool) -> None:
    answers = iter([False, True])
    began = time.monotonic()
    WakeupListener().wait(LONG_S, is_over=lambda: next(answers))
    assert time.monotonic() - began < SHORT_S
    assert next(answers, None) is None


@pytest.mark.django_db
def test_a_wait_ends_by_an_event() -> None:
    began = time.monotonic()
    WakeupListener().wait(LONG_S, is_over=lambda: not wake(EVENTS))
    assert time.monotonic() - began < SHORT_S
