# SPDX-License-Identifier: Apache-2.0
"""Usage by API: who sees what, groups, days, cost, CSV, and what is refused."""

from __future__ import annotations

import csv
import io
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from mlhub.tenants.actions import bind_role
from mlhub.tenants.models import Membership, Project, Team, User
from mlhub.tenants.roles import Role
from mlhub.usage.models import UsageEntry
from mlhub.usage.prices import price_of, read_prices
from tests.cast import Cast, make_cast

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
WINDOW = {"since": "2026-03-01T00:00:00Z", "until": "2026-04-01T00:00:00Z"}


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def entry(of: Project, user: User, *, hours: float = 2, began: datetime = NOON, **fields: Any) -> UsageEntry:
    wanted = {
        "allocation_id": UsageEntry.objects.count() + 1,
        "attempt_id": uuid.uuid4(),
        "attempt_number": 1,
        "outcome": "succeeded",
        "job_id": uuid.uuid4(),
        "job": "digits",
        "user_id": user.pk,
        "user": user.username,
        "project_id": of.pk,
        "project": of.name,
        "team": "",
        "organisation_id": of.organisation_id,
        "organisation": of.organisation.name,
        "node": "n0",
        "gpu_type": "T4",
        "slots": [0],
        "began_at": began,
        "ended_at": began + timedelta(hours=hours),
        "gpu_s": hours * 3600,
        "startup_gpu_s": 360.0,
        "lost_gpu_s": 720.0,
    }
    return UsageEntry.objects.create(**(wanted | fields))


def rows(cast: Cast, user: User, **query: Any) -> dict[str, float]:
    answer = cast.client(user).get("/api/v1/usage", WINDOW | query)
    assert answer.status_code == 200, answer.content
    return {row["name"]: row["gpu_hours"] for row in answer.json()["rows"]}


def test_members_see_the_use_of_their_organisation_and_administrators_all(cast: Cast) -> None:
    entry(cast.project_a, cast.bob)
    entry(cast.project_b, cast.charlie, hours=5)
    assert rows(cast, cast.victor) == {"vision": 2.0}
    assert rows(cast, cast.charlie) == {"language": 5.0}
    assert rows(cast, cast.root) == {"language": 5.0, "vision": 2.0}
    assert rows(cast, cast.root, organisation=str(cast.a.id)) == {"vision": 2.0}
    assert rows(cast, cast.charlie, project=str(cast.project_a.id)) == {}
    of_b = {**WINDOW, "organisation": str(cast.b.id)}
    assert cast.client(cast.bob).get("/api/v1/usage", of_b).status_code == 404
    assert cast.client(None).get("/api/v1/usage").status_code in (401, 403)


def test_a_token_for_a_project_sees_the_use_of_that_project(cast: Cast) -> None:
    entry(cast.project_a, cast.bob)
    entry(Project.objects.create(organisation=cast.a, name="audio"), cast.bob, hours=3)
    body = {"name": "ci", "scopes": ["read"], "project": str(cast.project_a.id)}
    made = cast.client(cast.bob).post("/api/v1/tokens", body).json()
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made['token']}")
    assert [row["name"] for row in client.get("/api/v1/usage", WINDOW).json()["rows"]] == ["vision"]
    other = WINDOW | {"project": str(Project.objects.get(name="audio").id)}
    assert client.get("/api/v1/usage", other).json()["rows"] == []
    assert client.get("/api/v1/usage", WINDOW | {"organisation": str(cast.a.id)}).status_code in (403, 404)


def test_an_outsider_sees_the_use_of_the_projects_in_which_they_have_a_role(cast: Cast) -> None:
    secret = Team.objects.create(organisation=cast.a, name="secret")
    guests = Team.objects.create(organisation=cast.a, name="guests")
    shared = Project.objects.create(organisation=cast.a, name="shared", team=guests)
    dora = User.objects.create(username="dora")
    Membership.objects.create(user=dora, organisation=cast.a, role=Role.OUTSIDER)
    assert rows(cast, dora) == {}
    of_a = {"organisation": str(cast.a.id)}
    assert cast.client(dora).get("/api/v1/usage", WINDOW | of_a).status_code == 404
    bind_role(shared, username="dora", role=Role.VIEWER, actor=cast.alice)
    Membership.objects.create(user=dora, organisation=cast.b, role=Role.VIEWER)
    entry(cast.project_a, cast.bob, team_id=secret.pk, team="secret")
    entry(cast.project_b, cast.charlie, hours=5)
    entry(shared, cast.bob, hours=3, team_id=guests.pk, team="guests")
    entry(shared, cast.alice, hours=1, team_id=secret.pk, team="secret", job="older")  # before it was moved
    assert rows(cast, dora) == {"language": 5.0, "shared": 4.0}
    assert rows(cast, dora, **of_a) == {"shared": 4.0}
    assert rows(cast, dora, **of_a, by="user") == {"bob": 3.0, "alice": 1.0}
    assert rows(cast, dora, **of_a, by="team") == {"guests": 3.0, "none": 1.0}
    assert rows(cast, dora, team=str(guests.pk)) == {"shared": 3.0}
    assert rows(cast, dora, team=str(secret.pk)) == {}
    assert rows(cast, dora, project=str(cast.project_a.pk)) == {}
    assert rows(cast, cast.victor, team=str(secret.pk)) == {"vision": 2.0, "shared": 1.0}


def test_gpu_hours_are_split_into_useful_start_up_and_lost(cast: Cast) -> None:
    entry(cast.project_a, cast.bob)
    found = cast.client(cast.bob).get("/api/v1/usage", WINDOW).json()["total"]
    assert (found["startup_gpu_hours"], found["lost_gpu_hours"]) == (0.1, 0.2)
    assert found["useful_gpu_hours"] == pytest.approx(1.7)
    assert (found["n_jobs"], found["cost"]) == (1, None)


def test_what_was_measured_is_split_into_busy_and_idle_and_the_rest_is_not_taken_for_idle(cast: Cast) -> None:
    entry(cast.project_a, cast.bob, hours=2, measured_gpu_s=3600.0, busy_gpu_s=2700.0)
    entry(cast.project_a, cast.alice, hours=1)
    found = cast.client(cast.bob).get("/api/v1/usage", WINDOW | {"by": "user"}).json()
    figures = ("gpu_hours", "measured_gpu_hours", "busy_gpu_hours", "idle_gpu_hours")
    assert [[row[name] for name in figures] for row in found["rows"]] == [
        [2.0, 1.0, 0.75, 0.25],
        [1.0, 0.0, None, None],
    ]
    assert [found["total"][name] for name in figures] == [3.0, 1.0, 0.75, 0.25]
    text = cast.client(cast.bob).get("/api/v1/usage/export", WINDOW | {"by": "user"}).content.decode()
    read = list(csv.DictReader(io.StringIO(text)))
    assert [(row["busy_gpu_hours"], row["idle_gpu_hours"]) for row in read] == [("0.75", "0.25"), ("", "")]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("user", {"alice": 1.0, "bob": 2.0}),
        ("gpu_type", {"A100": 1.0, "T4": 2.0}),
        ("outcome", {"failed": 1.0, "succeeded": 2.0}),
        ("team", {"none": 3.0}),
        ("organisation", {"A": 3.0}),
        ("job", {"digits": 2.0, "prose": 1.0}),
    ],
)
def test_use_is_grouped_as_asked(cast: Cast, by: str, expected: dict[str, float]) -> None:
    entry(cast.project_a, cast.bob)
    entry(cast.project_a, cast.alice, hours=1, gpu_type="A100", outcome="failed", job="prose")
    assert rows(cast, cast.bob, by=by) == expected


def test_an_attempt_over_midnight_counts_on_both_days_and_only_within_the_window(cast: Cast) -> None:
    entry(cast.project_a, cast.bob, hours=24, began=NOON)
    days = {"since": "2026-03-09T00:00:00Z", "until": "2026-03-11T06:00:00Z", "by": "day"}
    found = rows(cast, cast.bob, **days)
    assert found == pytest.approx({"2026-03-09": 0.0, "2026-03-10": 12.0, "2026-03-11": 6.0})
    assert sum(found.values()) == pytest.approx(rows(cast, cast.bob, **{**days, "by": "user"})["bob"])


def test_a_renamed_project_is_one_row_with_its_newest_name(cast: Cast) -> None:
    entry(cast.project_a, cast.bob)
    entry(cast.project_a, cast.bob, began=NOON + timedelta(days=1), project="sight")
    assert rows(cast, cast.bob) == {"sight": 4.0}


def test_prices_give_the_cost_by_gpu_type(cast: Cast, settings: Any) -> None:
    settings.GPU_PRICES, settings.CURRENCY = read_prices("A100=2.5, *=0.5"), "EUR"
    entry(cast.project_a, cast.bob)
    entry(cast.project_a, cast.bob, hours=1, gpu_type="A100")
    found = cast.client(cast.bob).get("/api/v1/usage", WINDOW).json()
    assert (found["currency"], found["total"]["cost"]) == ("EUR", 2 * 0.5 + 2.5)


def test_the_csv_has_the_same_rows_and_no_formula(cast: Cast) -> None:
    entry(cast.project_a, cast.bob, job="=HYPERLINK(1)")
    answer = cast.client(cast.bob).get("/api/v1/usage/export", WINDOW | {"by": "job"})
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="usage-by-job-20260301-20260401.csv"' in answer["Content-Disposition"]
    [row] = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert (row["job"], row["gpu_hours"], row["n_jobs"]) == ("'=HYPERLINK(1)", "2.0", "1")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"by": "colour"}, "by"),
        ({"since": "2026-04-02T00:00:00Z"}, "since"),
        ({"since": "2020-01-01T00:00:00Z"}, "since"),
        ({"since": "yesterday"}, "since"),
    ],
)
def test_what_is_no_window_or_group_is_refused_by_its_field(cast: Cast, query: dict[str, str], field: str) -> None:
    answer = cast.client(cast.bob).get("/api/v1/usage", WINDOW | query)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_prices_are_read_and_wrong_ones_named() -> None:
    prices = read_prices(" A100 = 2.5 ,*=1")
    assert (price_of("A100", prices), price_of("T4", prices), price_of("T4", {})) == (2.5, 1.0, None)
    for wrong in ("A100", "A100=", "A100=-1", "A100=nan", "=1"):
        with pytest.raises(ValueError, match="MLHUB_GPU_PRICES"):
            read_prices(wrong)
