# SPDX-License-Identifier: Apache-2.0
"""Studies of scripts: rungs are steps; trials rest where the script saves checkpoints, else they are trained on."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from mlhub.core.errors import InvalidInputError
from mlhub.experiments.algorithms.asha import RungResult, is_kept
from mlhub.experiments.models import Study, Trial
from mlhub.jobs.models import Job
from mlhub.registry.tasks import validate_version
from tests.cast import Cast, make_cast
from tests.datasets.files import zipped
from tests.experiments.training import Trainer, script, study_of
from tests.registry.packages import upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def script_study(cast: Cast, **request: Any) -> Study:
    """Of a script that reads no dataset and makes 9 epochs of 10 steps, of which it reports the steps alone."""
    asked = {
        "model_version": script(cast), "dataset_version": None, "steps": 90, "min_steps": 10, "metric": "accuracy",
    }  # fmt: skip
    return study_of(cast, **{**asked, **request})


def trials_of(study: Study) -> list[Trial]:
    return list(Trial.objects.filter(study=study).order_by("number"))


@pytest.mark.slow
def test_a_script_that_saves_checkpoints_rests_at_its_rungs(cast: Cast) -> None:
    study = script_study(cast)
    assert (study.rungs, study.unit, study.metric) == ([10, 30, 90], "steps", "train/accuracy")
    Trainer(metric="train/accuracy", is_script=True, saves=True).run(study)
    assert (study.state, study.reason) == ("completed", "All 9 trials are done.")
    completed = [trial for trial in trials_of(study) if trial.status == "completed"]
    best = max(completed, key=lambda trial: trial.results[-1]["value"])
    assert best.parameters["width"] == max(trial.parameters["width"] for trial in trials_of(study))
    assert [result["step"] for result in best.results] == [10, 30, 90]
    assert {trial.code for trial in trials_of(study)} <= {"", "study_ended"}
    assert max(trial.epochs for trial in trials_of(study) if trial.status != "completed") < 90


@pytest.mark.slow
def test_one_that_saves_none_is_trained_on_or_stopped_for_good(cast: Cast) -> None:
    study = script_study(cast)
    Trainer(metric="train/accuracy", is_script=True).run(study)
    assert (study.state, study.reason) == ("completed", "All 9 trials are done.")
    trials = trials_of(study)
    by_code = {code: [t for t in trials if t.code == code] for code in {trial.code for trial in trials}}
    assert set(by_code) == {"trained_on", "stopped_early"}
    assert {trial.status for trial in by_code["trained_on"]} == {"completed"}
    assert "saved no checkpoint" in by_code["trained_on"][0].message
    assert all(trial.epochs < 90 for trial in by_code["stopped_early"])
    # no job was paused: each has one attempt, and begins nothing anew
    assert all(job.attempts.count() == 1 for job in Job.objects.all())
    best = max(by_code["trained_on"], key=lambda trial: trial.results[-1]["value"])
    assert best.parameters["width"] == max(trial.parameters["width"] for trial in trials)


@pytest.mark.slow
def test_a_script_that_ends_before_it_could_rest_is_promoted_from_its_curve(cast: Cast) -> None:
    study = script_study(cast)
    Trainer(metric="train/accuracy", is_script=True, per_pass=9).run(study)
    assert study.state == "completed"
    assert {trial.status for trial in trials_of(study)} <= {"completed", "stopped"}
    best = max(trials_of(study), key=lambda trial: (len(trial.results), trial.results[-1]["value"]))
    assert [result["step"] for result in best.results] == [10, 30, 90]


@pytest.mark.slow
def test_a_script_that_does_not_end_at_the_last_step_is_cancelled_behind_it(cast: Cast) -> None:
    study = script_study(cast, algorithm="random", steps=40, min_steps=None, max_trials=2)
    Trainer(metric="train/accuracy", is_script=True).run(study)
    assert study.state == "completed"
    for trial in trials_of(study):
        assert (trial.status, trial.code, trial.results[-1]["step"]) == ("completed", "past_end", 40)
        assert trial.epochs < 90


@pytest.mark.slow
def test_other_algorithms_take_the_last_value_of_a_script(cast: Cast) -> None:
    study = script_study(cast, algorithm="random", steps=None, min_steps=None, max_trials=3)
    Trainer(metric="train/accuracy", is_script=True).run(study)
    assert (study.state, study.unit) == ("completed", "epochs")
    assert [trial.results[-1]["step"] for trial in trials_of(study)] == [90, 90, 90]


@pytest.mark.slow
def test_a_metric_that_no_script_reports_ends_the_study_and_names_those_it_does(cast: Cast) -> None:
    study = script_study(cast, metric="f1")
    Trainer(metric="train/accuracy", is_script=True, per_pass=9).run(study)
    assert study.state == "failed"
    assert "train/f1" in study.reason
    assert "train/accuracy" in study.reason


@pytest.mark.slow
def test_a_variable_of_the_environment_may_be_searched(cast: Cast) -> None:
    space = {"lr": {"uniform": [0.1, 0.2]}, "environment.DEPTH": {"choice": [2, 3]}, "width": {"int": [4, 64]}}
    study = script_study(cast, space=space, settings={"epochs": 9, "environment": {"SEED": "1"}})
    Trainer(metric="train/accuracy", is_script=True, saves=True).run(study)
    job = Job.objects.get(pk=trials_of(study)[0].job_id)
    assert sorted(job.hyperparameters) == ["lr", "width"]
    assert job.environment["SEED"] == "1"
    assert job.environment["DEPTH"] in ("2", "3")


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"steps": None, "min_steps": None}, "steps"),
        ({"steps": None, "min_steps": 5, "algorithm": "random"}, "min_steps"),
        ({"min_steps": 90}, "min_steps"),
        ({"min_epochs": 2}, "min_epochs"),
        ({"max_epochs": 2}, "max_epochs"),
        ({"space": {"environment.PATH": {"choice": ["a", "b"]}}}, "space.environment.PATH"),
        ({"max_trials": 2}, "max_trials"),
    ],
)
def test_what_no_trial_could_run_with_is_refused(cast: Cast, asked: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        script_study(cast, **asked)
    assert caught.value.field == field


OPTIONS = (
    b"import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', '--learning-rate', type=float)\n"
)


@pytest.mark.parametrize(
    ("files", "space", "refused"),
    [
        ({"train.py": OPTIONS}, {"lr": {"choice": [0.1, 0.2]}, "momentum": {"choice": [0, 0.9]}}, "momentum"),
        ({"train.py": OPTIONS}, {"learning_rat": {"choice": [0.1, 0.2]}}, "learning_rat"),
        ({"train.py": OPTIONS}, {"learning_rate": {"choice": [1, 2]}, "environment.MOMENTUM": {"choice": [0, 1]}}, ""),
        ({"train.py": OPTIONS, "settings.py": b"import mlhub.runtime\nX = mlhub.runtime.hyperparameters()\n"},
         {"momentum": {"choice": [0, 0.9]}}, ""),
        ({"train.py": b"print('loss=1')\n"}, {"momentum": {"choice": [0, 0.9]}}, ""),
    ],
)  # fmt: skip
def test_a_parameter_that_the_script_never_sees_is_refused_with_the_options_that_it_has(
    cast: Cast, files: dict[str, bytes], space: dict[str, Any], refused: str
) -> None:
    client = cast.client(cast.bob)
    uploaded = upload(
        client, cast.project_a, name="own", filename="own.zip", content=zipped(files), kind="script", entry="train.py"
    )
    validate_version(uploaded.json()["latest_version"]["id"])
    asked = {
        "name": "s", "job": {"project": str(cast.project_a.pk), "model": "own"}, "space": space, "metric": "loss",
        "direction": "minimize", "algorithm": "grid",
    }  # fmt: skip
    answer = client.post("/api/v1/studies", asked, format="json")
    if not refused:
        assert answer.status_code == 201, answer.json()
        return
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"]) == (422, f"space.{refused}")
    assert error["message"] == f"train.py has no option {refused}, so that its values would change nothing."
    near = "Did you mean learning_rate? " if refused == "learning_rat" else ""
    assert error["remedy"] == (
        f"{near}One of learning_rate, lr; or environment.{refused} for a variable of the environment."
    )


def test_steps_are_refused_for_models_that_mlhub_trains(cast: Cast) -> None:
    with pytest.raises(InvalidInputError) as caught:
        study_of(cast, steps=90)
    assert caught.value.field == "steps"


def test_the_api_takes_a_script_without_a_dataset(cast: Cast) -> None:
    model = script(cast)
    browser = APIClient()
    browser.force_login(cast.bob)
    body = {
        "name": "search", "job": {"project": "vision", "model": "script", "epochs": 9}, "steps": 90, "min_steps": 10,
        "space": "lr: {uniform: [0, 1]}", "metric": "loss", "direction": "minimize", "eta": 3,
    }  # fmt: skip
    made = browser.post("/api/v1/studies", body, format="json")
    assert made.status_code == 201, made.json()
    shown = made.json()
    assert (shown["rungs"], shown["unit"], shown["metric"]) == ([10, 30, 90], "steps", "train/loss")
    assert (shown["has_dataset"], shown["dataset_version"]) == (False, None)
    assert shown["model_version"]["id"] == str(model.pk)
    browser.force_login(cast.charlie)
    assert browser.get(f"/api/v1/studies/{shown['id']}").status_code == 404


def test_a_trial_that_cannot_rest_is_kept_while_it_is_among_the_best() -> None:
    values = [0.5, 0.9, 0.7, 0.8]
    kept = []
    for n in range(1, 5):
        results = [RungResult(trial, 0, value) for trial, value in enumerate(values[:n])]
        kept.append(is_kept(results, trial=n - 1, rung=0, eta=2))
    assert kept == [True, True, False, True]
    assert not is_kept([RungResult(0, 0, float("nan"))], trial=0, rung=0, eta=2)
