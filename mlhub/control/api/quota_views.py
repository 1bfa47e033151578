# SPDX-License-Identifier: Apache-2.0
"""Quotas and their use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from mlhub.control.api import quota_serializers as s
from mlhub.control.monitoring import reads
from mlhub.control.quotas import quota_history, quota_tree
from mlhub.control.quotas.boosts import extras_now
from mlhub.control.quotas.budgets import as_rows, budgets_now
from mlhub.control.quotas.overcommitment import overcommitments
from mlhub.control.quotas.type_guarantees import require_limited_types_there, within_cluster
from mlhub.core.api.views import AddressedView, read_body
from mlhub.tenants.access_control.assignments import administered_by
from mlhub.tenants.access_control.permissions import require_administrator
from mlhub.tenants.actions import set_quota
from mlhub.tenants.actions.limits.quotas import require_quota_right
from mlhub.tenants.models import Organisation, Project, Quota, Team, User
from mlhub.tenants.quota_terms.boosts import BoostAmounts
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class QuotaView(AddressedView):
    @extend_schema(responses=s.QuotaSerializer)
    def get(self, request: Request, id: str) -> Response:
        """The organisation's limits, and what it uses of them."""
        return Response(_quota(_organisation(request, id), caller(request)))

    @extend_schema(request=s.QuotaRulesChangeSerializer, responses=s.QuotaSerializer)
    def patch(self, request: Request, id: str) -> Response:
        """Platform administrators only; counts from the next scheduling round on.

        A guarantee that is more, with those of other organisations, than the cluster has is accepted, since nodes come
        and go; `overcommitted` of the answer says by how much. One of a single type is refused.
        """
        organisation = _organisation(request, id)
        require_quota_right(organisation, caller(request))  # says what others do instead
        require_administrator(request, self)
        body = read_body(s.QuotaRulesChangeSerializer, request)
        require_limited_types_there(organisation, body)
        with within_cluster(organisation, body.get("guarantee_by_type")):
            set_quota(organisation, actor=caller(request), **body)
        return Response(_quota(organisation, caller(request)))


class QuotaTreeView(AddressedView):
    @extend_schema(responses=s.QuotaTreeSerializer)
    def get(self, request: Request, id: str) -> Response:
        """The organisation, its teams and its projects: what each is guaranteed, uses, borrows and lends now.

        For an outsider of it the teams and projects in which a role is held, and none of what is above them.
        """
        user = caller(request)
        organisation = _outside_of(user, id)
        is_outsider = organisation is not None
        organisation = organisation or _organisation(request, id)
        owners = _with_overcommitments(quota_tree.quota_tree(organisation), organisation, user)
        if is_outsider:
            owners = _parts_seen_by(user, owners)
        administered = administered_by(user, organisation)
        found = {
            "may_edit": organisation.pk in administered,
            "editable": _below(administered, owners),
            "owners": owners,
        }
        return Response(s.QuotaTreeSerializer(found).data)


def _outside_of(user: User, id: str) -> Organisation | None:
    """The organisation of that id if the person is an outsider of it."""
    found = Organisation.objects.filter(memberships__user=user, memberships__role=Role.OUTSIDER)
    if user.acting_token is not None:
        found = found.filter(pk=user.acting_token.organisation_id)
    return None if user.is_staff else found.filter(pk=id).first()


def _parts_seen_by(user: User, owners: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ids = [owner["id"] for owner in owners]
    visible = (model._default_manager.visible_to(user) for model in (Team, Project))
    seen = {pk for rows in visible for pk in rows.filter(pk__in=ids).values_list("pk", flat=True)}
    parts = (owner for owner in owners if owner["id"] in seen)
    return [{**owner, "above": owner["above"] if owner["above"] in seen else None} for owner in parts]


def _below(administered: set[UUID], owners: list[dict[str, Any]]) -> list[UUID]:
    """Ids of the owners whose quota admins of these divide. owners: parents before children."""
    reached, found = set(administered), []
    for owner in owners:
        if owner["above"] in reached:
            reached.add(owner["id"])
            found.append(owner["id"])
    return found


class PartQuotaView(AddressedView):
    """A team's or a project's part of its organisation's quota."""

    model: type[Team] | type[Project]

    @extend_schema(request=s.QuotaRulesChangeSerializer, responses=s.QuotaOwnerSerializer)
    def patch(self, request: Request, id: str) -> Response:
        """For admins of the team or organisation above it, within its guarantee; counts from the next round on.

        Nothing is ended: what is used above a guarantee counts as borrowed from then on, as the answer shows.
        """
        owner: Team | Project = self.model._default_manager.get_visible(request.user, id)
        require_quota_right(owner, caller(request))
        body = read_body(s.QuotaRulesChangeSerializer, request)
        require_limited_types_there(owner, body)
        set_quota(owner, actor=caller(request), **body)
        return Response(_row_of(owner, caller(request)))


class TeamQuotaView(PartQuotaView):
    model = Team


class ProjectQuotaView(PartQuotaView):
    model = Project


class QuotaVersionsView(AddressedView):
    """The history of a quota."""

    model: type[Organisation] | type[Team] | type[Project] = Organisation

    @extend_schema(responses=s.QuotaVersionSerializer(many=True))
    def get(self, request: Request, id: str) -> Response:
        """Who changed the quota, when, and what; the newest 100 changes, newest first."""
        owner = self.model._default_manager.get_visible(request.user, id)
        return Response(s.QuotaVersionSerializer(quota_history.versions_of(owner), many=True).data)


class QuotaRestoreView(AddressedView):
    """The return to an older version of a quota."""

    model: type[Organisation] | type[Team] | type[Project] = Organisation

    @extend_schema(request=s.QuotaRestoreSerializer, responses=s.QuotaOwnerSerializer)
    def post(self, request: Request, id: str) -> Response:
        """Gives the quota the rules that it had at an older version, as a new version, by who may change it."""
        owner = self.model._default_manager.get_visible(request.user, id)
        body = read_body(s.QuotaRestoreSerializer, request)
        quota_history.restore_version(owner, body["version"], seen=body.get("seen"), actor=caller(request))
        return Response(_row_of(owner, caller(request)))


def _row_of(owner: Organisation | Team | Project, user: User) -> dict[str, Any]:
    organisation = owner if isinstance(owner, Organisation) else owner.organisation
    rows = _with_overcommitments(quota_tree.quota_tree(organisation), organisation, user)
    return s.QuotaOwnerSerializer(next(row for row in rows if row["id"] == owner.pk)).data


def _with_overcommitments(rows: list[dict[str, Any]], organisation: Organisation, user: User) -> list[dict[str, Any]]:
    found = overcommitments().of(organisation, user=user)
    return [{**row, "overcommitted": found if row["id"] == organisation.pk else []} for row in rows]


def _organisation(request: Request, id: str) -> Organisation:
    found: Organisation = Organisation.objects.get_visible(request.user, id)
    return found


def _quota(organisation: Organisation, user: User) -> dict[str, Any]:
    quota, _ = Quota.objects.get_or_create(organisation=organisation)
    now = timezone.now()
    quota.used = reads.used_by(organisation)  # type: ignore[attr-defined]
    extras = extras_now({organisation.pk}, now=now).get(organisation.pk, BoostAmounts())
    quota.boosted_gpus = extras.max_gpus  # type: ignore[attr-defined]
    quota.budgets = as_rows(budgets_now(organisation, quota.budgets, now=now))
    quota.overcommitted = overcommitments().of(organisation, user=user)  # type: ignore[attr-defined]
    return s.QuotaSerializer(quota).data
