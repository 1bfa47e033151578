# SPDX-License-Identifier: Apache-2.0
"""Reads of jobs and attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.apps import apps
from django.db import models

from mlhub.jobs.states import ENDED, JobState
from mlhub.storage.models import WorkItem
from mlhub.tenants.named import id_in_address
from mlhub.tenants.querysets import ProjectOwnedQuerySet, TenantOwnedQuerySet
from mlhub.wire.report import ARTIFACT_FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from django.contrib.auth.models import AnonymousUser

    from mlhub.tenants.models import User

# What the rows that a job's JSON names have besides, some of it large: it is read when it is asked for.
NOT_SHOWN = (
    *(
        f"dataset_version__{name}"
        for name in ("options", "files", "source", "schema", "preview", "statistics", "error", "dataset__description")
    ),
    *(f"model_version__{name}" for name in ("contract", "metadata", "metrics", "error", "tags", "labels", "notes")),
    *(f"model_version__model__{name}" for name in ("description", "labels")),
)


class JobQuerySet(ProjectOwnedQuerySet):
    def id_of_name(self, user: User | AnonymousUser, name: str, *, within: Mapping[str, tuple[str, str]]) -> UUID:
        """As of other rows, but with the projects named: thousands of jobs of other tenants may have that name."""
        return id_in_address(self.visible_in_list_to(user), name, user=user, within=within)

    def with_what_is_shown(self) -> Self:
        """With everything that a job's JSON names, in a fixed number of queries.

        validation_problem: why the platform could not make the dry run the last time, while it is tried again.
        reclaimed_after: for how long nothing had been done in a paused notebook that the platform reclaimed; else None.
        """
        waiting = WorkItem.objects.open().filter(subject_id=models.OuterRef("pk")).values("problem")
        return (
            self.select_related(
                "project__organisation", "created_by", "dataset_version__dataset", "model_version__model"
            )
            .defer(*NOT_SHOWN)
            .prefetch_related("attempts__allocations")
            .annotate(validation_problem=models.Subquery(waiting[:1]), reclaimed_after=self._reclaimed_after())
        )

    def _reclaimed_after(self) -> models.Case:
        attempts = apps.get_model("jobs", "Attempt").objects  # whose module imports this one
        newest = attempts.filter(job=models.OuterRef("pk")).order_by("-number")
        idle = newest.values(idle=models.F("notebook__reclaimed_at") - models.F("notebook__active_at"))
        is_paused_notebook = models.Q(kind="notebook", state=JobState.PAUSED)
        return models.Case(models.When(is_paused_notebook, then=models.Subquery(idle[:1])))

    def queued(self) -> Self:
        return self.filter(state=JobState.QUEUED)

    def live(self) -> Self:
        """Not ended: the control loop has something to do with them."""
        return self.exclude(state__in=ENDED)

    def holding_gpus(self) -> Self:
        return self.filter(state__in=[JobState.STARTING, JobState.RUNNING, JobState.STOPPING])


class AttemptQuerySet(TenantOwnedQuerySet):
    organisation_path = "job__project__organisation"

    def live(self) -> Self:
        return self.filter(ended_at=None)


class FurtherDatasetQuerySet(TenantOwnedQuerySet):
    organisation_path = "job__project__organisation"


class ArtifactQuerySet(TenantOwnedQuerySet):
    organisation_path = "attempt__job__project__organisation"

    def of_result(self, job: Any) -> Self:
        """The file that people download from a job that predicted and is done."""
        done = self.filter(attempt__job=job, attempt__outcome="succeeded", name__startswith="predictions.")
        return done.select_related("blob")

    def downloadable(self, job: Any) -> Self:
        """What people download from the job: its predictions, and the files that its script left, by name."""
        kinds = models.Q(name__startswith="predictions.") | models.Q(name__startswith=f"{ARTIFACT_FOLDER}/")
        complete = models.Q(attempt__outcome="succeeded") | models.Q(attempt__job__kind="notebook")
        found = self.filter(kinds, complete, attempt__job=job)
        return found.select_related("blob").order_by("name", "-attempt__number").distinct("name")
