# SPDX-License-Identifier: Apache-2.0
"""Studies through the public door: what is accepted, what is refused and how, what is shown, and who may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.experiments.models import Study, Trial
from mlhub.experiments.tasks import advance_studies
from mlhub.jobs.models import Job
from mlhub.tenants.models import User
from tests.cast import Cast, make_cast
from tests.experiments.training import Trainer, study_of
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db
URL = "/api/v1/studies"


@pytest.fixture
def cast() -> Cast:
    found = make_cast()
    ready_dataset(found.project_a, found.bob)
    builtin("mlp")
    return found


def body(**over: Any) -> dict[str, Any]:
    return {
        "name": "search",
        "job": {"dataset": "blobs", "model": "mlp", "epochs": 9, "hyperparameters": {"dropout": 0.1}},
        "space": {"learning_rate": {"log_uniform": [1e-4, 0.1]}, "width": {"int": [4, 64]}},
        "metric": "eval/accuracy",
        "direction": "maximize",
    } | over


def created(cast: Cast, user: User | None = None, **over: Any) -> Any:
    return cast.client(user or cast.bob).post(URL, body(**over), format="json")


def test_a_study_is_created_and_its_jobs_have_the_settings_and_the_values_of_their_trials(cast: Cast) -> None:
    answer = created(cast, max_parallel=2)
    assert answer.status_code == 201, answer.content
    shown = answer.json()
    assert (shown["state"], shown["algorithm"], shown["rungs"], shown["best"]) == (
        "running",
        "asha",
        [1, 2, 4, 8, 9],
        None,
    )
    assert (shown["dataset_version"]["dataset"]["name"], shown["most_trials"]) == ("blobs", 27)
    advance_studies()
    trials = cast.client(cast.victor).get(f"{URL}/{shown['id']}/trials").json()
    assert [trial["number"] for trial in trials] == [0, 1]
    job = Job.objects.get(pk=trials[0]["job"])
    assert job.hyperparameters == {"dropout": 0.1, **trials[0]["parameters"]}
    assert (job.name, job.epochs, job.priority, job.created_by) == ("search trial 0", 9, -50, cast.bob)
    assert Event.objects.filter(kind="study.created", actor=cast.bob).count() == 1


def test_the_study_of_the_examples_is_accepted_and_trains_as_its_first_line_says(cast: Cast) -> None:
    given = yaml.safe_load((Path(__file__).parents[2] / "examples/study/study.yaml").read_text())
    answer = created(cast, **given | {"job": {**given["job"], "dataset": "blobs"}})
    assert (answer.status_code, answer.json().get("rungs")) == (201, [2, 6, 18]), answer.content


@pytest.mark.slow
def test_what_a_study_found_is_shown(cast: Cast) -> None:
    study = study_of(cast, max_trials=12)
    Trainer().run(study)
    client = cast.client(cast.victor)
    shown = client.get(f"{URL}/{study.pk}").json()
    assert shown["best"]["parameters"]["width"] == max(t.parameters["width"] for t in Trial.objects.all())
    assert (shown["state"], shown["n_trials"], shown["trials"]["running"]) == ("completed", 12, 0)
    assert shown["epochs"] == sum(Job.objects.values_list("epoch", flat=True))
    found = client.get(f"{URL}/{study.pk}/importance").json()
    assert (found["epochs"], found["n_trials"], found["parameters"][0]["name"]) == (1, 12, "width")
    listed = client.get(URL, {"state": "completed", "project": str(cast.project_a.pk)}).json()["results"]
    assert [each["id"] for each in listed] == [str(study.pk)]


@pytest.mark.parametrize(
    ("over", "field", "words"),
    [
        ({"space": {}}, "space", "no points"),
        ({"space": "width: {choice: []}"}, "space.width", "no points"),
        ({"space": {"widht": {"int": [1, 2]}}}, "space.widht", "widht"),
        ({"space": {"learning_rate": {"uniform": [-1, 1]}}}, "space.learning_rate", "learning_rate"),
        ({"space": {"optimizer": {"choice": ["sgd", "adma", "adam"]}}}, "space.optimizer", "'adma'"),
        ({"space": {"lr_schedule": {"choice": ["constant", "cosin", "linear"]}}}, "space.lr_schedule", "cosin"),
        (
            {"job": {"dataset": "blobs", "model": "mlp", "epochs": 9, "hyperparameters": {"optimizer": "adma"}}},
            "job.hyperparameters.optimizer",
            "'adma'",
        ),
        ({"space": {"batch_size": {"uniform": [1, 2]}}}, "space.batch_size", "batch_size"),
        ({"job": {"dataset": "blobs", "model": "mlp", "epochs": 1}}, "min_epochs", "first rung"),
        ({"max_trials": 8, "eta": 3, "min_epochs": 1}, "max_trials", "none would reach the last"),
        ({"algorithm": "grid", "min_epochs": 1}, "min_epochs", "belongs to asha"),
        ({"algorithm": "genetic"}, "algorithm", "not a valid choice"),
        ({"trials": 8}, "trials", "Unknown field"),
        ({"job": {"dataset": "blobs", "model": "mlp", "kind": "predict"}}, "job.", ""),
        ({"job": {"dataset": "blobs", "model": "mlp", "name": "x"}}, "job.name", "leave it out"),
        ({"job": {"dataset": "blobs", "model": "mlp", "datasets": {"more": "blobs"}}}, "job.datasets", "leave it out"),
        ({"min_epochs": 9}, "min_epochs", "first rung"),
        ({"job": {"dataset": "blobs", "model": "mlp", "min_workers": 5, "max_workers": 2}}, "job.min_workers", "max"),
        ({"job": {"dataset": "blobs", "model": "mlp", "priority": 99}}, "priority", "highest"),
    ],
)
def test_what_no_trial_could_run_with_is_refused_naming_the_field(
    cast: Cast, over: dict[str, Any], field: str, words: str
) -> None:
    answer = created(cast, **over)
    assert answer.status_code == 422, answer.content
    errors = answer.json()["errors"]
    assert errors[0]["field"].startswith(field), errors
    assert words in errors[0]["message"]
    assert not Study.objects.exists()


def test_the_epochs_of_the_first_rung_may_be_given(cast: Cast) -> None:
    answer = created(cast, min_epochs=3)
    assert (answer.status_code, answer.json()["rungs"]) == (201, [3, 6, 9])


@pytest.mark.parametrize(
    ("max_trials", "rungs"), [(32, [1, 2, 4, 8, 16, 27]), (16, [3, 6, 12, 24, 27]), (8, [6, 12, 24, 27]), (2, [])]
)
def test_the_first_rung_is_as_early_as_the_number_of_trials_allows(
    cast: Cast, max_trials: int, rungs: list[int]
) -> None:
    job = {"dataset": "blobs", "model": "mlp", "epochs": 27}
    answer = created(cast, job=job, max_trials=max_trials)
    assert answer.json().get("rungs", []) == rungs


def bearing(cast: Cast, *scopes: str) -> APIClient:
    made = cast.client(cast.bob).post("/api/v1/tokens", {"name": "ci", "scopes": list(scopes)}, format="json")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made.json()['token']}")
    return client


def test_a_token_for_submissions_makes_and_steers_studies(cast: Cast) -> None:
    client = bearing(cast, "submit", "read")
    study = client.post(URL, body(), format="json")
    assert study.status_code == 201, study.content
    assert client.post(f"{URL}/{study.json()['id']}/stop").json()["state"] == "stopped"
    assert bearing(cast, "read").post(URL, body(), format="json").status_code == 403


def test_a_batch_size_may_be_searched(cast: Cast) -> None:
    answer = created(cast, space={"batch_size": {"choice": [8, 16]}}, algorithm="random")
    assert (answer.status_code, answer.json()["most_trials"]) == (201, 2)
    advance_studies()
    jobs = Job.objects.order_by("id")
    assert sorted(job.batch_size for job in jobs) == [8, 16]
    assert all("batch_size" not in job.hyperparameters for job in jobs)


@pytest.mark.slow
def test_a_study_is_paused_resumed_stopped_and_deleted(cast: Cast) -> None:
    client, study = cast.client(cast.bob), created(cast).json()
    advance_studies()
    own = f"{URL}/{study['id']}"
    assert client.delete(own).json()["code"] == "study_live"
    assert client.post(f"{own}/pause").json()["state"] == "paused"
    assert client.post(f"{own}/resume").json()["state"] == "running"
    stopped = client.post(f"{own}/stop").json()
    assert (stopped["state"], stopped["reason"]) == ("stopped", "bob stopped it.")
    assert client.post(f"{own}/resume").json()["code"] == "study_ended"
    assert client.delete(own).json()["code"] == "study_live"  # its jobs are being cancelled
    advance_studies()
    assert client.delete(own).status_code == 204
    assert not Trial.objects.exists()
    assert set(Job.objects.values_list("state", flat=True)) == {"cancelled"}


@pytest.mark.slow
def test_an_organisation_has_a_limit_of_live_studies(cast: Cast, settings: Any) -> None:
    settings.MAX_LIVE_STUDIES_PER_ORGANISATION = 2
    first = created(cast).json()
    cast.client(cast.bob).post(f"{URL}/{created(cast).json()['id']}/pause")
    refused = created(cast)
    assert (refused.status_code, refused.json()["code"]) == (422, "quota_exceeded")
    assert refused.json()["limit"] == "max_live_studies_per_organisation"
    assert "MLHUB_MAX_LIVE_STUDIES_PER_ORGANISATION" in refused.json()["remedy"]
    cast.client(cast.bob).post(f"{URL}/{first['id']}/stop")
    assert created(cast).status_code == 201


@pytest.mark.slow
def test_only_its_organisation_sees_a_study_and_only_its_maker_and_admins_steer_it(cast: Cast) -> None:
    study = created(cast, cast.alice).json()
    for action in ("", "/trials", "/importance"):
        assert cast.client(cast.victor).get(f"{URL}/{study['id']}{action}").status_code == 200
        assert cast.client(cast.charlie).get(f"{URL}/{study['id']}{action}").status_code == 404
    for action in ("pause", "resume", "stop"):
        assert cast.client(cast.charlie).post(f"{URL}/{study['id']}/{action}").status_code == 404
        assert cast.client(cast.bob).post(f"{URL}/{study['id']}/{action}").status_code == 403
    assert cast.client(cast.charlie).delete(f"{URL}/{study['id']}").status_code == 404
    assert cast.client(cast.charlie).get(URL).json()["results"] == []
    assert created(cast, cast.victor).status_code == 403
    assert created(cast, cast.charlie).status_code in (404, 422)


def test_a_project_that_holds_a_study_is_not_deleted(cast: Cast) -> None:
    created(cast)
    answer = cast.client(cast.alice).delete(f"/api/v1/projects/{cast.project_a.pk}")
    assert answer.status_code == 409
    assert "1 study" in answer.json()["detail"]


@pytest.mark.parametrize(("direction", "best"), [("maximize", 3), ("minimize", 1)])
def test_the_list_counts_trials_and_names_the_best_of_the_highest_rung_without_reading_all_of_them(
    cast: Cast, direction: str, best: int, django_assert_max_num_queries: Any
) -> None:
    study, empty = study_of(cast, direction=direction), study_of(cast)
    results = {
        0: [0.99],
        1: [0.1, 0.7],
        2: [],
        3: [0.1, 0.8],
        4: [0.1, 0.8 if direction == "maximize" else 0.7],
        5: [0],
    }
    for number, values in results.items():
        rungs = [{"epochs": 3.0**i, "step": 10, "value": value} for i, value in enumerate(values)]
        status = "running" if number == 2 else "waiting"
        Trial.objects.create(
            study=study, number=number, parameters={}, results=rungs, status=status, epochs=1.5, gpu_s=1800
        )
    client = cast.client(cast.bob)
    with django_assert_max_num_queries(12) as asked:
        rows = {row["id"]: row for row in client.get(URL).json()["results"]}
    assert not any('"experiments_trial"."parameters"' in query["sql"] and "ROW_NUMBER" not in query["sql"]
                   for query in asked.captured_queries)  # fmt: skip
    found = rows[str(study.pk)]
    assert found["best"]["number"] == best
    assert (found["n_trials"], found["trials"]["running"], found["trials"]["waiting"]) == (6, 1, 5)
    assert (found["epochs"], found["gpu_hours"]) == (9.0, 3.0)
    assert client.get(f"{URL}/{study.pk}").json() == found
    none = rows[str(empty.pk)]
    assert (none["best"], none["n_trials"], none["epochs"], none["gpu_hours"]) == (None, 0, 0, 0)


def test_a_study_is_cloned_with_changes(cast: Cast) -> None:
    first = created(cast, max_epochs=90, seed=5, min_epochs=3).json()
    client = cast.client(cast.bob)

    def clone(**changes: Any) -> Any:
        return client.post(f"{URL}/{first['id']}/clone", changes, format="json")

    same = clone()
    assert same.status_code == 201, same.content
    unchanged = ("name", "space", "settings", "metric", "rungs", "eta", "seed", "max_trials", "max_epochs", "unit")
    assert {name: same.json()[name] for name in unchanged} == {name: first[name] for name in unchanged}
    assert same.json()["id"] != first["id"]
    assert same.json()["model_version"] == first["model_version"]

    other = clone(name="more", max_trials=81, job={"epochs": 18, "batch_size": 32}, space={"width": {"int": [8, 16]}})
    assert other.status_code == 201, other.content
    shown = other.json()
    assert (shown["name"], shown["max_trials"], shown["rungs"]) == ("more", 81, [1, 2, 4, 8, 16, 18])  # chosen anew
    assert shown["settings"] | {"epochs": 9} == first["settings"] | {"batch_size": 32, "max_batch_size": None}
    assert list(shown["space"]) == ["width"]

    for changes, field in (({"max_trails": 3}, "max_trails"), ({"job": {"epocs": 3}}, "job.epocs"),
                           ({"space": {"width": {"int": [9, 2]}}}, "space.width")):  # fmt: skip
        answer = clone(**changes)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert cast.client(cast.charlie).post(f"{URL}/{first['id']}/clone", {}, format="json").status_code == 404
    assert cast.client(cast.victor).post(f"{URL}/{first['id']}/clone", {}, format="json").status_code == 403
    Study.objects.filter(pk=first["id"]).update(dataset_version=None)
    lost = clone()
    assert (lost.status_code, lost.json()["code"]) == (409, "input_deleted")
    assert clone(job={"dataset": "blobs"}).status_code == 201
