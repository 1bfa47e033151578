# SPDX-License-Identifier: Apache-2.0
"""A project's own rules of retention: what goes and what stays by them, the preview, and who may change them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from mlhub.events.models import Event
from mlhub.jobs.models import Attempt, Checkpoint, Job, RemovedPart
from mlhub.jobs.retention.checkpoint_retention import jobs_without_checkpoints
from mlhub.jobs.retention.retention_actions import set_retention
from mlhub.jobs.tasks import collect_checkpoints
from mlhub.retention.tasks import remove_expired
from mlhub.tenants.models import Project
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
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
    path = f"/api/v1/projects/{cast.project_a.id}/retention{tail}"
    answer = getattr(cast.client(by), method)(path, body, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()


def with_checkpoints(cast: Cast, root: Path, *, days_ago: float, state: str = "succeeded") -> Job:
    """Two complete checkpoints of 5 bytes each, the first one pinned."""
    found = job(cast.project_a, cast.bob, state=state, finished_at=timezone.now() - timedelta(days=days_ago))
    attempt = Attempt.objects.create(job=found, number=1, mode="all_reduce", n_workers=1, token_hash=str(found.id))
    for step in (1, 2):
        name = f"attempt-0001-step-{step:010}"
        folder = root / str(found.id) / name
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
        Checkpoint.objects.create(
            attempt=attempt, step=step, name=name, size_bytes=5, write_s=0, stall_s=0, at=timezone.now(),
            is_pinned=step == 1,
        )  # fmt: skip
    return found


def test_a_project_keeps_its_lines_shorter_or_longer_than_others(cast: Cast) -> None:
    young, old = trained(cast, name="young", days_ago=4), trained(cast, name="old", days_ago=11)
    set_retention(cast.project_a, {"logs": 3, "metrics": 0}, actor=cast.alice)
    removed = remove_expired(batch=10)
    assert removed["logs"] == 2 * N_LINES
    assert [left(one) for one in (young, old)] == [(0, N_LINES), (0, N_LINES)]
    assert RemovedPart.objects.get(job=young.job, kind="logs").kept_days == 3


def test_another_project_goes_by_the_installation_s_rules(cast: Cast) -> None:
    young = trained(cast, name="young", days_ago=4)
    other = Project.objects.create(organisation=cast.a, name="other")
    set_retention(other, {"logs": 1}, actor=cast.alice)
    assert "logs" not in remove_expired()
    assert left(young)[0] == N_LINES


def test_checkpoints_go_by_the_project_s_rule_and_pinned_ones_stay(cast: Cast, tmp_path: Path) -> None:
    found = with_checkpoints(cast, tmp_path, days_ago=4)
    assert collect_checkpoints() == 0
    set_retention(cast.project_a, {"checkpoints": 3}, actor=cast.alice)
    assert collect_checkpoints() == 1
    assert sorted(path.name for path in (tmp_path / str(found.id)).iterdir()) == ["attempt-0001-step-0000000001"]


def test_a_shorter_rule_counts_for_jobs_that_ended_long_before_it(cast: Cast, tmp_path: Path) -> None:
    """Where only what became due lately is looked for, as on Kubernetes."""
    found = with_checkpoints(cast, tmp_path, days_ago=9)
    now, lately = timezone.now(), timedelta(days=2)
    assert not jobs_without_checkpoints(now, within=lately).exists()
    set_retention(cast.project_a, {"checkpoints": 1}, actor=cast.alice)
    assert list(jobs_without_checkpoints(timezone.now(), within=lately)) == [found]


def test_failed_jobs_have_a_rule_of_their_own(cast: Cast, tmp_path: Path) -> None:
    with_checkpoints(cast, tmp_path, days_ago=4, state="failed")
    set_retention(cast.project_a, {"checkpoints": 1}, actor=cast.alice)
    assert collect_checkpoints() == 0
    set_retention(cast.project_a, {"failed_checkpoints": 1}, actor=cast.alice)
    assert collect_checkpoints() == 1


def test_the_preview_says_what_a_rule_would_remove_and_removes_nothing(cast: Cast, tmp_path: Path) -> None:
    young = trained(cast, name="young", days_ago=4)
    for days_ago in (3.0, 5.0, 0.5):
        with_checkpoints(cast, tmp_path, days_ago=days_ago)
    asked = {"checkpoints": 2, "logs": 3, "metrics": 0, "usage": None}
    rows = {row.pop("kind"): row for row in call(cast, cast.victor, "post", asked, tail="/preview")}
    assert rows["checkpoints"] == {"n_items": 2, "n_jobs": 2, "n_bytes": 10}
    text = sum(len(f"line {i}") for i in range(N_LINES))
    assert rows["logs"] == {"n_items": N_LINES, "n_jobs": 1, "n_bytes": text}
    assert rows["metrics"]["n_items"] == rows["usage"]["n_items"] == 0
    assert left(young) == (N_LINES, N_LINES)
    assert not call(cast, cast.victor, "get")["version"]


def test_rules_are_shown_with_what_is_stored(cast: Cast, tmp_path: Path) -> None:
    trained(cast, name="young", days_ago=4)
    with_checkpoints(cast, tmp_path, days_ago=4)
    call(cast, cast.alice, "patch", {"logs": 3, "results": 0})
    shown = call(cast, cast.bob, "get")
    assert (shown["version"], shown["may_edit"], shown["organisation"]["name"]) == (1, False, "A")
    kinds = {row["kind"]: row for row in shown["kinds"]}
    assert (kinds["logs"]["days"], kinds["logs"]["is_own"], kinds["logs"]["stored"]["n_items"]) == (3, True, N_LINES)
    assert (kinds["results"]["days"], kinds["metrics"]["days"]) == (None, 10)
    assert kinds["checkpoints"]["stored"] == {"n_items": 2, "n_jobs": 1, "n_bytes": 10}
    cleared = call(cast, cast.alice, "patch", {"logs": None})
    assert next(row for row in cleared["kinds"] if row["kind"] == "logs")["is_own"] is False


def test_what_is_due_is_shown_and_its_removal_begins_when_the_rules_are_saved(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[str] = []
    monkeypatch.setattr("mlhub.core.dispatch.send", lambda task, *_: sent.append(task))
    with_checkpoints(cast, tmp_path, days_ago=4)
    trained(cast, name="young", days_ago=4)

    def due() -> dict[str, int]:
        kinds = call(cast, cast.victor, "get")["kinds"]
        return {one["kind"]: one["due"]["n_items"] for one in kinds if one["due"]["n_items"]}

    assert due() == {}
    with django_capture_on_commit_callbacks(execute=True):
        call(cast, cast.alice, "patch", {"logs": 3, "checkpoints": 3})
    assert sent == ["mlhub.retention.tasks.remove_expired", "mlhub.jobs.tasks.collect_checkpoints"]
    assert due() == {"logs": N_LINES, "checkpoints": 1}  # the pinned one stays
    remove_expired()
    collect_checkpoints()
    assert due() == {}


def test_the_installation_bounds_what_a_project_may_choose(cast: Cast, settings: Any) -> None:
    settings.RETENTION_LEAST_DAYS, settings.RETENTION_MOST_DAYS = 2.0, 30.0
    for days, setting in ((1, "MLHUB_RETENTION_LEAST_DAYS"), (31, "MLHUB_RETENTION_MOST_DAYS"), (0, "MOST_DAYS")):
        refused = call(cast, cast.alice, "patch", {"logs": days}, status=422)
        assert refused["errors"][0]["field"] == "logs"
        assert setting in refused["remedy"]
    assert call(cast, cast.alice, "patch", {"logs": 2, "metrics": 30})["version"] == 1


@pytest.mark.parametrize("body", [{"logs": -1}, {"logs": "long"}, {"lgos": 1}, {"logs": 1e9}, {"events": 1}])
def test_what_makes_no_sense_is_refused(cast: Cast, body: dict[str, Any]) -> None:
    assert call(cast, cast.alice, "patch", body, status=422)["errors"]


def test_only_admins_change_rules_and_strangers_see_none(cast: Cast) -> None:
    for person, status in ((cast.bob, 403), (cast.victor, 403), (cast.charlie, 404)):
        call(cast, person, "patch", {"logs": 1}, status=status)
    call(cast, cast.charlie, "get", status=404)
    call(cast, cast.charlie, "post", {"logs": 1}, tail="/preview", status=404)


def test_two_admins_at_once_get_both_versions_and_changes_are_events(cast: Cast) -> None:
    call(cast, cast.alice, "patch", {"logs": 3, "version": 0})
    refused = call(cast, cast.root, "patch", {"logs": 5, "version": 0}, status=409)
    assert (refused["code"], refused["version"]) == ("stale_version", 1)
    assert (refused["present"], refused["yours"]) == ({"logs": 3}, {"logs": 5})
    call(cast, cast.root, "patch", {"logs": 5, "version": 1})
    facts = Event.objects.filter(kind="project.retention_changed").order_by("id").values_list("facts", flat=True)
    assert [(one["before"], one["after"]) for one in facts] == [
        ({"logs": None}, {"logs": 3}),
        ({"logs": 3}, {"logs": 5}),
    ]
