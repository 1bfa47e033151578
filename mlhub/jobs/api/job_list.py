# SPDX-License-Identifier: Apache-2.0
"""What the list of jobs is filtered, searched and sorted by."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import django_filters
from django.db.models import CharField, DateTimeField, F, FloatField, Q, QuerySet, Value
from django.db.models.functions import Cast, Coalesce

from mlhub.core.errors import InvalidQueryError
from mlhub.core.paging.keyset import SortKey
from mlhub.jobs.models import FurtherDataset, Job, JobKind
from mlhub.jobs.states import JobState
from mlhub.tenants.models import Organisation, Project
from mlhub.tenants.named import NamedFilter
from mlhub.tenants.refs import RefFilter

MAX_IDS = 200
MAX_WORDS = 8
NEVER = datetime(9999, 1, 1, tzinfo=UTC)  # where no finish is known: behind all others
FINISH = Coalesce("finished_at", "predicted_finish_at", Value(NEVER, DateTimeField()))
SORT_KEYS = {
    "created": SortKey(F("submitted_at"), DateTimeField()),
    "name": SortKey(F("name"), CharField()),
    "state": SortKey(F("state"), CharField()),
    "finish": SortKey(FINISH, DateTimeField()),
    "gpu_hours": SortKey(F("gpu_s"), FloatField()),
}
SEARCHED = (
    "name__icontains",
    "created_by__username__icontains",
    "model_version__model__name__icontains",
    "dataset_version__dataset__name__icontains",
    "id_text__startswith",
)


class IdsFilter(django_filters.BaseInFilter, django_filters.UUIDFilter):
    """Ids, separated by commas."""


class JobFilter(django_filters.FilterSet):
    id = IdsFilter(method="by_ids", help_text=f"Only those of these ids, separated by commas; at most {MAX_IDS}.")
    project = NamedFilter(Project, help_text="Only those of this project, by id or name.")
    organisation = NamedFilter(
        Organisation, "project__organisation", help_text="Only those of this organisation, by id or name."
    )
    kind = django_filters.ChoiceFilter(choices=JobKind.choices)
    state = django_filters.MultipleChoiceFilter(choices=[(v.value, v.value) for v in JobState])
    name = django_filters.CharFilter(help_text="Only the one of exactly this name.")
    owner = django_filters.CharFilter(
        "created_by__username", help_text="Only those that the person of this user name submitted."
    )
    dataset_version = django_filters.UUIDFilter(
        method="by_dataset_version", help_text="Only those that read this dataset version, also as a further dataset."
    )
    tag = django_filters.CharFilter(method="by_tags", help_text="Only those with all of these tags, with commas.")
    search = django_filters.CharFilter(
        method="by_text",
        help_text="Only those of which each word is in the name, owner, model or dataset, or begins the id.",
    )
    ref = RefFilter()

    class Meta:
        model = Job
        fields: list[str] = []

    def by_ids(self, jobs: QuerySet[Job], name: str, value: list[Any]) -> QuerySet[Job]:
        if len(value) > MAX_IDS:
            raise InvalidQueryError(
                f"These are {len(value)} ids.", field=name, remedy=f"Name at most {MAX_IDS} at a time."
            )
        return jobs.filter(pk__in=value)

    def by_dataset_version(self, jobs: QuerySet[Job], name: str, value: Any) -> QuerySet[Job]:  # noqa: ARG002
        further = FurtherDataset.objects.filter(dataset_version=value).values("job")
        return jobs.filter(Q(dataset_version=value) | Q(pk__in=further))

    def by_tags(self, jobs: QuerySet[Job], name: str, value: str) -> QuerySet[Job]:  # noqa: ARG002
        return jobs.filter(tags__contains=[tag for part in value.split(",") if (tag := part.strip())])

    def by_text(self, jobs: QuerySet[Job], name: str, value: str) -> QuerySet[Job]:
        words = value.split()
        if len(words) > MAX_WORDS:
            raise InvalidQueryError(
                f"The search has {len(words)} words.", field=name, remedy=f"Give at most {MAX_WORDS}."
            )
        found = jobs.alias(id_text=Cast("id", CharField()))
        for word in words:
            anywhere = Q()
            for place in SEARCHED:
                anywhere |= Q(**{place: word.lower() if place.startswith("id_") else word})
            found = found.filter(anywhere)
        return found
