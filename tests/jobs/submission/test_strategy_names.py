# SPDX-License-Identifier: Apache-2.0
"""Strategies that were renamed: jobs submitted before keep what they asked for, under the names of now."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps

from mlhub.jobs.models import Job
from mlhub.runtime.strategies.catalogue.schema import parse
from tests.cast import make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
migration = import_module("mlhub.jobs.migrations.0007_rename_strategies")


def test_jobs_with_renamed_strategies_are_carried_over_and_back() -> None:
    cast = make_cast()
    before = [
        {"name": "averaging", "period": 7, "warmup_steps": 0, "average_state": False},
        {"name": "outer_products"},
        {"name": "ssp", "staleness": 2},
        {},
    ]
    ids = [job(cast.project_a, cast.bob, name=f"j{i}", strategy=given).pk for i, given in enumerate(before)]
    migration.forwards(apps, None)
    after = [Job.objects.get(pk=pk).strategy for pk in ids]
    assert [given.get("name") for given in after] == ["model_averaging", "sufficient_factor_broadcasting", "ssp", None]
    assert after[0]["period"] == 7
    assert [parse(given).name for given in after[:2]] == ["model_averaging", "sufficient_factor_broadcasting"]
    migration.backwards(apps, None)
    assert [Job.objects.get(pk=pk).strategy for pk in ids] == before


@pytest.mark.parametrize("name", ["averaging", "outer_products"])
def test_the_former_names_are_refused(name: str) -> None:
    from mlhub.runtime.errors import BadInputError

    with pytest.raises(BadInputError, match="There is no strategy"):
        parse({"name": name})
