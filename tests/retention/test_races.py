# SPDX-License-Identifier: Apache-2.0
"""Two people at once: one deletes what another one opens again."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from django.db import connection, transaction
from rest_framework.test import APIClient

from mlhub.retention.models import OrganisationDeletion, ProjectDeletion
from mlhub.retention.organisation_deletions import begin_deletion
from mlhub.retention.project_deletions import begin_project_deletion
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Membership, Organisation, Project
from mlhub.tenants.roles import Role
from tests.cast import make_cast

pytestmark = pytest.mark.django_db(transaction=True)


WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


def wait_until_another_waits_for_a_lock() -> None:
    until, n_waiting = time.monotonic() + 60, 0
    while not n_waiting and time.monotonic() < until:
        time.sleep(0.05)
        with connection.cursor() as cursor:
            cursor.execute(WAITING)
            [n_waiting] = cursor.fetchone()


@pytest.mark.parametrize("way", ["page of the organisation", "page of the project", "mlflow"])
def test_what_is_being_deleted_is_not_opened_by_who_asks_at_the_same_moment(way: str) -> None:
    cast = make_cast()
    Membership.objects.filter(user=cast.alice).update(role=Role.OWNER)
    owner: Organisation | Project = cast.a if way == "page of the organisation" else cast.project_a
    kind = "organisations" if isinstance(owner, Organisation) else "projects"
    address = f"/api/v1/{kind}/{owner.pk}"
    assert cast.client(cast.alice).patch(address, {"is_archived": True}).status_code == 200
    _, token = create_token(cast.alice, name="laptop", scopes=["read", "submit", "write"], expires_in_days=1)
    laptop = APIClient(headers={"Authorization": f"Bearer {token}"})
    answers: list[Any] = []

    def open_again() -> None:
        try:
            if way == "mlflow":
                answers.append(laptop.post("/api/2.0/mlflow/experiments/restore", {"experiment_id": str(owner.pk)}))
            else:
                answers.append(cast.client(cast.alice).patch(address, {"is_archived": False}))
        finally:
            connection.close()

    other = threading.Thread(target=open_again)
    with transaction.atomic():
        if isinstance(owner, Organisation):
            begin_deletion(owner, name=owner.name, actor=cast.alice)
        else:
            begin_project_deletion(owner, name=owner.name, actor=cast.alice)
        other.start()
        wait_until_another_waits_for_a_lock()
    other.join(60)
    [answer] = answers
    assert "is being deleted" in answer.content.decode()
    assert answer.status_code in (400, 409)
    owner.refresh_from_db()
    assert owner.archived_at is not None
    assert OrganisationDeletion.objects.count() + ProjectDeletion.objects.count() == 1
