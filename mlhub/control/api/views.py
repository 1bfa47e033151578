# SPDX-License-Identifier: Apache-2.0
"""The cluster, and quotas and their use."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control import maintenance, quota_tree, reads
from mlhub.control.api import serializers as s
from mlhub.core.api.views import read_body
from mlhub.tenants.actions import set_quota
from mlhub.tenants.authentication import caller
from mlhub.tenants.models import Organisation, Project, Quota, Team
from mlhub.tenants.permissions import require_administrator, role_of
from mlhub.tenants.roles import Role

if TYPE_CHECKING:
    from rest_framework.request import Request


class ClusterView(APIView):
    @extend_schema(responses=s.ClusterSerializer)
    def get(self, request: Request) -> Response:
        """Racks, nodes, slots, and who is on them; jobs of other organisations have no names."""
        return Response(s.ClusterSerializer(reads.cluster_as_seen_by(caller(request))).data)


class NodeClosingView(APIView):
    """Closes a node to MLHub's jobs, or opens it: for platform administrators. Counts from the next round on."""

    verb = ""

    @extend_schema(request=s.ClosingSerializer, responses=s.ClusterSerializer)
    def post(self, request: Request, name: str) -> Response:
        """cordon: nothing new starts there. drain: jobs that will not be done by the deadline move, the rest follow
        then. uncordon: it is open again. Answers with the cluster."""
        require_administrator(request, self)
        body = read_body(s.ClosingSerializer, request)
        actor, now, reason = caller(request), timezone.now(), body.get("reason", "")
        if self.verb == "uncordon":
            maintenance.uncordon(name, actor=actor)
        elif self.verb == "cordon":
            maintenance.cordon(name, actor=actor, reason=reason, now=now)
        else:
            by = now + timedelta(seconds=body.get("deadline_s", 600))
            maintenance.drain(name, actor=actor, by=by, reason=reason, now=now)
        return Response(s.ClusterSerializer(reads.cluster_as_seen_by(actor)).data)


class QuotaView(APIView):
    @extend_schema(responses=s.QuotaSerializer)
    def get(self, request: Request, id: str) -> Response:
        """The organisation's limits, and what it uses of them."""
        return Response(_quota(_organisation(request, id)))

    @extend_schema(request=s.QuotaChangeSerializer, responses=s.QuotaSerializer)
    def patch(self, request: Request, id: str) -> Response:
        """Platform administrators only; counts from the next scheduling round on."""
        organisation = _organisation(request, id)
        require_administrator(request, self)
        body = read_body(s.QuotaChangeSerializer, request)
        set_quota(organisation, actor=caller(request), **body)
        return Response(_quota(organisation))


class QuotaTreeView(APIView):
    @extend_schema(responses=s.QuotaTreeSerializer)
    def get(self, request: Request, id: str) -> Response:
        """The organisation, its teams and its projects: what each is guaranteed, uses, borrows and lends now."""
        organisation = _organisation(request, id)
        role = role_of(caller(request), organisation)
        may_edit = role is not None and role.covers(Role.ADMIN)
        found = {"may_edit": may_edit, "owners": quota_tree.quota_tree(organisation)}
        return Response(s.QuotaTreeSerializer(found).data)


class PartQuotaView(APIView):
    """A team's or a project's part of its organisation's quota."""

    model: type[Team] | type[Project]

    @extend_schema(request=s.QuotaRulesChangeSerializer, responses=s.QuotaOwnerSerializer)
    def patch(self, request: Request, id: str) -> Response:
        """For admins of the organisation, within its guarantee; counts from the next scheduling round on.

        Nothing is ended: what is used above a guarantee counts as borrowed from then on, as the answer shows.
        """
        owner: Team | Project = self.model._default_manager.get_visible(request.user, id)
        set_quota(owner, actor=caller(request), **read_body(s.QuotaRulesChangeSerializer, request))
        rows = quota_tree.quota_tree(owner.organisation)
        return Response(s.QuotaOwnerSerializer(next(row for row in rows if row["id"] == owner.id)).data)


class TeamQuotaView(PartQuotaView):
    model = Team


class ProjectQuotaView(PartQuotaView):
    model = Project


def _organisation(request: Request, id: str) -> Organisation:
    found: Organisation = Organisation.objects.get_visible(request.user, id)
    return found


def _quota(organisation: Organisation) -> dict[str, Any]:
    quota, _ = Quota.objects.get_or_create(organisation=organisation)
    quota.used = reads.used_by(organisation)  # type: ignore[attr-defined]
    return s.QuotaSerializer(quota).data
