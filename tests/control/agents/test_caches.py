# SPDX-License-Identifier: Apache-2.0
"""What is known of a machine's cache goes with the machine."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.clusters.cached_inputs import InputUse, record_input_use
from mlhub.clusters.models import Agent, CachedInput
from mlhub.control.observation.inventory import record_inventory
from tests.cast import Cast, make_cast
from tests.control.agents.test_api import AGENTS, Machine, backend

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(settings: Any) -> Cast:
    settings.BACKEND = "agents"
    return make_cast()


def test_what_a_machine_caches_is_forgotten_with_another_folder_and_with_the_agent(cast: Cast) -> None:
    both = Machine(cast, "node-1"), Machine(cast, "node-2")
    for machine in both:
        machine.sync()
    record_inventory(backend().inventory(), now=timezone.now())
    for name in ("node-1", "node-2"):
        record_input_use(name, project=cast.project_a.pk, uses=[InputUse("a" * 64, 2**30, 2.0)], now=timezone.now())
    both[0].sync()  # as before
    assert CachedInput.objects.count() == 2
    Agent.objects.filter(name="node-1").update(seen_at=timezone.now() - timedelta(hours=1))
    assert both[0].sync(instance="second").status_code == 200
    assert [one.node_id for one in CachedInput.objects.all()] == ["node-2"]
    cast.client(cast.root).delete(f"{AGENTS}/node-2")
    record_inventory(backend().inventory(), now=timezone.now())
    assert not CachedInput.objects.exists()
