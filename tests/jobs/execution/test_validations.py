# SPDX-License-Identifier: Apache-2.0
"""A dry run that passed counts for jobs of the same content and settings, and for no others."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.datasets.models import DatasetVersion
from mlhub.events.models import Event
from mlhub.jobs import tasks
from mlhub.jobs.execution import validations
from mlhub.jobs.models import Job, PassedValidation, Preflight
from mlhub.jobs.tasks import hand_off_job
from mlhub.storage.inspection import Verdict
from mlhub.storage.models import WorkItem
from mlhub.tenants.models import Quota
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, ready_dataset

PROFILE = {"steps_per_epoch": 2, "steps_total": 4, "parameters_bytes": 400, "example_s": 0.001}


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.fixture
def dry_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were run in the sandbox, in order; each finds PROFILE."""
    made: list[str] = []

    def inspect(*argv: str, **_: Any) -> Verdict:
        made.append(argv[0])
        return Verdict(found={"profile": dict(PROFILE)})

    monkeypatch.setattr(tasks, "inspect", inspect)
    return made


def submit(cast: Cast, *, user: Any = None, project: Any = None, **more: Any) -> Job:
    user, project = user or cast.bob, project or cast.project_a
    dataset = ready_dataset(project, user)
    body = {
        "dataset": str(dataset.dataset_id),
        "model": str(builtin().model_id),
        "project": str(project.id),
        "epochs": 2,
        "batch_size": 32,
        **more,
    }
    answer = cast.client(user).post("/api/v1/jobs", body)
    assert answer.status_code == 201, answer.content
    return Job.objects.get(pk=answer.json()["id"])


def passed(cast: Cast, **more: Any) -> Job:
    job = submit(cast, **more)
    hand_off_job(str(job.id))
    job.refresh_from_db()
    assert job.preflight == Preflight.PASSED
    return job


def test_a_job_like_one_that_passed_may_be_scheduled_at_once_and_names_it(cast: Cast, dry_runs: list[str]) -> None:
    first = passed(cast)
    again = submit(cast, epochs=5, seed=7, min_workers=2, hyperparameters={"learning_rate": 0.5})
    assert (again.preflight, again.steps_total, len(dry_runs)) == (Preflight.PASSED, 10, 1)
    assert not WorkItem.objects.waiting().filter(subject_id=again.id).exists()
    client = cast.client(cast.bob)
    shown = client.get(f"/api/v1/jobs/{again.id}").json()
    assert (shown["validated_by"], shown["profile"]["example_s"]) == (str(first.id), 0.001)
    assert shown["validated_at"] is not None
    assert client.get(f"/api/v1/jobs/{first.id}").json()["validated_by"] is None
    event = Event.objects.get(kind="job.preflight_passed", subject_id=again.id)
    assert event.facts["validated_by"] == str(first.id)


def test_another_value_of_a_target_is_not_tried_out_and_a_first_target_is(cast: Cast, dry_runs: list[str]) -> None:
    passed(cast)
    first = passed(cast, target_metric="eval/accuracy", target_value=0.95)
    again = submit(cast, target_metric="eval/accuracy", target_value=0.5)
    assert (again.preflight, len(dry_runs)) == (Preflight.PASSED, 2)
    assert again.validation_key == first.validation_key


@pytest.mark.slow
def test_jobs_that_wait_already_are_passed_by_the_first_dry_run_of_their_kind(cast: Cast, dry_runs: list[str]) -> None:
    first, *others = (submit(cast, name=f"job {i}") for i in range(4))
    different = submit(cast, batch_size=16)
    hand_off_job(str(first.id))
    assert len(dry_runs) == 1
    states = dict(Job.objects.values_list("id", "preflight"))
    assert {states[job.id] for job in others} == {Preflight.PASSED}
    assert states[different.id] == Preflight.PENDING
    waiting = set(WorkItem.objects.waiting().values_list("subject_id", flat=True))
    assert waiting & {job.id for job in (*others, different)} == {different.id}


@pytest.mark.parametrize(
    "changed",
    [
        {"batch_size": 16},
        {"hyperparameters": {"width": 64}},
        {"hyperparameters": {"optimizer": "adam"}},
        {"mode": "parameter_server"},
    ],
)
def test_other_settings_are_tried_out(cast: Cast, dry_runs: list[str], changed: dict[str, Any]) -> None:
    passed(cast)
    assert submit(cast, **changed).preflight == Preflight.PENDING


def test_other_data_under_the_same_name_is_tried_out(cast: Cast, dry_runs: list[str]) -> None:
    passed(cast)
    DatasetVersion.objects.update(files=[{"name": "blobs.npz", "sha256": "2" * 64, "size_bytes": 10}])
    assert submit(cast).preflight == Preflight.PENDING


def test_an_update_of_the_runtime_makes_every_job_be_tried_out_again(
    cast: Cast, dry_runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    passed(cast)
    monkeypatch.setattr(validations, "runtime_fingerprint", lambda: "of the next version")
    job = submit(cast)
    assert job.preflight == Preflight.PENDING
    hand_off_job(str(job.id))
    assert len(dry_runs) == 2


def test_a_validation_counts_in_its_own_organisation_alone(cast: Cast, dry_runs: list[str]) -> None:
    ours = passed(cast)
    theirs = submit(cast, user=cast.charlie, project=cast.project_b)
    assert theirs.validation_key == ours.validation_key
    assert theirs.preflight == Preflight.PENDING
    assert PassedValidation.objects.visible_to(cast.charlie).count() == 0


def test_a_dry_run_that_failed_is_made_again(cast: Cast, dry_runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    problem = {"code": "user_code", "field": "file", "message": "It broke.", "remedy": "Correct it."}
    monkeypatch.setattr(tasks, "inspect", lambda *_, **__: Verdict(error=problem))
    failed = submit(cast)
    hand_off_job(str(failed.id))
    failed.refresh_from_db()
    assert failed.preflight == Preflight.FAILED
    assert submit(cast).preflight == Preflight.PENDING
    assert not PassedValidation.objects.exists()


def test_a_job_whose_weights_have_no_room_is_not_passed_by_an_earlier_dry_run(cast: Cast, dry_runs: list[str]) -> None:
    passed(cast)
    Quota.objects.filter(organisation=cast.a).update(max_storage_bytes=10)
    job = submit(cast)
    assert job.preflight == Preflight.PENDING
    hand_off_job(str(job.id))
    job.refresh_from_db()
    assert (job.preflight, job.failure["cause"]) == (Preflight.FAILED, "storage_quota")
