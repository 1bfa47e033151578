# SPDX-License-Identifier: Apache-2.0
"""Names where addresses take ids: `/datasets/name:iris` in place of `/datasets/{id}`, marked, so that no name is taken
for an id or for a word of a route.

Routes write `<named:id>`; AddressedView puts the id there before a view sees it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.urls import register_converter
from django.urls.converters import UUIDConverter

from mlhub.core.errors import InvalidInputError
from mlhub.core.structured_logs.request_logs import bind_ids

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import Model
    from django.http import HttpRequest

MARK = "name:"
NAME_OR_ID = f"{UUIDConverter.regex}|{MARK}[^/]+"
PATTERN = f"^({NAME_OR_ID})$"
COLLECTION = re.compile(r"([\w-]+)/<named:id>")


@dataclass(frozen=True)
class AddressName:
    """A name in an address, without its mark; str() has it."""

    name: str

    def __str__(self) -> str:
        return f"{MARK}{self.name}"


class NameOrIdConverter:
    """Django's path converter: a UUID, or an AddressName."""

    regex = NAME_OR_ID

    def to_python(self, value: str) -> UUID | AddressName:
        return AddressName(value.removeprefix(MARK)) if value.startswith(MARK) else UUID(value)

    def to_url(self, value: Any) -> str:
        return str(value)


register_converter(NameOrIdConverter, "named")


@dataclass(frozen=True)
class NamedCollection:
    """Rows that addresses name. within: by query parameter that says where a name is meant, the path to its row."""

    model: type[Model]
    within: Mapping[str, str] = field(default_factory=dict)


IN_ORGANISATION = {"organisation": "organisation"}
IN_PROJECT = {"project": "project", "organisation": "project__organisation"}
COLLECTIONS: dict[str, NamedCollection] = {}  # by the word before the name in an address; each app adds its own


def collection_of(route: str) -> NamedCollection | None:
    """What a route such as api/v1/jobs/<named:id>/why names; None for one without a name."""
    found = COLLECTION.search(route)
    return None if found is None else COLLECTIONS[found[1]]


def id_in_request(
    given: UUID | AddressName,
    request: HttpRequest,
    *,
    query: Mapping[str, str],
    user: AbstractBaseUser | AnonymousUser,
    takes_ids_alone: bool = False,
) -> UUID:
    """The id of what the address names: the given one, without a query to the database, or that of the name.

    takes_ids_alone: what the request does cannot be undone. Raises NotFoundError and ConflictError (`ambiguous_name`)
    as TenantOwnedQuerySet.id_of_name() does, InvalidInputError for a name where an id is needed.
    """
    if isinstance(given, UUID):
        return given
    route = request.resolver_match.route if request.resolver_match else ""
    collection = collection_of(route)
    if collection is None:
        raise LookupError(f"{route!r} names nothing")
    within = {path: (name, query[name]) for name, path in collection.within.items() if query.get(name)}
    rows: Any = collection.model._default_manager
    pk: UUID = rows.id_of_name(user, given.name, within=within)
    if takes_ids_alone:
        noun = collection.model._meta.verbose_name
        raise InvalidInputError(
            f"What cannot be undone takes the {noun}'s id: a name may mean another one by then.",
            field="id",
            remedy=f"Give the id: {pk}.",
        )
    bind_ids(route, {"id": pk})
    return pk
