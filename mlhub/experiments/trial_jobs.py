# SPDX-License-Identifier: Apache-2.0
"""A trial's job: submitted once, measured, paused at the rung, resumed by a promotion, cancelled at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.db.models import Sum
from django.utils import timezone

from mlhub.core.errors import InvalidInputError
from mlhub.experiments.admission import with_parameters
from mlhub.experiments.algorithms.search import OVER, TrialStatus, is_trained_on
from mlhub.experiments.endings import NO_METRIC
from mlhub.experiments.measurements import gpu_seconds_of, has_checkpoint, metrics_named, result_at, trained
from mlhub.experiments.models import Study, Trial, Unit
from mlhub.experiments.records import record_of, records_of, rules_of
from mlhub.experiments.states import ENDED_STUDIES, StudyState
from mlhub.jobs.actions import cancel_job, continue_cancelled_job, pause_job, resume_job, submit_job
from mlhub.jobs.models import Job
from mlhub.jobs.states import ENDED, Intent, JobState

if TYPE_CHECKING:
    from mlhub.registry.models import ModelVersion


TRAINED_ON = "trained_on"  # code of a trial that passes its rungs without resting there
CONTINUED = "continued"  # code of a trial whose job was cancelled with its study, and goes on when the trial does
PAST_END = "past_end"  # code of a trial whose script did not end at the study's last step
SETTLED = 1.25  # times its rung: so far has a script trained that saves no checkpoints, or does not end


def follow(trial: Trial) -> None:
    """Called in a transaction that holds the trial's row: what its job did is recorded, what it shall do is asked for.

    Raises the DomainErrors of submitting, pausing, resuming and cancelling that a person or time can remedy.
    """
    study = Study.objects.select_related("project__organisation", "created_by", "steered_by").get(pk=trial.study_id)
    if trial.job_id is None:
        _begin(study, trial)
        return
    job = Job.objects.select_related("project__organisation", "created_by").filter(pk=trial.job_id).first()
    if job is None:
        if trial.status not in OVER:
            _end(trial, TrialStatus.STOPPED, "job_deleted", "Its job was deleted.")
        trial.is_settled = True
    else:
        trial.epochs = max(trial.epochs, trained(job, Unit(study.unit)))
        trial.gpu_s = max(trial.gpu_s, gpu_seconds_of(job.pk, now=timezone.now()))
        _record(study, trial, job)
        _steer(study, trial, job)
        trial.is_settled = _is_settled(study, trial, job)
    trial.save()


def note_resumed_jobs() -> None:
    """Jobs of resting trials that a person resumed are followed again, which pauses them: only the study promotes."""
    resumed = Job.objects.filter(intent=Intent.RUN).exclude(state__in=ENDED)
    resting = Trial.objects.filter(is_settled=True).exclude(status__in=OVER).exclude(study__state__in=ENDED_STUDIES)
    resting.filter(job_id__in=resumed.values("id")).update(is_settled=False)


def _begin(study: Study, trial: Trial) -> None:
    if trial.status in OVER:
        trial.is_settled = True
    elif study.state == StudyState.RUNNING and not study.is_bereft:
        try:
            trial.job_id = _submitted(study, trial).pk
        except InvalidInputError as error:
            _end(trial, TrialStatus.FAILED, "refused", f"{error.message} {error.remedy}".strip())
            trial.is_settled = True
    trial.save()


def _submitted(study: Study, trial: Trial) -> Job:
    """The same trial gives the same job, however often it is submitted. The study has what its jobs need."""
    versions = Study.objects.select_related(
        "dataset_version__dataset__project__organisation", "model_version__model__project__organisation",
        "model_version__code_version",
    ).get(pk=study.pk, model_version__isnull=False)  # fmt: skip
    settings: dict[str, Any] = with_parameters(study.settings, trial.parameters)
    return submit_job(
        study.project,
        dataset_version=versions.dataset_version,
        model_version=cast("ModelVersion", versions.model_version),
        name=f"{study.name} trial {trial.number}",
        idempotency_key=f"trial:{trial.pk}",
        actor=study.created_by,
        **settings,
    )


def _record(study: Study, trial: Trial, job: Job) -> None:
    """The result of the rung that the trial is trained to, once; and how its job ended."""
    if trial.status == TrialStatus.RUNNING and len(trial.results) == trial.rung:
        found = result_at(job, study.metric, rung=study.rungs[trial.rung], unit=Unit(study.unit))
        is_last = trial.rung == len(study.rungs) - 1
        if found is not None and (is_last or can_rest(study, trial, job) is not None):
            trial.results = [*trial.results, {**found, "study_gpu_s": _gpu_s_of_study(trial)}]
            if is_last:
                trial.status = TrialStatus.COMPLETED
            elif can_rest(study, trial, job):
                trial.status = TrialStatus.WAITING
            else:
                _train_on_or_stop(study, trial)
    if trial.status in OVER:
        return
    if job.state == JobState.FAILED:
        _end(trial, TrialStatus.FAILED, "job_failed", (job.failure or {}).get("message") or "Its job failed.")
    elif job.state == JobState.CANCELLED and trial.code != CONTINUED:
        _end(trial, TrialStatus.STOPPED, "job_cancelled", "Its job was cancelled.")
    elif job.state == JobState.SUCCEEDED and trial.status == TrialStatus.RUNNING:
        _end(trial, TrialStatus.FAILED, NO_METRIC, metrics_named(job, study.metric))


def _gpu_s_of_study(trial: Trial) -> float:
    """Of all its trials, the others as of the last advance."""
    others = Trial.objects.filter(study=trial.study_id).exclude(pk=trial.pk)
    return trial.gpu_s + float(others.aggregate(gpu_s=Sum("gpu_s"))["gpu_s"] or 0.0)


def can_rest(study: Study, trial: Trial, job: Job) -> bool | None:
    """Whether the trial can be paused at its rung and go on from there: MLHub's own loop can, and a script that has
    saved a checkpoint. None: not known yet, since a script may save one just after it reports."""
    if study.unit == Unit.EPOCHS or job.state in ENDED or has_checkpoint(job):
        return True
    return False if trial.epochs >= study.rungs[trial.rung] * SETTLED else None


def _train_on_or_stop(study: Study, trial: Trial) -> None:
    """Of a trial that has reached its rung and would begin anew if it were paused: the best are trained on at once, and
    the others are stopped for good."""
    steps = study.rungs[trial.rung]
    others = [record for record in records_of(study.trials.all()) if record.number != trial.number]
    if is_trained_on(rules_of(study), [*others, record_of(trial)], trial=trial.number, rung=trial.rung):
        trial.rung += 1
        trial.code, trial.message = TRAINED_ON, f"It had saved no checkpoint at {steps:,} steps, and is trained on."
    else:
        message = f"It was not among the best 1/{study.eta} at {steps:,} steps, and had saved no checkpoint to rest at."
        _end(trial, TrialStatus.STOPPED, "stopped_early", message)


def _steer(study: Study, trial: Trial, job: Job) -> None:
    """The platform pauses and cancels, whichever roles people have lost; only going on is asked for by a person."""
    if trial.code == CONTINUED:
        _continue(study, trial, job)
        return
    if job.state in ENDED:
        return
    if trial.status == TrialStatus.COMPLETED:  # ends by itself, with its model
        if study.unit == Unit.STEPS and trial.epochs >= study.rungs[-1] * SETTLED and job.intent != Intent.CANCEL:
            trial.code = PAST_END
            trial.message = f"It trained on behind its last step, {study.rungs[-1]:,}, and was cancelled there."
            cancel_job(job, actor=None)
        return
    if study.state in ENDED_STUDIES or trial.status in OVER:
        if job.intent != Intent.CANCEL:
            cancel_job(job, actor=None)
    elif study.state == StudyState.PAUSED or trial.status == TrialStatus.WAITING:
        if job.intent == Intent.RUN:
            pause_job(job, actor=None)
    elif job.intent == Intent.PAUSE:
        resume_job(job, actor=study.steered_by or study.created_by)


def _continue(study: Study, trial: Trial, job: Job) -> None:
    """Of a job that was cancelled with its study: once it has ended it goes on, when the trial does."""
    if job.state == JobState.CANCELLED and trial.status == TrialStatus.RUNNING and study.state == StudyState.RUNNING:
        continue_cancelled_job(job, actor=study.steered_by or study.created_by)
        trial.code = ""


def _is_settled(study: Study, trial: Trial, job: Job) -> bool:
    """Whether the job does what it shall until the study is changed: it has ended, or rests."""
    if job.state in ENDED:
        return trial.status != TrialStatus.RUNNING
    is_resting = study.state == StudyState.PAUSED or trial.status == TrialStatus.WAITING
    return is_resting and trial.status not in OVER and job.state == JobState.PAUSED and study.state not in ENDED_STUDIES


def _end(trial: Trial, status: TrialStatus, code: str, message: str) -> None:
    trial.status, trial.code, trial.message = status, code, message
