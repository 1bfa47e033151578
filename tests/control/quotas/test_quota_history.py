# SPDX-License-Identifier: Apache-2.0
"""Quotas that two people edit: the conflict names both, the history who changed what, and an older version returns."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.tenants.actions import set_quota
from tests.cast import Cast, make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    found = make_cast()
    set_quota(found.a, guarantee=8, actor=found.root)
    return found


def path(cast: Cast, more: str = "") -> str:
    return f"/api/v1/projects/{cast.project_a.id}/quota{more}"


def change(cast: Cast, **rules: Any) -> Any:
    return cast.client(cast.alice).patch(path(cast), rules)


def test_who_saves_over_another_s_change_sees_both_and_may_save_again(cast: Cast) -> None:
    assert change(cast, guarantee=3, max_gpus=6, version=1).status_code == 200
    late = change(cast, guarantee=2, version=1)
    assert late.status_code == 409
    problem = late.json()
    assert (problem["code"], problem["version"]) == ("stale_version", 2)
    assert (problem["present"], problem["yours"]) == ({"guarantee": 3}, {"guarantee": 2})
    assert problem["changed_at"] is not None
    assert change(cast, guarantee=2, version=2).json()["guarantee"] == 2


@pytest.mark.slow
def test_the_history_says_who_changed_what_and_an_older_version_returns_as_a_new_one(cast: Cast) -> None:
    budget = {"gpu_hours": 5.0, "period": "week", "on_exhausted": "alert", "gpu_type": ""}
    change(cast, guarantee=3)
    change(cast, guarantee=4, budgets=[budget])
    change(cast, max_gpus=7)
    versions = cast.client(cast.bob).get(path(cast, "/versions")).json()
    assert [(one["version"], one["actor"]) for one in versions] == [(4, "alice"), (3, "alice"), (2, "alice")]
    assert versions[1]["before"] == {"guarantee": 3, "budgets": []}
    assert versions[1]["after"] == {"guarantee": 4, "budgets": [budget]}

    restored = cast.client(cast.alice).post(path(cast, "/restore"), {"version": 2, "seen": 4})
    assert restored.status_code == 200, restored.content
    row = restored.json()
    assert (row["version"], row["guarantee"], row["max_gpus"], row["budgets"]) == (5, 3, None, [])
    again = cast.client(cast.alice).post(path(cast, "/restore"), {"version": 4}).json()
    assert (again["guarantee"], again["max_gpus"], len(again["budgets"])) == (4, 7, 1)


def test_a_version_is_restored_by_those_who_may_change_it_while_it_is_as_they_saw_it(cast: Cast) -> None:
    change(cast, guarantee=3)
    change(cast, guarantee=4)
    for user, status in ((cast.bob, 403), (cast.victor, 403), (cast.charlie, 404), (None, 401)):
        assert cast.client(user).post(path(cast, "/restore"), {"version": 2}).status_code == status
        assert cast.client(user).get(path(cast, "/versions")).status_code in ({403: 200}.get(status, status),)
    assert cast.client(cast.alice).post(path(cast, "/restore"), {"version": 2, "seen": 2}).status_code == 409
    unknown = cast.client(cast.alice).post(path(cast, "/restore"), {"version": 9})
    assert unknown.status_code == 422
    assert unknown.json()["errors"][0]["field"] == "version"
    top = f"/api/v1/organisations/{cast.a.id}/quota/restore"
    assert cast.client(cast.alice).post(top, {"version": 1}).status_code == 403
    assert cast.client(cast.root).post(top, {"version": 1}).status_code == 422  # parts of it are guaranteed more
