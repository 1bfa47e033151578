# SPDX-License-Identifier: Apache-2.0
"""A study from its creation to its end: trials become jobs, the best are trained for longer, budgets end it."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import uuid4

import pytest

from mlhub.events.models import Event
from mlhub.experiments import advance as advance_module
from mlhub.experiments import trial_jobs
from mlhub.experiments.actions import pause_study, resume_study, stop_study
from mlhub.experiments.advance import advance_study
from mlhub.experiments.models import Study, Trial
from mlhub.experiments.tasks import advance_studies, in_turn
from mlhub.jobs.actions import resume_job
from mlhub.jobs.models import Job
from mlhub.jobs.retention.deletion import delete_job
from mlhub.tenants.models import Membership
from tests.cast import Cast, make_cast
from tests.experiments.training import Trainer, entered, steps_of, study_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def statuses(study: Study) -> Counter[str]:
    return Counter(Trial.objects.filter(study=study).values_list("status", flat=True))


def test_asha_trains_the_best_for_longer_and_ends_with_the_best_one_trained_to_the_end(cast: Cast) -> None:
    study, trainer = study_of(cast), Trainer()
    assert study.rungs == [1, 3, 9]
    trainer.run(study)
    assert (study.state, study.reason) == ("completed", "All 9 trials are done.")
    assert trainer.most_live <= study.max_parallel
    trials = list(Trial.objects.filter(study=study).order_by("number"))
    completed = [trial for trial in trials if trial.status == "completed"]
    assert len(completed) < 4
    best = max(completed, key=lambda trial: trial.results[-1]["value"])
    assert best.parameters["width"] == max(trial.parameters["width"] for trial in trials)
    assert [result["epochs"] for result in best.results] == [1, 3, 9]
    job = Job.objects.get(pk=best.job_id)
    assert (job.state, job.epochs, job.priority) == ("succeeded", 9, -50)
    assert job.hyperparameters == best.parameters
    others = Job.objects.exclude(pk__in=[trial.job_id for trial in completed])
    assert set(others.values_list("state", flat=True)) == {"cancelled"}
    assert max(others.values_list("epoch", flat=True)) < 9


@pytest.mark.parametrize("algorithm", ["random", "grid", "tpe"])
def test_other_algorithms_train_every_trial_to_the_end(cast: Cast, algorithm: str) -> None:
    space = {"width": {"int": [4, 64], "points": 3}, "optimizer": {"choice": ["sgd", "adam"]}}
    study = study_of(cast, epochs=2, algorithm=algorithm, space=space, max_trials=8)
    Trainer(per_pass=2).run(study)
    n = 6 if algorithm == "grid" else 8
    assert study.reason == (
        f"All {n} points of the grid are done." if algorithm == "grid" else f"All {n} trials are done."
    )
    assert statuses(study) == {"completed": n}
    points = {repr(parameters) for _, parameters, _, _ in steps_of(study)}
    assert len(points) == n if algorithm != "tpe" else len(points) > 4


def test_a_metric_may_be_minimised(cast: Cast) -> None:
    study = study_of(cast, direction="minimize", epochs=3)
    Trainer().run(study)
    best = min(Trial.objects.filter(study=study, status="completed"), key=lambda trial: trial.results[-1]["value"])
    assert best.parameters["width"] == min(t.parameters["width"] for t in Trial.objects.filter(study=study))


def test_a_failed_trial_counts_and_does_not_stop_the_study(cast: Cast) -> None:
    study = study_of(cast, epochs=3)
    Trainer(failing={0, 5}).run(study)
    assert study.state == "completed"
    failed = Trial.objects.filter(study=study, status="failed").order_by("number")
    assert [(trial.number, trial.message) for trial in failed] == [(n, "It ran out of memory.") for n in (0, 5)]
    assert Trial.objects.filter(study=study).count() == 9


def test_a_metric_that_no_trial_reports_ends_the_study_with_what_is_reported_instead(cast: Cast) -> None:
    study = study_of(cast, metric="eval/acuracy", epochs=4, max_trials=9)
    Trainer().run(study)
    assert (study.state, study.reason) == (
        "failed", "No trial reports the metric eval/acuracy. Reported instead: eval/accuracy.",
    )  # fmt: skip
    assert Job.objects.exclude(state__in=["succeeded", "cancelled"]).count() == 0


def test_trials_that_all_fail_end_the_study_after_ten(cast: Cast) -> None:
    study = study_of(cast, max_trials=500, max_parallel=1)
    Trainer(failing=set(range(500))).run(study)
    assert (study.state, study.reason) == ("failed", "The first 10 trials failed. The last: It ran out of memory.")


def test_a_budget_of_epochs_is_kept(cast: Cast) -> None:
    study = study_of(cast, max_epochs=14)
    Trainer().run(study)
    assert (study.state, study.reason) == ("completed", "Its budget of 14 epochs is used up.")
    planned = sum(max(t.epochs, study.rungs[t.rung]) for t in Trial.objects.filter(study=study))
    # a job that reached its rung makes the epoch that it is in before it is paused
    assert planned <= 14 + Trial.objects.filter(study=study).count()


def test_a_budget_of_gpu_hours_ends_the_study_and_cancels_what_runs(cast: Cast) -> None:
    study, trainer = study_of(cast, max_gpu_hours=0.5), Trainer()
    advance_studies()
    trainer.train()
    trainer.train()
    job = Job.objects.earliest("id")
    entered(job, gpu_s=1801)
    trainer.run(study)
    assert (study.state, study.reason) == ("completed", "Its budget of 0.5 GPU-hours is used up.")
    assert not Job.objects.exclude(state="cancelled").exists()


def test_pausing_pauses_its_jobs_and_resuming_goes_on_with_the_same_trials(cast: Cast) -> None:
    study, trainer = study_of(cast, epochs=3), Trainer()
    advance_studies()
    trainer.train()
    pause_study(study, actor=cast.bob)
    for _ in range(3):
        advance_studies()
        trainer.train()
    assert set(Job.objects.values_list("state", flat=True)) == {"paused"}
    assert Trial.objects.count() == 4
    resume_study(study, actor=cast.alice)
    trainer.run(study)
    assert (study.state, Trial.objects.count()) == ("completed", 9)


def test_stopping_cancels_its_jobs_and_says_who_did(cast: Cast) -> None:
    study, trainer = study_of(cast, epochs=3), Trainer()
    advance_studies()
    trainer.train()
    stop_study(study, actor=cast.alice)
    stop_study(study, actor=cast.alice)
    trainer.run(study)
    assert (study.state, study.reason) == ("stopped", "alice stopped it.")
    assert set(Job.objects.values_list("state", flat=True)) == {"cancelled"}
    assert statuses(study) == {"stopped": 4}
    assert Event.objects.filter(kind="study.stopped", actor=cast.alice).count() == 1


def test_jobs_that_a_person_cancels_or_deletes_are_trials_that_stopped(cast: Cast) -> None:
    study, trainer = study_of(cast, epochs=3), Trainer()
    advance_studies()
    first, second = Job.objects.order_by("id")[:2]
    for job in (first, second):
        Job.objects.filter(pk=job.pk).update(state="cancelled", intent="cancel")
        job.refresh_from_db()
    delete_job(second, actor=cast.bob)
    trainer.run(study)
    stopped = Trial.objects.filter(number__in=(0, 1)).order_by("number")
    assert [(t.status, t.message) for t in stopped] == [
        ("stopped", "Its job was cancelled."), ("stopped", "Its job was deleted."),
    ]  # fmt: skip
    assert study.state == "completed"


def test_a_limit_that_is_reached_is_shown_and_the_study_goes_on_later(cast: Cast, settings: Any) -> None:
    settings.MAX_WAITING_JOBS_PER_USER = 2
    study = study_of(cast, epochs=3)
    advance_studies()
    study.refresh_from_db()
    assert "2 may wait" in study.problem
    assert (Job.objects.count(), Trial.objects.count()) == (2, 3)
    settings.MAX_WAITING_JOBS_PER_USER = 100
    Trainer().run(study)
    assert (study.state, study.problem) == ("completed", "")


def test_a_budget_ends_a_study_also_while_a_limit_keeps_it_from_submitting(cast: Cast, settings: Any) -> None:
    settings.MAX_WAITING_JOBS_PER_USER = 2
    study, trainer = study_of(cast, max_gpu_hours=0.5), Trainer()
    advance_studies()
    trainer.train()
    settings.MAX_WAITING_JOBS_PER_USER = 0
    entered(Job.objects.earliest("id"), gpu_s=1801)
    advance_studies()
    study.refresh_from_db()
    assert (study.state, study.reason) == ("completed", "Its budget of 0.5 GPU-hours is used up.")
    assert set(Job.objects.values_list("intent", flat=True)) == {"cancel"}


def test_jobs_of_an_ended_study_are_cancelled_also_when_its_maker_has_left_the_organisation(cast: Cast) -> None:
    study, trainer = study_of(cast, max_gpu_hours=0.5), Trainer()
    advance_studies()
    trainer.train()
    Membership.objects.filter(user=cast.bob).delete()
    entered(Job.objects.earliest("id"), gpu_s=1801)
    trainer.run(study)
    assert set(Job.objects.values_list("state", flat=True)) == {"cancelled"}
    assert not Event.objects.filter(kind="job.cancel_asked").exclude(actor=None).exists()


def test_a_study_whose_dataset_is_deleted_before_its_first_job_ends_with_the_reason(cast: Cast, settings: Any) -> None:
    settings.MAX_WAITING_JOBS_PER_USER = 0
    study = study_of(cast)
    advance_studies()
    Study.objects.update(dataset_version=None)
    advance_studies()
    study.refresh_from_db()
    assert (study.state, study.reason) == ("failed", "Its dataset or its model was deleted.")
    assert statuses(study) == {"stopped": 1}


def test_a_fault_with_one_trial_is_shown_and_keeps_no_other_trial(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    study, trainer, follow = study_of(cast, epochs=3), Trainer(per_pass=9), advance_module.follow

    def faulty(trial: Trial) -> None:
        if trial.number == 0:
            raise RuntimeError("a fault")
        follow(trial)

    with monkeypatch.context() as patched:
        patched.setattr(advance_module, "follow", faulty)
        for _ in range(4):
            advance_studies()
            trainer.train()
    study.refresh_from_db()
    assert "A fault of the platform" in study.problem
    assert Trial.objects.filter(study=study).exclude(results=[]).count() >= 3
    trainer.run(study)
    assert (study.state, study.problem) == ("completed", "")


def test_a_pause_during_the_computation_of_a_step_is_kept(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    study, affordable_step = study_of(cast), advance_module.affordable_step

    def slow(*args: Any) -> Any:
        pause_study(study, actor=cast.bob)
        return affordable_step(*args)

    monkeypatch.setattr(advance_module, "affordable_step", slow)
    advance_studies()
    assert (study.state, Trial.objects.count()) == ("paused", 0)


def test_the_job_of_a_resting_trial_that_a_person_resumes_is_paused_again(cast: Cast) -> None:
    study, trainer = study_of(cast), Trainer()
    advance_studies()
    trainer.train()
    pause_study(study, actor=cast.bob)
    for _ in range(3):
        advance_studies()
        trainer.train()
    assert not Trial.objects.filter(is_settled=False).exists()
    resume_job(Job.objects.earliest("id"), actor=cast.bob)
    advance_studies()
    assert set(Job.objects.values_list("intent", "state")) == {("pause", "paused")}


def test_studies_of_organisations_are_advanced_in_turn() -> None:
    ids = [uuid4() for _ in range(4)]
    assert in_turn(zip("aaba", ids, strict=True)) == [ids[0], ids[2], ids[1], ids[3]]


class Killed(BaseException):
    """The process ends here: nothing after it runs, and the open transaction is lost."""


def test_a_study_that_is_killed_at_any_point_makes_the_same_decisions(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every advance is killed at each of its writes in turn, before and after it, and then made again."""
    size = {"epochs": 3, "max_trials": 4, "max_parallel": 2}
    expected = study_of(cast, **size)
    Trainer().run(expected)
    wanted = steps_of(expected)
    Job.objects.all().delete()
    study, trainer, n_kills = study_of(cast, **size), Trainer(), 0
    for _ in range(200):
        n_kills += _advance_with_kills(study, monkeypatch)
        study.refresh_from_db()
        if study.finished_at is not None and not Trial.objects.filter(study=study, is_settled=False).exists():
            break
        trainer.train()
    assert study.state == "completed"
    assert steps_of(study) == wanted
    assert Job.objects.count() == Trial.objects.filter(study=study).count() == 4
    assert n_kills > 50


def _advance_with_kills(study: Study, monkeypatch: pytest.MonkeyPatch) -> int:
    """Kills the advance at its first write, the next one at its second, until one gets through; returns how many."""
    for n in range(1000):
        left = [n]

        def fatal(function: Any, left: list[int] = left) -> Any:
            def called(*args: Any, **kwargs: Any) -> Any:
                for is_after in (False, True):
                    if left[0] == 0:
                        raise Killed
                    left[0] -= 1
                    if not is_after:
                        found = function(*args, **kwargs)
                return found

            return called

        with monkeypatch.context() as patched:
            for module, name in (
                (trial_jobs, "submit_job"), (trial_jobs, "pause_job"), (trial_jobs, "resume_job"),
                (trial_jobs, "cancel_job"), (advance_module, "follow"), (advance_module, "affordable_step"),
                (advance_module, "_follow"), (advance_module, "_take_step"), (advance_module, "end_if_over"),
            ):  # fmt: skip
                patched.setattr(module, name, fatal(getattr(module, name)))
            try:
                advance_study(study.pk)
            except Killed:
                continue
        return n
    raise AssertionError("no advance got through")
