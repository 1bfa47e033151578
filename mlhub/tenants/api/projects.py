# SPDX-License-Identifier: Apache-2.0
"""One project or team: looking at it, renaming, archiving, deleting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response

from mlhub.core.api.views import VisibleMixin, read_body
from mlhub.core.as_seen import require_as_seen
from mlhub.tenants import actions
from mlhub.tenants.api import serializers as s
from mlhub.tenants.models import Organisation, Project, Team
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class ProjectView(VisibleMixin, generics.RetrieveAPIView[Project]):
    """One project, with its team."""

    queryset = Project.objects.select_related("organisation", "team")
    serializer_class = s.ProjectSerializer

    @extend_schema(request=s.ProjectChangeSerializer, responses=s.ProjectSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Another name, another team, archived or open again; for admins, and the name for who made it. An archived
        one takes no uploads and jobs."""
        project, body, user = self.get_object(), read_body(s.ProjectChangeSerializer, request), caller(request)
        seen = body.pop("seen", None)
        with transaction.atomic():
            Organisation.objects.select_for_update().get(pk=project.organisation_id)
            project.refresh_from_db(fields=["name", "team", "archived_at"])
            present = {"name": project.name, "team": project.team_id, "is_archived": project.archived_at is not None}
            require_as_seen(f"the project {project.name}", seen=seen, present=present, yours=body)
            if "name" in body:
                actions.rename(project, name=body["name"], actor=user)
            if "team" in body:
                team = Team.objects.get_visible(user, body["team"], field="team") if body["team"] else None
                actions.move(project, team=team, actor=user)
            if "is_archived" in body:
                actions.set_archived(project, is_archived=body["is_archived"], actor=user)
        return Response(s.ProjectSerializer(project, context={"request": request}).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """For admins and who made it; 409 with the numbers of what it holds, unless it is empty."""
        actions.delete(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TeamView(VisibleMixin, generics.RetrieveAPIView[Team]):
    """One team, with the team that it is in."""

    queryset = Team.objects.select_related("organisation", "parent")
    serializer_class = s.TeamSerializer

    @extend_schema(request=s.TeamChangeSerializer, responses=s.TeamSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Another name, or a place below another team, with its projects and all teams below it; for admins."""
        team, body, user = self.get_object(), read_body(s.TeamChangeSerializer, request), caller(request)
        seen = body.pop("seen", None)
        with transaction.atomic():
            Organisation.objects.select_for_update().get(pk=team.organisation_id)
            team.refresh_from_db(fields=["name", "parent"])
            present = {"name": team.name, "parent": team.parent_id}
            require_as_seen(f"the team {team.name}", seen=seen, present=present, yours=body)
            if "name" in body:
                actions.rename(team, name=body["name"], actor=user)
            if "parent" in body:
                parent = Team.objects.get_visible(user, body["parent"], field="parent") if body["parent"] else None
                actions.move_team(team, parent=parent, actor=user)
        return Response(s.TeamSerializer(team).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """For admins; 409 while it has projects or teams below it."""
        actions.delete(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
