# SPDX-License-Identifier: Apache-2.0
"""The scheduler's memory between rounds has a table of its own; rows of the version before are still read."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import StateApps

from mlhub.control.deciding.memory import MemoryOwner, load_memory, store_memory
from mlhub.control.models import SchedulerMemory, SchedulerSettings
from scheduler import RoundMemory
from tests.cast import make_cast
from tests.control.worlds import World

RECORDED = json.loads((Path(__file__).parents[1] / "scheduler" / "api" / "memory_version_1.json").read_text())
MIGRATION = import_module("mlhub.control.migrations.0004_scheduler_memory")


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
def apps_of_then(db: None) -> StateApps:
    """Models of the time when the memory moved, and the two tables that it moved from as they were then.

    Going back to the whole schema of then would take all later migrations twice.
    """
    state = MigrationLoader(connection).project_state(("control", "0003_fair_shares"))
    MIGRATION.Migration.operations[0].state_forwards("control", state)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE control_schedulersettings, control_schedulerstate CASCADE")  # until the test ends
    with connection.schema_editor(atomic=False) as editor:
        for name in ("SchedulerSettings", "SchedulerState"):
            editor.create_model(state.apps.get_model("control", name))
    return state.apps


def test_a_memory_in_the_settings_moves_to_its_table_and_back(apps_of_then: StateApps) -> None:
    settings = apps_of_then.get_model("control", "SchedulerSettings").objects
    state = apps_of_then.get_model("control", "SchedulerState").objects
    shadow = {"policy": "las", "values": {"served": {"a": 1.0}}}
    settings.create(pk=1, memory=RECORDED)
    state.create(pk=1, shadow_memory=shadow)
    MIGRATION.move_out(apps_of_then, None)
    assert load_memory(MemoryOwner.POLICY) == RoundMemory.from_json(RECORDED)
    assert load_memory(MemoryOwner.SHADOW) == RoundMemory(policy="las", policy_values={"served": {"a": 1.0}})
    for owner in MemoryOwner:
        store_memory(owner, load_memory(owner))  # now in the present version
    settings.update(memory={})
    state.update(shadow_memory={})
    MIGRATION.move_back(apps_of_then, None)
    assert settings.values_list("memory", flat=True).get() == RECORDED
    assert state.values_list("shadow_memory", flat=True).get() == {**shadow, "resizing": {}}
