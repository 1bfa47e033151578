# SPDX-License-Identifier: Apache-2.0
"""How a budget is used over its period: what its curve has, what is predicted of it, and who may see it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mlhub.control.quotas.burn_down import BurnDown, burn_downs
from mlhub.tenants.actions import set_quota
from mlhub.tenants.models import Organisation, Project
from tests.cast import make_cast
from tests.control.quotas.test_budgets import budget, entry, running
from tests.control.worlds import World

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def world() -> World:
    """Midnight has just passed, on the first of January 2026."""
    return World(make_cast())


def of_month(
    world: World, gpu_hours: float, *, after: timedelta, owner: Organisation | Project | None = None
) -> BurnDown:
    rows: list[dict[str, Any]] = budget(gpu_hours, period="month", gpu_type="")
    (found,) = burn_downs(owner or world.cast.a, rows, now=world.now + after)
    return found


def test_the_curve_has_each_hour_where_it_was_used_and_ends_at_what_is_used_now(world: World) -> None:
    begin = world.now
    entry(world, began=begin - 2 * HOUR, ended=begin + 2 * HOUR, gpu_s=4 * 3600)  # half of it in December
    entry(world, began=begin + DAY - HOUR, ended=begin + DAY + HOUR, gpu_s=4 * 3600)  # over midnight
    found = of_month(world, 100, after=2 * DAY + 12 * HOUR)
    assert [(point.at, round(point.gpu_hours, 6)) for point in found.points] == [
        (begin, 0.0), (begin + DAY, 4.0), (begin + 2 * DAY, 6.0), (begin + 2 * DAY + 12 * HOUR, 6.0),
    ]  # fmt: skip
    assert found.budget.used_gpu_hours == pytest.approx(6.0)
    assert found.ends_at == begin + 31 * DAY


def test_it_goes_on_at_the_rate_of_the_last_seven_days(world: World) -> None:
    begin = world.now
    entry(world, began=begin, ended=begin + HOUR, gpu_s=40 * 3600)  # too long ago for the rate
    entry(world, began=begin + 8 * DAY, ended=begin + 9 * DAY, gpu_s=14 * 3600)
    found = of_month(world, 64, after=10 * DAY)
    assert (found.rate_since, found.gpu_hours_per_day) == (begin + 3 * DAY, pytest.approx(2.0))
    assert found.predicted_gpu_hours == pytest.approx(54 + 21 * 2)
    assert found.exhausted_at == begin + 15 * DAY
    assert of_month(world, 97, after=10 * DAY).exhausted_at is None  # not within the month


def test_what_was_used_up_says_when(world: World) -> None:
    entry(world, began=world.now, ended=world.now + DAY, gpu_s=24 * 3600)
    assert of_month(world, 6, after=3 * DAY).exhausted_at == world.now + 6 * HOUR


def test_jobs_that_run_count_where_they_run(world: World) -> None:
    running(world)
    found = of_month(world, 100, after=36 * HOUR)
    assert [point.gpu_hours for point in found.points] == pytest.approx([0.0, 48.0, 72.0], abs=0.01)  # began 4 s later
    assert found.gpu_hours_per_day == pytest.approx(48.0)
    assert found.budget.used_gpu_hours == pytest.approx(72.0)
    others = of_month(world, 100, after=36 * HOUR, owner=world.cast.project_b)
    assert (others.points[-1].gpu_hours, others.gpu_hours_per_day, others.exhausted_at) == (0.0, 0.0, None)


def test_a_budget_without_a_period_begins_with_its_first_use(world: World) -> None:
    (unused,) = burn_downs(world.cast.a, budget(9, period="once", gpu_type=""), now=world.now)
    assert (unused.began_at, len(unused.points), unused.predicted_gpu_hours) == (world.now, 1, None)
    entry(world, began=world.now, ended=world.now + 60 * DAY, gpu_s=120 * 3600)
    (found,) = burn_downs(world.cast.a, budget(240, period="once", gpu_type=""), now=world.now + 60 * DAY)
    assert (found.began_at, len(found.points), found.ends_at) == (world.now, 61, None)
    assert found.points[30].gpu_hours == pytest.approx(60.0)
    assert found.exhausted_at is not None
    assert (found.exhausted_at - world.now) / DAY == pytest.approx(120, abs=0.01)


def test_members_see_it_and_strangers_do_not(world: World) -> None:
    set_quota(world.cast.a, budgets=budget(8), actor=world.cast.root)
    address = f"/api/v1/organisations/{world.cast.a.pk}/quota/burn-down"
    (row,) = world.cast.client(world.cast.bob).get(address).json()
    assert (row["gpu_hours"], row["period"], row["used_gpu_hours"]) == (8.0, "day", 0.0)
    assert world.cast.client(world.cast.charlie).get(address).status_code == 404
    project = f"/api/v1/projects/{world.cast.project_a.pk}/quota/burn-down"
    assert world.cast.client(world.cast.bob).get(project).json() == []
