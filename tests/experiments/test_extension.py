# SPDX-License-Identifier: Apache-2.0
"""Adding to a study's budget: it goes on as if it had had it from the start, or is refused with the reason."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from mlhub.events.models import Event
from mlhub.experiments import endings
from mlhub.experiments.actions import pause_study, stop_study
from mlhub.experiments.algorithms.search import TrialStatus, next_step
from mlhub.experiments.extension import Addition, extend_study
from mlhub.experiments.models import Study, Trial
from mlhub.experiments.records import records_of, rules_of
from mlhub.experiments.tasks import advance_studies
from mlhub.jobs.models import Job
from mlhub.metrics.models import MetricPoint
from tests.cast import Cast, make_cast
from tests.experiments.training import Trainer, entered, steps_of, study_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
URL = "/api/v1/studies"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def extended(cast: Cast, study: Study, user: Any = None, **body: Any) -> Any:
    return cast.client(user or cast.bob).post(f"{URL}/{study.pk}/extend", body, format="json")


def test_halving_goes_on_with_the_trials_that_rested_when_the_study_ended(cast: Cast) -> None:
    study, trainer = study_of(cast), Trainer()
    trainer.run(study)
    before = steps_of(study)
    rested = set(study.trials.filter(code="study_ended").values_list("number", flat=True))
    assert rested
    jobs = dict(study.trials.values_list("number", "job_id"))

    answer = extended(cast, study, trials=18)
    assert answer.status_code == 200, answer.content
    shown = answer.json()
    assert (shown["state"], shown["reason"], shown["max_trials"], shown["finished_at"]) == ("running", "", 27, None)
    assert shown["trials"]["waiting"] == len(rested)
    trainer.run(study)

    assert (study.state, study.reason) == ("completed", "All 27 trials are done.")
    after = steps_of(study)
    for (number, parameters, _, values), (_, known, _, now) in zip(before, after, strict=False):
        assert (parameters, values) == (known, now[: len(values)]), number  # what was found stays
    promoted = [one for one, two in zip(before, after, strict=False) if two[2] > one[2]]
    assert {number for number, *_ in promoted} <= rested
    assert promoted, "of those that rested, some are among the best of more"
    for number, *_ in promoted:  # the same job, from where it was
        job = Job.objects.get(pk=jobs[number])
        assert study.trials.get(number=number).job_id == job.pk
        epochs = list(MetricPoint.objects.filter(series__job=job).order_by("epoch").values_list("epoch", flat=True))
        assert epochs == sorted(set(epochs))  # each was trained once
    # nothing that may be promoted is left: as a study that had this budget from the start
    waiting = [*study.trials.order_by("number")]
    for trial in waiting:
        if trial.code == "study_ended":
            trial.status = TrialStatus.WAITING
    assert next_step(rules_of(study), records_of(waiting)) is None


@pytest.mark.parametrize("algorithm", ["random", "tpe"])
def test_later_points_are_those_of_a_study_that_had_the_budget_from_the_start(cast: Cast, algorithm: str) -> None:
    whole = study_of(cast, algorithm=algorithm, epochs=1, max_trials=14, max_parallel=1)
    Trainer().run(whole)
    study = study_of(cast, algorithm=algorithm, epochs=1, max_trials=11, max_parallel=1)
    Trainer().run(study)
    extended(cast, study, trials=3)
    Trainer().run(study)
    assert steps_of(study) == steps_of(whole)


def test_trials_that_ran_when_the_gpu_hours_were_used_up_go_on(cast: Cast) -> None:
    study, trainer = study_of(cast, max_gpu_hours=0.5), Trainer()
    advance_studies()
    trainer.train()
    trainer.train()
    entered(Job.objects.earliest("id"), gpu_s=1900)
    trainer.run(study)
    assert study.reason == "Its budget of 0.5 GPU-hours is used up."
    stopped = study.trials.filter(status="stopped").count()
    assert stopped == 4

    refused = extended(cast, study, gpu_hours=0.001)
    assert (refused.status_code, refused.json()["code"]) == (409, "study_exhausted")
    assert "has used 0.52" in refused.json()["detail"]
    assert study.trials.filter(status="stopped").count() == stopped  # refused as a whole
    assert extended(cast, study, trials=5).status_code == 409  # they are not what is used up

    assert extended(cast, study, gpu_hours=5).status_code == 200
    trainer.run(study)
    assert (study.reason, study.max_gpu_hours) == ("All 9 trials are done.", 5.5)
    assert not study.trials.filter(code="job_cancelled").exists()


def test_a_running_and_a_paused_study_take_more_and_stay_as_they_are(cast: Cast) -> None:
    study = study_of(cast, max_epochs=100)
    assert extended(cast, study, trials=1, epochs=50).json()["state"] == "running"
    pause_study(study, actor=cast.bob)
    shown = extended(cast, study, trials=1).json()
    assert (shown["state"], shown["max_trials"], shown["max_epochs"]) == ("paused", 11, 150)
    facts = Event.objects.filter(kind="study.extended").order_by("id").values_list("facts__trials", "facts__epochs")
    assert list(facts) == [(1, 50), (1, None)]


def test_a_job_that_is_still_being_cancelled_is_waited_for_and_then_goes_on(cast: Cast) -> None:
    study, trainer = study_of(cast, max_gpu_hours=0.5, epochs=3), Trainer()
    advance_studies()
    trainer.train()
    entered(Job.objects.earliest("id"), gpu_s=1900)
    advance_studies()
    study.refresh_from_db()
    assert study.state == "completed"
    assert set(Job.objects.values_list("state", "intent")) == {("running", "cancel")}
    assert extended(cast, study, gpu_hours=9).status_code == 200
    advance_studies()
    assert set(Job.objects.values_list("state", "intent")) == {("running", "cancel")}
    trainer.run(study)
    assert study.reason == "All 9 trials are done."
    assert not study.trials.filter(status="stopped").exclude(code="study_ended").exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "trials"), ({"epochs": 5}, "epochs"), ({"gpu_hours": 1}, "gpu_hours"), ({"trials": 1000}, "trials"),
     ({"trials": 0}, "trials"), ({"trails": 5}, "trails"), ({"gpu_hours": "nan"}, "gpu_hours")],
)  # fmt: skip
def test_what_cannot_be_added_is_refused_with_the_field(cast: Cast, body: dict[str, Any], field: str) -> None:
    answer = extended(cast, study_of(cast), **body)
    assert (answer.status_code, [one["field"] for one in answer.json()["errors"]]) == (422, [field]), answer.content


def test_a_grid_that_is_exhausted_takes_no_trials(cast: Cast) -> None:
    space = {"width": {"int": [4, 64], "points": 3}, "optimizer": {"choice": ["sgd", "adam"]}}
    study = study_of(cast, epochs=1, algorithm="grid", space=space, max_trials=8)
    Trainer().run(study)
    answer = extended(cast, study, trials=4)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"].startswith("The grid has 6 points")


def test_a_study_that_was_stopped_failed_or_lost_its_model_stays_ended(cast: Cast) -> None:
    study = study_of(cast)
    stop_study(study, actor=cast.bob)
    answer = extended(cast, study, trials=4)
    assert (answer.status_code, answer.json()["code"]) == (409, "study_ended")
    assert "bob stopped it." in answer.json()["detail"]
    lost = study_of(cast)
    Study.objects.filter(pk=lost.pk).update(model_version=None)
    assert extended(cast, lost, trials=4).status_code == 409


def test_who_may_not_steer_a_study_may_not_extend_it(cast: Cast) -> None:
    study = study_of(cast)
    assert extended(cast, study, cast.charlie, trials=4).status_code == 404
    assert extended(cast, study, cast.victor, trials=4).status_code == 403
    assert extended(cast, study, cast.alice, trials=4).status_code == 200


def test_an_addition_while_the_study_ends_is_not_lost(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    study, trainer = study_of(cast, algorithm="random", epochs=1, max_trials=2), Trainer()
    found = endings.exhausted
    added: list[Study] = []

    def slowly(study: Study, trials: Any) -> Any:
        """The study is found to be over; meanwhile a person adds to it."""
        ending = found(study, trials)
        if ending is not None and not added:
            added.append(extend_study(Study.objects.get(pk=study.pk), Addition(trials=3), actor=cast.bob))
        return ending

    monkeypatch.setattr(endings, "exhausted", slowly)
    trainer.run(study)
    assert added
    assert (study.reason, study.trials.count()) == ("All 5 trials are done.", 5)


@pytest.mark.django_db(transaction=True)
def test_two_people_who_add_at_once_both_count(cast: Cast) -> None:
    study = study_of(cast, algorithm="random", epochs=1, max_trials=2)
    Trainer().run(study)

    def add(user: Any) -> int:
        try:
            return int(extended(cast, study, user, trials=3).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(add, [cast.alice, cast.bob])) == [200, 200]
    Trainer().run(study)
    assert (study.max_trials, Trial.objects.filter(study=study).count()) == (8, 8)
