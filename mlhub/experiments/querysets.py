# SPDX-License-Identifier: Apache-2.0
"""Reads of studies and trials."""

from __future__ import annotations

from collections.abc import Collection
from typing import Self
from uuid import UUID

from django.db.models import Q

from mlhub.experiments.states import ENDED_STUDIES, StudyState
from mlhub.tenants.querysets import ProjectOwnedQuerySet, TenantOwnedQuerySet


class StudyQuerySet(ProjectOwnedQuerySet):
    def with_what_is_shown(self) -> Self:
        """With everything that a study's JSON names, in a fixed number of queries."""
        found = self.select_related(
            "project__organisation", "created_by", "dataset_version__dataset", "model_version__model"
        )
        return found.prefetch_related("trials")

    def to_advance(self) -> Self:
        """Those that run, and others with a trial whose job may still have to be paused or cancelled."""
        return self.filter(Q(state=StudyState.RUNNING) | Q(trials__is_settled=False)).distinct().order_by("id")

    def live(self) -> Self:
        """Those that run or are paused."""
        return self.exclude(state__in=ENDED_STUDIES)


class TrialQuerySet(TenantOwnedQuerySet):
    organisation_path = "study__project__organisation"

    def studies_of(self, jobs: Collection[UUID]) -> dict[UUID, tuple[str, str]]:
        """By job that is a trial: id and name of its study."""
        rows = self.filter(job_id__in=jobs).values_list("job_id", "study_id", "study__name")
        return {job_id: (str(study_id), name) for job_id, study_id, name in rows}
