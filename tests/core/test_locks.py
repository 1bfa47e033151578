# SPDX-License-Identifier: Apache-2.0
"""Advisory locks: one worker at a time, freed when the work ends however it ends."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from django.db import connection

from mlhub.core.locks import work_lock


def try_elsewhere(name: str) -> bool:
    """Whether another connection gets the lock now."""
    got = []

    def ask():
        with work_lock(name) as is_mine:
            got.append(is_mine)
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(60)
    return got == [True]


@pytest.mark.django_db(transaction=True)
def test_work_is_done_by_one_at_a_time():
    with work_lock("a") as is_mine:
        assert is_mine
        assert not try_elsewhere("a")
        assert try_elsewhere("b")
    assert try_elsewhere("a")


@pytest.mark.django_db(transaction=True)
def test_work_that_fails_frees_its_lock():
    with suppress(RuntimeError), work_lock("a"):
        raise RuntimeError
    assert try_elsewhere("a")
