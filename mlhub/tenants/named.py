# SPDX-License-Identifier: Apache-2.0
"""Names where ids are meant, in queries (`?project=vision`) and in addresses (`/datasets/name:iris`). A name that fits
several rows, or none, is an error that names those that there are."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django_filters

from mlhub.core.api.strict import shown
from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.contrib.auth.models import AnonymousUser
    from django.db.models import Model, QuerySet

    from mlhub.tenants.models import User

MAX_NAMESAKES = 10  # that an error lists
MAX_NAMES = 500  # among which similar ones are looked for
MAX_LENGTH = 100  # of a name


class NamedFilter(django_filters.CharFilter):
    """Only rows of the object with that id, or that name among those that the caller sees."""

    def __init__(self, model: type[Model], field_name: str | None = None, **options: Any) -> None:
        super().__init__(field_name, max_length=MAX_LENGTH, **options)
        self.named_model = model

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Raises NotFoundError, InvalidInputError."""
        if not value:
            return qs
        field = next(name for name, known in self.parent.filters.items() if known is self)
        found = id_of_named(self.named_model, value, user=self.parent.request.user, field=field)
        return qs.filter(**{self.field_name or field: found})


def id_of_named(model: type[Model], given: UUID | str, *, user: User | AnonymousUser, field: str) -> UUID:
    """The id of the row of that name that the user sees; an id is taken as it is.

    field: the parameter that named it. Raises NotFoundError naming similar ones, InvalidInputError naming namesakes.
    """
    if isinstance(given, UUID):
        return given
    try:
        return UUID(given)
    except ValueError:
        pass
    visible = model._default_manager.visible_to(user)  # type: ignore[attr-defined]
    found = list(visible.filter(name=given)[: MAX_NAMESAKES + 1])
    if len(found) == 1:
        return UUID(str(found[0].pk))
    noun = str(model._meta.verbose_name)
    if not found:
        names = list(visible.order_by("name").values_list("name", flat=True).distinct()[:MAX_NAMES])
        near = get_close_matches(given, names, n=5) or names[:5]
        listed = f"There are {', '.join(near)}." if near else f"There is no {noun} that you may see."
        raise NotFoundError(
            f"There is no {noun} called {given} that you may see.", field=field, remedy=f"{listed} Or give an id."
        )
    candidates = ", ".join(f"{row} ({row.pk})" for row in found[:MAX_NAMESAKES])
    raise InvalidInputError(
        f"Several {noun}s that you may see are called {given}.", field=field, remedy=f"Give an id: {candidates}."
    )


def id_in_address(
    rows: QuerySet[Any], name: str, *, user: User | AnonymousUser, within: Mapping[str, tuple[str, str]]
) -> UUID:
    """The id of the row of that name, as an address names it. Nothing is chosen among several.

    rows: those that the user sees. within: by path to the project or organisation that it has to be in, the query
    parameter that says so and its value, an id or a name. Raises NotFoundError alike for a name that is not there and
    one of others, ConflictError `ambiguous_name` with the first MAX_NAMESAKES candidates, and as id_of_named() for what
    is in `within`.
    """
    for path, (parameter, given) in within.items():
        if len(given) > MAX_LENGTH:
            raise InvalidInputError(
                f"A name has at most {MAX_LENGTH} characters.", field=parameter, remedy="Give an id, or the exact name."
            )
        owner = rows.model
        for step in path.split("__"):
            owner = owner._meta.get_field(step).related_model
        rows = rows.filter(**{path: id_of_named(owner, given, user=user, field=parameter)})
    rows = rows.filter(name=name).order_by("-pk")
    found = list(rows.values_list("pk", flat=True)[: MAX_NAMESAKES + 1])
    if len(found) == 1:
        return UUID(str(found[0]))
    noun = str(rows.model._meta.verbose_name)
    if not found:
        raise NotFoundError(f"There is no {noun} called {shown(name)} that you may see.")
    number = f"{len(found)}" if len(found) <= MAX_NAMESAKES else f"More than {MAX_NAMESAKES}"
    raise ConflictError(
        f"{number} {rows.model._meta.verbose_name_plural} that you may see are called {shown(name)}.",
        code="ambiguous_name",
        remedy="Give the id of one of them, or say with `project` or `organisation` where it is.",
        candidates=_candidates(rows[:MAX_NAMESAKES]),
    )


def _candidates(rows: QuerySet[Any]) -> list[dict[str, str | None]]:
    """Ids, with the names of project and organisation; no project: it is built in, or a project or team itself."""
    owners = {"organisation": "organisation__name"}
    if any(field.name == "project" for field in rows.model._meta.get_fields()):
        owners = {"project": "project__name", "organisation": "project__organisation__name"}
    return [
        {"id": str(pk), "project": None, **dict(zip(owners, names, strict=True))}
        for pk, *names in rows.values_list("pk", *owners.values())
    ]
