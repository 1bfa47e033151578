# SPDX-License-Identifier: Apache-2.0
"""The scheduler's memory between rounds, in the database: read before a round, written after it."""

from __future__ import annotations

import logging

from mlhub.control.models import SchedulerMemory
from scheduler import RoundMemory

logger = logging.getLogger(__name__)
MemoryOwner = SchedulerMemory.MemoryOwner


def load_memory(owner: MemoryOwner) -> RoundMemory:
    """Empty before the first round, and where another version of MLHub left what this one cannot read."""
    row = SchedulerMemory.objects.filter(pk=owner).first()
    if row is None:
        return RoundMemory()
    try:
        return RoundMemory.from_json(row.value)
    except ValueError as error:
        logger.error("memory.unreadable owner=%s version=%s error=%s", owner, row.version, error)
        return RoundMemory()


def store_memory(owner: MemoryOwner, memory: RoundMemory) -> None:
    SchedulerMemory.objects.update_or_create(pk=owner, defaults={"version": memory.VERSION, "value": memory.to_json()})
