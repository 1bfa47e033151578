# SPDX-License-Identifier: Apache-2.0
"""The median wait of the last day: of jobs that one sees, else of all, and never of one other organisation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.control.monitoring.waits import LEAST_JOBS
from mlhub.jobs.models import Job
from mlhub.tenants.models import Organisation, Project, Quota, User
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def started(project: Project, user: User, name: str, *, waited_s: float, hours_ago: float = 1) -> None:
    of = job(project, user, name=name)
    at = timezone.now() - timedelta(hours=hours_ago)
    Job.objects.filter(pk=of.pk).update(started_at=at, submitted_at=at - timedelta(seconds=waited_s))


def waits(cast: Cast, user: User) -> tuple[Any, int, str]:
    found = cast.client(user).get("/api/v1/queue/waits").json()
    return found["median_s"], found["n_jobs"], found["scope"]


def test_the_median_is_of_jobs_that_one_sees_and_that_started_within_a_day(cast: Cast) -> None:
    for at, waited_s in enumerate((10, 20, 90)):
        started(cast.project_a, cast.bob, f"a{at}", waited_s=waited_s)
    started(cast.project_a, cast.bob, "yesterday", waited_s=5000, hours_ago=25)
    job(cast.project_a, cast.bob, name="waits")
    started(cast.project_b, cast.charlie, "b", waited_s=700)
    assert waits(cast, cast.bob) == (pytest.approx(20), 3, "visible")
    assert waits(cast, cast.victor) == (pytest.approx(20), 3, "visible")
    assert waits(cast, cast.charlie) == (pytest.approx(700), 1, "visible")
    assert waits(cast, cast.root) == (pytest.approx(55), 4, "visible")
    assert cast.client(None).get("/api/v1/queue/waits").status_code == 401


def test_of_others_it_is_known_only_where_it_is_no_single_organisations(cast: Cast) -> None:
    for at in range(LEAST_JOBS):
        started(cast.project_a, cast.bob, f"a{at}", waited_s=30)
    assert waits(cast, cast.charlie) == (None, 0, "visible")
    for name in ("C", "D"):
        other = Organisation.objects.create(name=name)
        Quota.objects.create(organisation=other)
        project = Project.objects.create(organisation=other, name="speech", created_by=cast.root)
        started(project, cast.root, name, waited_s=30)
    assert waits(cast, cast.charlie) == (pytest.approx(30), LEAST_JOBS + 2, "cluster")


def test_where_no_job_started_nothing_is_made_up(cast: Cast) -> None:
    assert waits(cast, cast.bob) == (None, 0, "visible")
