# SPDX-License-Identifier: Apache-2.0
"""Reads of studies and trials."""

from __future__ import annotations

from collections.abc import Collection
from typing import Self
from uuid import UUID

from django.db.models import (
    Case,
    Count,
    F,
    FloatField,
    Func,
    IntegerField,
    OuterRef,
    Prefetch,
    Q,
    Subquery,
    Sum,
    When,
    Window,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, JSONObject, RowNumber

from mlhub.experiments.algorithms.search import TrialStatus
from mlhub.experiments.states import ENDED_STUDIES, StudyState
from mlhub.tenants.querysets import ProjectOwnedQuerySet, TenantOwnedQuerySet


class StudyQuerySet(ProjectOwnedQuerySet):
    def with_what_is_shown(self) -> Self:
        """With everything that a study's JSON names, in two queries that do not read all trials.

        trial_sums: {status: how many, epochs, gpu_s}, None without trials. best_trials: one, or none before the first
        result: the best of those that reached the highest rung that any reached.
        """
        trials = self.model._meta.get_field("trials").related_model._default_manager
        counts = {status.value: Count("pk", filter=Q(status=status.value)) for status in TrialStatus}
        sums = JSONObject(**counts, epochs=Sum("epochs"), gpu_s=Sum("gpu_s"))
        of_study = trials.filter(study=OuterRef("pk")).order_by().values("study").annotate(sums=sums).values("sums")
        found = self.select_related(
            "project__organisation", "created_by", "dataset_version__dataset", "model_version__model"
        )
        best = Prefetch("trials", queryset=trials.best(), to_attr="best_trials")
        return found.annotate(trial_sums=Subquery(of_study)).prefetch_related(best)

    def to_advance(self) -> Self:
        """Those that run, and others with a trial whose job may still have to be paused or cancelled."""
        return self.filter(Q(state=StudyState.RUNNING) | Q(trials__is_settled=False)).distinct().order_by("id")

    def live(self) -> Self:
        """Those that run or are paused."""
        return self.exclude(state__in=ENDED_STUDIES)


class TrialQuerySet(TenantOwnedQuerySet):
    organisation_path = "study__project__organisation"

    def best(self) -> Self:
        """Of each study the best trial at the highest rung that any reached."""
        value = Cast(KT("results__-1__value"), FloatField())
        score = Case(When(study__direction="minimize", then=-value), default=value)
        n_results = Func(F("results"), function="jsonb_array_length", output_field=IntegerField())
        order = [n_results.desc(), score.desc(), F("number").asc()]
        place = Window(RowNumber(), partition_by=[F("study_id")], order_by=order)
        return self.exclude(results=[]).annotate(place=place).filter(place=1)

    def studies_of(self, jobs: Collection[UUID]) -> dict[UUID, tuple[str, str]]:
        """By job that is a trial: id and name of its study."""
        rows = self.filter(job_id__in=jobs).values_list("job_id", "study_id", "study__name")
        return {job_id: (str(study_id), name) for job_id, study_id, name in rows}
