# SPDX-License-Identifier: Apache-2.0
"""Bounds of an organisation on its projects' rules of retention: refused, clamped, previewed, obeyed, audited."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from mlhub.events.models import Event
from mlhub.jobs.models import Checkpoint, Job, ProjectRetention, RemovedPart
from mlhub.jobs.retention.checkpoint_retention import jobs_without_checkpoints
from mlhub.jobs.retention.organisation_retention import set_organisation_retention
from mlhub.jobs.retention.retention_actions import set_retention
from mlhub.jobs.tasks import collect_checkpoints
from mlhub.retention.tasks import remove_expired
from mlhub.tenants.models import Project
from tests.cast import Cast, make_cast
from tests.retention.test_project_rules import with_checkpoints
from tests.retention.test_rules import N_LINES, left, trained

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture(autouse=True)
def _everything_kept_for_ten_days(settings: Any, tmp_path: Path) -> None:
    settings.KEPT_DAYS = dict.fromkeys(settings.KEPT_DAYS, 10.0)
    settings.CHECKPOINT_ROOT = tmp_path


def call(
    cast: Cast, by: Any, method: str, body: dict[str, Any] | None = None, *, tail: str = "", status: int = 200
) -> Any:
    path = f"/api/v1/organisations/{cast.a.id}/retention{tail}"
    answer = getattr(cast.client(by), method)(path, body, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()


def of_project(cast: Cast, method: str = "get", body: dict[str, Any] | None = None, *, status: int = 200) -> Any:
    path = f"/api/v1/projects/{cast.project_a.id}/retention"
    answer = getattr(cast.client(cast.alice), method)(path, body, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()


def kind_of(shown: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(row for row in shown["kinds"] if row["kind"] == kind)


def test_a_rule_out_of_the_bounds_is_refused_with_the_bound_whose_it_is_and_who_changes_it(cast: Cast) -> None:
    call(cast, cast.alice, "patch", {"logs": {"least_days": 5, "most_days": 30}})
    for days, side, bound in ((3, "at_least", 5), (31, "at_most", 30), (0, "at_most", 30)):
        refused = of_project(cast, "patch", {"logs": days}, status=422)
        assert refused["errors"][0]["field"] == "logs"
        assert "the organisation A" in refused["detail"]
        assert "owner or admin" in refused["remedy"]
        assert refused["bound"] == {"owner": "organisation", "side": side, "days": bound}
    assert of_project(cast, "patch", {"logs": 30, "metrics": 0})["version"] == 1


def test_a_tightened_bound_clamps_rules_that_are_there_and_the_pages_say_so(cast: Cast) -> None:
    set_retention(cast.project_a, {"logs": 60, "metrics": 2}, actor=cast.alice)
    shown = call(cast, cast.alice, "patch", {"logs": {"most_days": 30}, "metrics": {"least_days": 7}})
    bound = {"owner": "organisation", "side": "at_most", "days": 30}
    assert [(one["kind"], one["days"], one["chosen_days"]) for one in shown["clamped"]] == [
        ("logs", 30, 60),
        ("metrics", 7, 2),
    ]
    row = kind_of(of_project(cast), "logs")
    assert (row["days"], row["chosen_days"], row["rule_of"], row["clamped_by"]) == (30, 60, "project", bound)
    assert row["bounds"] == [bound]
    assert ProjectRetention.objects.get().days == {"logs": 60, "metrics": 2}  # for when the bound is raised again
    call(cast, cast.alice, "patch", {"logs": {"most_days": None}})
    assert (kind_of(of_project(cast), "logs")["days"], kind_of(of_project(cast), "logs")["clamped_by"]) == (60, None)


def test_projects_that_say_nothing_have_the_organisation_s_default(cast: Cast) -> None:
    shown = call(cast, cast.alice, "patch", {"logs": {"default_days": 20}, "usage": {"default_days": 0}})
    assert (kind_of(shown, "logs")["default_days"], kind_of(shown, "usage")["default_days"]) == (20, 0)
    rows = of_project(cast)
    assert (kind_of(rows, "logs")["days"], kind_of(rows, "logs")["rule_of"]) == (20, "organisation")
    assert kind_of(rows, "usage")["days"] is None
    assert (kind_of(rows, "metrics")["days"], kind_of(rows, "metrics")["rule_of"]) == (10, "installation")


def test_the_deleting_task_obeys_bounds_and_defaults_and_leaves_other_organisations_alone(cast: Cast) -> None:
    young, old = trained(cast, name="young", days_ago=4), trained(cast, name="old", days_ago=11)
    other = trained(cast, name="other", days_ago=4)
    Job.objects.filter(pk=other.job_id).update(project=cast.project_b)
    set_retention(cast.project_a, {"logs": 8}, actor=cast.alice)
    set_organisation_retention(cast.a, {"logs": {"most_days": 3}, "metrics": {"least_days": 30}}, actor=cast.alice)
    assert remove_expired(batch=10)["logs"] == 2 * N_LINES
    assert [left(one) for one in (young, old, other)] == [(0, N_LINES), (0, N_LINES), (N_LINES, N_LINES)]
    assert RemovedPart.objects.get(job=young.job, kind="logs").kept_days == 3


def test_checkpoints_go_by_a_bound_also_where_only_what_became_due_lately_is_looked_for(
    cast: Cast, tmp_path: Path
) -> None:
    found, lately = with_checkpoints(cast, tmp_path, days_ago=9), timedelta(days=2)
    set_retention(cast.project_a, {"checkpoints": 0}, actor=cast.alice)
    ProjectRetention.objects.update(updated_at=timezone.now() - timedelta(days=100))
    set_organisation_retention(cast.a, {"checkpoints": {"most_days": 1}}, actor=cast.alice)
    assert list(jobs_without_checkpoints(timezone.now(), within=lately)) == [found]
    assert collect_checkpoints() == 1


def test_the_preview_says_for_each_project_what_a_bound_would_remove_and_removes_nothing(
    cast: Cast, tmp_path: Path
) -> None:
    young = trained(cast, name="young", days_ago=4)
    with_checkpoints(cast, tmp_path, days_ago=5)
    other = Project.objects.create(organisation=cast.a, name="audio")
    set_retention(other, {"logs": 2}, actor=cast.alice)
    asked = {"logs": {"most_days": 3}, "checkpoints": {"least_days": 30}}
    rows = call(cast, cast.victor, "post", asked, tail="/preview")
    shown = [
        (one["project"]["name"], one["kind"], one["days_before"], one["days_after"], one["n_items"]) for one in rows
    ]
    assert shown == [
        ("audio", "checkpoints", 10, 30, 0),
        ("vision", "logs", 10, 3, N_LINES),
        ("vision", "checkpoints", 10, 30, 0),
    ]
    assert rows[1]["clamped_by"] == {"owner": "organisation", "side": "at_most", "days": 3}
    assert left(young) == (N_LINES, N_LINES)
    assert call(cast, cast.victor, "get")["version"] == 0


def test_people_delete_no_job_and_no_checkpoint_before_the_least_days(cast: Cast, tmp_path: Path) -> None:
    young, old = trained(cast, name="young", days_ago=4), trained(cast, name="old", days_ago=8)
    held = with_checkpoints(cast, tmp_path, days_ago=4)
    set_organisation_retention(cast.a, {"logs": {"least_days": 7}, "checkpoints": {"least_days": 5}}, actor=cast.alice)
    refused = cast.client(cast.alice).delete(f"/api/v1/jobs/{young.job_id}")
    assert (refused.status_code, refused.json()["code"], refused.json()["kind"]) == (409, "retention_bound", "logs")
    shown = cast.client(cast.alice).get(f"/api/v1/jobs/{young.job_id}/deletion").json()
    assert "A keeps logs for at least 7 days" in shown["refusal"]
    assert cast.client(cast.alice).delete(f"/api/v1/jobs/{old.job_id}").status_code == 204
    not_pinned = Checkpoint.objects.get(attempt__job=held, is_pinned=False)
    address = f"/api/v1/jobs/{held.id}/checkpoints/delete"
    answer = cast.client(cast.alice).post(address, {"checkpoints": [not_pinned.id]}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "retention_bound")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"logs": {"least_days": 9, "most_days": 3}}, "logs.least_days"),
        ({"logs": {"default_days": 9, "most_days": 3}}, "logs.default_days"),
        ({"logs": {"default_days": 0, "most_days": 3}}, "logs.default_days"),
        ({"logs": {"most_days": 1}}, "logs.most_days"),
        ({"logs": {"least_days": 50}}, "logs.least_days"),
        ({"logs": {"most_days": -1}}, "logs.most_days"),
        ({"logs": {"longest": 1}}, "logs.longest"),
        ({"lgos": {"most_days": 1}}, "lgos"),
        ({"logs": 5}, "logs"),
    ],
)
def test_bounds_that_make_no_sense_are_refused_and_named(
    cast: Cast, settings: Any, body: dict[str, Any], field: str
) -> None:
    settings.RETENTION_LEAST_DAYS, settings.RETENTION_MOST_DAYS = 2.0, 40.0
    for tail, method in (("", "patch"), ("/preview", "post")):
        errors = call(cast, cast.alice, method, body, tail=tail, status=422)["errors"]
        assert errors[0]["field"].startswith(field)


def test_a_bound_beyond_the_default_that_is_there_is_refused(cast: Cast) -> None:
    call(cast, cast.alice, "patch", {"logs": {"default_days": 20}})
    refused = call(cast, cast.alice, "patch", {"logs": {"most_days": 10}}, status=422)
    assert refused["errors"][0]["field"] == "logs.default_days"
    assert call(cast, cast.alice, "patch", {"logs": {"most_days": 10, "default_days": 10}})["version"] == 2


def test_only_admins_change_bounds_and_strangers_see_none(cast: Cast) -> None:
    for person, status in ((cast.bob, 403), (cast.victor, 403), (cast.charlie, 404)):
        call(cast, person, "patch", {"logs": {"most_days": 1}}, status=status)
    call(cast, cast.charlie, "get", status=404)
    call(cast, cast.charlie, "post", {"logs": {"most_days": 1}}, tail="/preview", status=404)
    assert call(cast, cast.bob, "get")["may_edit"] is False


def test_two_admins_at_once_get_both_versions_and_changes_are_events(cast: Cast) -> None:
    call(cast, cast.alice, "patch", {"logs": {"most_days": 30}, "version": 0})
    refused = call(cast, cast.root, "patch", {"logs": {"most_days": 20}, "version": 0}, status=409)
    assert (refused["code"], refused["version"], refused["present"], refused["yours"]) == (
        "stale_version", 1, {"logs.most_days": 30}, {"logs.most_days": 20},
    )  # fmt: skip
    event = Event.objects.get(kind="organisation.retention_changed")
    assert (event.facts["before"], event.facts["after"]) == ({"logs.most_days": None}, {"logs.most_days": 30})
    assert (event.actor, event.organisation) == (cast.alice, cast.a)
