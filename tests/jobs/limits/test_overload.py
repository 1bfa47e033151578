# SPDX-License-Identifier: Apache-2.0
"""Overload in the small: tenants that submit far too much are slowed down, another one is not, and no job is lost."""

from __future__ import annotations

import pytest
import redis

from mlhub.core.rate_limits.limits import read_rate_limits
from mlhub.jobs.models import Job
from mlhub.storage import work_queue
from mlhub.storage.models import WorkItem
from mlhub.tenants.models import Membership, Organisation, Project, User
from tests.cast import make_cast
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.slow

N_TENANTS, N_JOBS, N_AT_ONCE = 3, 8, 5


def tenant(i: int) -> tuple[User, Project]:
    organisation = Organisation.objects.create(name=f"tenant {i}")
    user = User.objects.create(username=f"user {i}")
    Membership.objects.create(user=user, organisation=organisation, role="member")
    return user, Project.objects.create(organisation=organisation, name="work")


def test_a_flood_of_submissions_slows_down_only_who_makes_it_and_loses_nothing(db, settings):
    settings.RATE_LIMITS = read_rate_limits({"submissions": f"user={N_AT_ONCE}/3600"})
    cast = make_cast()
    flooding = [tenant(i) for i in range(N_TENANTS)]

    def submit(user, project, number):
        dataset = ready_dataset(project, user)
        body = {"dataset_version": str(dataset.id), "model": str(builtin().model_id), "epochs": 1, "batch_size": 4}
        headers = {"Idempotency-Key": f"{user.username}-{number}"}
        return cast.client(user).post("/api/v1/jobs", body, headers=headers)

    answers = {(user.pk, n): submit(user, project, n) for n in range(N_JOBS) for user, project in flooding}
    acknowledged = {key: a.json()["id"] for key, a in answers.items() if a.status_code == 201}
    refused = [a for a in answers.values() if a.status_code == 429]
    assert len(acknowledged) == N_TENANTS * N_AT_ONCE
    assert len(refused) == N_TENANTS * (N_JOBS - N_AT_ONCE)
    assert all(int(a["Retry-After"]) > 0 for a in refused)
    assert Job.objects.count() == WorkItem.objects.count() == len(acknowledged)

    # the one who works as usual is admitted, and next to be tried out of those that were never served
    usual = submit(cast.charlie, cast.project_b, 0)
    assert usual.status_code == 201
    served = []
    for _ in range(N_TENANTS + 1):
        with work_queue.next_item() as item:
            served.append(item.organisation_id)
    assert sorted(served) == sorted({*(project.organisation_id for _, project in flooding), cast.b.pk})

    # once there is budget again, the same keys give the jobs that there are, and those that were refused
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete(*client.keys("mlhub:rate:submissions-user:*"))
    settings.RATE_LIMITS = read_rate_limits({"submissions": f"user={N_JOBS}/3600"})
    cast.forget_sessions()  # their refusals hold until Retry-After has passed
    again = {(user.pk, n): submit(user, project, n).json()["id"] for n in range(N_JOBS) for user, project in flooding}
    client.close()
    assert acknowledged.items() <= again.items()
    assert Job.objects.count() == len(set(again.values())) + 1 == N_TENANTS * N_JOBS + 1
