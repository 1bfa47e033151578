# SPDX-License-Identifier: Apache-2.0
"""The scheduler's memory between rounds has a table of its own; rows of the version before are still read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from mlhub.control.memory import MemoryOwner, load_memory, store_memory
from mlhub.control.models import SchedulerMemory, SchedulerSettings
from scheduler import RoundMemory
from tests.cast import make_cast
from tests.control.worlds import World

RECORDED = json.loads((Path(__file__).parents[1] / "scheduler" / "api" / "memory_version_1.json").read_text())
BEFORE, AFTER = [("control", "0003_fair_shares")], [("control", "0004_scheduler_memory")]


@pytest.mark.django_db
def test_a_round_leaves_its_memory_to_the_next_one() -> None:
    world = World(make_cast())
    world.settle(policy="las")
    world.job()
    world.rounds(2)
    row = SchedulerMemory.objects.get(pk=MemoryOwner.POLICY)
    assert row.version == RoundMemory.VERSION
    assert load_memory(MemoryOwner.POLICY).policy == "las"


@pytest.mark.django_db
def test_the_administrator_s_settings_do_not_change_from_round_to_round() -> None:
    world = World(make_cast())
    world.settle(policy="las")
    world.job()
    world.round()
    before = SchedulerSettings.objects.get(pk=1).updated_at
    world.rounds(2)
    assert SchedulerSettings.objects.get(pk=1).updated_at == before


@pytest.mark.django_db
def test_a_memory_that_cannot_be_read_is_taken_for_none() -> None:
    SchedulerMemory.objects.create(owner=MemoryOwner.POLICY, version=99, value={"version": 99})
    assert load_memory(MemoryOwner.POLICY) == RoundMemory()
    store_memory(MemoryOwner.POLICY, RoundMemory(policy="fifo"))
    assert load_memory(MemoryOwner.POLICY).policy == "fifo"


@pytest.fixture
def database_before(transactional_db: None) -> Iterator[MigrationExecutor]:
    """The database as it was before the memory had a table; afterwards as it is now."""
    executor = MigrationExecutor(connection)
    latest = executor.loader.graph.leaf_nodes()
    executor.migrate(BEFORE)
    yield MigrationExecutor(connection)
    MigrationExecutor(connection).migrate(latest)


def test_a_memory_in_the_settings_moves_to_its_table_and_back(database_before: MigrationExecutor) -> None:
    old = database_before.loader.project_state(BEFORE).apps
    old.get_model("control", "SchedulerSettings").objects.create(pk=1, memory=RECORDED)
    shadow = {"policy": "las", "values": {"served": {"a": 1.0}}}
    old.get_model("control", "SchedulerState").objects.create(pk=1, shadow_memory=shadow)
    database_before.migrate(AFTER)
    assert load_memory(MemoryOwner.POLICY) == RoundMemory.from_json(RECORDED)
    assert load_memory(MemoryOwner.SHADOW) == RoundMemory(policy="las", policy_values={"served": {"a": 1.0}})
    for owner in MemoryOwner:
        store_memory(owner, load_memory(owner))  # now in the present version
    executor = MigrationExecutor(connection)
    executor.migrate(BEFORE)
    old = executor.loader.project_state(BEFORE).apps
    assert old.get_model("control", "SchedulerSettings").objects.get(pk=1).memory == RECORDED
    assert old.get_model("control", "SchedulerState").objects.get(pk=1).shadow_memory == {**shadow, "resizing": {}}
