# SPDX-License-Identifier: Apache-2.0
"""What a restore changes for everything else: the epoch of numbers, and a time in which unknown files are kept.

A restored database does not know what was made after its backup. Files of that time look unused to it, and numbers that
were given out then look free. Both are dealt with here: numbers begin anew above every earlier one, and files that the
database does not know are not removed for settings.RESTORE_HOLD_DAYS.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from mlhub.core.models import Installation

ATTEMPTS_PER_EPOCH = 1000  # of one job; the first number of the next epoch is above them
SERIAL_GAP = 1_000_000_000  # ids of events and positions in streams are moved on by so much with each restore


def installation() -> Installation:
    """The one row; made on first use."""
    return Installation.objects.get_or_create(pk=1)[0]


def first_attempt_number() -> int:
    """The lowest number that an attempt may have in this epoch."""
    return (installation().epoch - 1) * ATTEMPTS_PER_EPOCH + 1


def is_restored_lately(now: datetime) -> bool:
    """Whether files that this database does not know may be of work that is newer than its backup."""
    restored_at = installation().restored_at
    return restored_at is not None and now - restored_at < timedelta(days=settings.RESTORE_HOLD_DAYS)
