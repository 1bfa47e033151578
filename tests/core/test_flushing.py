# SPDX-License-Identifier: Apache-2.0
"""The database that the next test finds is the one that migrations made: emptied, and with nothing missing."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal

from mlhub.recovery.databases import Database
from tests.cast import make_cast
from tests.flushing import KEPT

pytestmark = pytest.mark.django_db(transaction=True)
OPTIONS = {"verbosity": 0, "interactive": False, "reset_sequences": False, "allow_cascade": False}


def filled() -> dict[str, int]:
    """Tables that have rows, and how many; the record of migrations is no part of what a test may change."""
    counts = Database.of_settings().counts()
    return {name: n for name, n in counts.items() if n and name != "django_migrations"}


def test_an_emptied_database_has_the_rows_that_are_always_there_and_no_others() -> None:
    make_cast()
    assert not filled().keys() <= KEPT
    call_command("flush", **OPTIONS)
    assert filled().keys() == KEPT


def test_the_signal_that_is_left_out_after_a_flush_would_make_no_row() -> None:
    call_command("flush", **OPTIONS)
    before = filled()
    emit_post_migrate_signal(0, False, "default")
    assert filled() == before
