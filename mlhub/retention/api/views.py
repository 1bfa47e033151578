# SPDX-License-Identifier: Apache-2.0
"""A project's rules of retention: what is kept for how long, what that takes, and what other rules would remove."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from mlhub.core.api.views import AddressedView, read_body
from mlhub.jobs.models import ProjectRetention
from mlhub.jobs.retention.retention_actions import check_days, set_retention
from mlhub.jobs.retention.retention_rules import (
    KINDS,
    effective_of,
    installation_days,
    installation_rule,
    organisation_rules,
    own_days,
)
from mlhub.retention.api import serializers as s
from mlhub.retention.stored import reclaimable, stored
from mlhub.tenants.access_control.permissions import role_of
from mlhub.tenants.models import Project
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class RetentionView(AddressedView):
    @extend_schema(responses=s.RetentionSerializer)
    def get(self, request: Request, id: str) -> Response:
        """How long the project keeps what its jobs leave, by kind, and what there is of it."""
        return Response(_shown(Project.objects.get_visible(request.user, id), request))

    @extend_schema(request=s.RetentionChangeSerializer, responses=s.RetentionSerializer)
    def patch(self, request: Request, id: str) -> Response:
        """Changes how long it is kept, by admins of the organisation; what is due is removed within some minutes."""
        project: Project = Project.objects.get_visible(request.user, id)
        body: dict[str, Any] = read_body(s.RetentionChangeSerializer, request)
        set_retention(project, version=body.pop("version", None), days=body, actor=caller(request))
        return Response(_shown(project, request))


class RetentionPreviewView(AddressedView):
    required_scope = "read"

    @extend_schema(request=s.RetentionDaysSerializer, responses=s.ReclaimableSerializer(many=True))
    def post(self, request: Request, id: str) -> Response:
        """What would be removed now if so many days were kept, of the kinds that are given; nothing is changed."""
        project: Project = Project.objects.get_visible(request.user, id)
        days: dict[str, Any] = read_body(s.RetentionDaysSerializer, request)
        check_days(days, project.organisation)
        rules = organisation_rules(project.organisation)
        meant = {
            kind: effective_of(kind, {} if value is None else {kind: value}, rules).days for kind, value in days.items()
        }
        found = reclaimable(project, meant, now=timezone.now())
        rows = [{"kind": kind, **asdict(part)} for kind, part in found.items()]
        return Response(s.ReclaimableSerializer(rows, many=True).data)


def _shown(project: Project, request: Request) -> dict[str, Any]:
    row = ProjectRetention.objects.filter(project=project).first()
    own, rules = own_days(project), organisation_rules(project.organisation)
    role = role_of(caller(request), project)
    effective = {kind: effective_of(kind, own, rules) for kind in KINDS}
    due = reclaimable(project, {kind: found.days for kind, found in effective.items()}, now=timezone.now())
    kinds = []
    for kind in KINDS:
        default, installation = effective_of(kind, {}, rules), installation_rule(kind)
        kinds.append(
            {
                "kind": kind,
                **asdict(effective[kind]),
                "is_own": kind in own,
                "installation_days": installation_days(kind),
                "default_days": default.days,
                "default_of": default.rule_of,
                "bounds": [*(rules[kind].bounds if kind in rules else ()), *installation.bounds],
                "stored": asdict(stored(project, kind)),
                "due": asdict(due[kind]),
            }
        )
    found = {
        "version": row.version if row is not None else 0,
        "may_edit": role is not None and role.covers(Role.ADMIN),
        "organisation": project.organisation,
        "kinds": kinds,
    }
    return s.RetentionSerializer(found).data
