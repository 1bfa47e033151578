# SPDX-License-Identifier: Apache-2.0
"""Experiments, which are projects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework.response import Response

from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError
from mlhub.tenants.access_control.permissions import require_scope
from mlhub.tenants.actions import create_project
from mlhub.tenants.models import ApiToken, Membership, Organisation, User
from mlhub.tenants.roles import Role
from mlhub.tracking.access import Caller
from mlhub.tracking.api.bodies import text
from mlhub.tracking.api.pages import page_of, page_token
from mlhub.tracking.api.protocol import ProtocolView, fields_of, query_of
from mlhub.tracking.descriptions import experiment
from mlhub.tracking.filters import read_filter
from mlhub.tracking.search import ALL, DELETED_ONLY, SEARCH_PAGE

if TYPE_CHECKING:
    from rest_framework.request import Request

MAX_NAME = 100


class ExperimentGetByNameView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        name = text(query_of(request), "experiment_name")
        found = self.caller.project_named(name)
        if found is None:
            raise NotFoundError(f"There is no experiment called {name[:200]} that you may see.")
        return Response({"experiment": experiment(found, in_pod=self.caller.attempt is not None)})


class ExperimentGetView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        found = self.caller.project(text(query_of(request), "experiment_id"))
        return Response({"experiment": experiment(found, in_pod=self.caller.attempt is not None)})


class ExperimentCreateView(ProtocolView):
    """A project of the caller's organisation; with several, "organisation/project" says of which."""

    def post(self, request: Request, **_: Any) -> Response:
        name = text(fields_of(request), "name")
        if self.caller.project_named(name) is not None:
            raise ConflictError(f"Experiment '{name}' already exists.", code="name_taken")
        if isinstance(request.auth, ApiToken):
            require_scope(request.auth, "write")
        organisation, own_name = _place_of(self.caller, name)
        if len(own_name) > MAX_NAME:
            raise InvalidInputError(f"The name has more than {MAX_NAME} characters.", field="name")
        project = create_project(organisation, name=own_name, actor=self.caller.user)
        return Response({"experiment_id": str(project.pk)})


class ExperimentSearchView(ProtocolView):
    """Projects by name; filters of experiments are read as name = 'text' and name LIKE 'text%' alone."""

    required_scope = "read"

    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        view = text(fields, "view_type", default="ACTIVE_ONLY")
        rows = self.caller.projects.select_related("organisation", "experiment_tags").order_by("-created_at", "id")
        if view != ALL:
            rows = rows.filter(archived_at__isnull=view != DELETED_ONLY)
        rows = _named(rows, text(fields, "filter", default=""))
        offset, limit = page_of(fields, default=SEARCH_PAGE, most=SEARCH_PAGE)
        found = list(rows[offset : offset + limit + 1])
        answer: dict[str, Any] = {"experiments": [experiment(one) for one in found[:limit]]}
        return Response(answer | page_token(offset + limit, has_more=len(found) > limit))


def _place_of(caller: Caller, name: str) -> tuple[Organisation, str]:
    """The organisation of a new project, and the project's name. Raises InvalidInputError, NotFoundError."""
    roles = [role.value for role in Role if role.covers(Role.MEMBER)]
    seen = Organisation.objects.visible_to(caller.user)
    mine = Membership.objects.filter(user=caller.user, role__in=roles, organisation__in=seen)
    organisations = list(Organisation.objects.filter(pk__in=mine.values("organisation")).order_by("name"))
    first, slash, last = name.partition("/")
    # an administrator of the platform makes projects in any organisation, and is often a member of none
    for organisation in seen.filter(name=first) if caller.user.is_staff else organisations:
        if slash and organisation.name == first:
            return organisation, last
    if len(organisations) == 1:
        return organisations[0], name
    if not organisations:
        raise _no_place_for(caller.user, name)
    raise InvalidInputError(
        f"You belong to several organisations: it is not said of which {name[:200]} is to be.",
        field="name",
        remedy=f"Write {organisations[0].name}/{name[:100]}.",
    )


def _no_place_for(user: User, name: str) -> NotFoundError:
    """What is missing for a new project: a token without a limit, an organisation, or a role in it."""
    missing = f"There is no experiment {name[:200]} that you may see, and you may make none"
    token = user.acting_token
    if token is not None and token.project_id is not None:
        return NotFoundError(
            f"{missing} with this token, which is limited to one project.",
            remedy="Name a project that you see, or use a token without a limit to one project.",
        )
    if user.is_staff:
        return NotFoundError(
            f"{missing} by this name: you are a member of no organisation that it could be of.",
            remedy=f"Write ORGANISATION/{name.rpartition('/')[2][:100]}: administrators of the platform make projects "
            "in every organisation.",
        )
    role = Membership.objects.filter(user=user).select_related("organisation").order_by("organisation__name").first()
    if role is None:
        return NotFoundError(
            f"{missing}: an experiment is a project of an organisation, and you are a member of none.",
            remedy="Have an admin of an organisation invite you; `mlhub invitation ls` shows invitations to you.",
        )
    return NotFoundError(
        f"{missing}: that needs the role member in an organisation, and in {role.organisation.name} yours is "
        f"{role.role}.",
        remedy=f"Name a project that you see, or ask an admin of {role.organisation.name} for the role member.",
    )


def _named(rows: Any, text: str) -> Any:
    """Raises InvalidInputError for any other filter."""
    for one in read_filter(text):
        if one.column.key != "run_name" or one.sign not in ("=", "LIKE", "ILIKE"):
            raise InvalidInputError("Experiments are found by their name alone.", field="filter")
        if one.sign == "=":
            rows = rows.filter(name=one.value)
        else:
            found = [pk for pk, name in rows.values_list("pk", "name") if one.holds(name)]
            rows = rows.filter(pk__in=found)
    return rows
