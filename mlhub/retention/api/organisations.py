# SPDX-License-Identifier: Apache-2.0
"""An organisation's bounds and defaults of retention, what they clamp, and what others would remove."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from mlhub.core.api.views import AddressedView, read_body
from mlhub.jobs.models import OrganisationRetention
from mlhub.jobs.retention.organisation_retention import merged, set_organisation_retention
from mlhub.jobs.retention.retention_bounds import OrganisationRule
from mlhub.jobs.retention.retention_rules import KINDS, installation_rule, rules_of
from mlhub.retention.api import serializers as s
from mlhub.retention.previews import clamped, effects
from mlhub.tenants.access_control.permissions import role_of
from mlhub.tenants.models import Organisation
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class OrganisationRetentionView(AddressedView):
    @extend_schema(responses=s.OrganisationRetentionSerializer)
    def get(self, request: Request, id: str) -> Response:
        """Within which bounds the organisation's projects choose how long they keep what their jobs leave, by kind."""
        return Response(_shown(Organisation.objects.get_visible(request.user, id), request))

    @extend_schema(request=s.OrganisationRetentionChangeSerializer, responses=s.OrganisationRetentionSerializer)
    def patch(self, request: Request, id: str) -> Response:
        """Changes the bounds, by admins of the organisation; what is due by them is removed within some minutes."""
        organisation: Organisation = Organisation.objects.get_visible(request.user, id)
        body: dict[str, Any] = read_body(s.OrganisationRetentionChangeSerializer, request)
        set_organisation_retention(organisation, version=body.pop("version", None), changes=body, actor=caller(request))
        return Response(_shown(organisation, request))


class OrganisationRetentionPreviewView(AddressedView):
    required_scope = "read"

    @extend_schema(request=s.OrganisationRulesSerializer, responses=s.RetentionEffectSerializer(many=True))
    def post(self, request: Request, id: str) -> Response:
        """Which projects would keep what for other days by such bounds, and what would be removed now; nothing is
        changed."""
        organisation: Organisation = Organisation.objects.get_visible(request.user, id)
        changes: dict[str, Any] = read_body(s.OrganisationRulesSerializer, request)
        row = OrganisationRetention.objects.filter(organisation=organisation).first()
        rules = merged(row.rules if row is not None else {}, changes, organisation)
        new = {kind: OrganisationRule.read(stored) for kind, stored in rules.items()}
        rows = [
            {
                "project": effect.before.project,
                "kind": effect.before.kind,
                "days_before": effect.before.effective.days,
                "days_after": effect.after.days,
                "clamped_by": effect.after.clamped_by,
                **asdict(effect.removed),
            }
            for effect in effects(organisation, rules_of(row), new, now=timezone.now())
        ]
        return Response(s.RetentionEffectSerializer(rows, many=True).data)


def _shown(organisation: Organisation, request: Request) -> dict[str, Any]:
    row = OrganisationRetention.objects.filter(organisation=organisation).first()
    rules, role = rules_of(row), role_of(caller(request), organisation)
    kinds = [
        {
            "kind": kind,
            **asdict(rules.get(kind, OrganisationRule())),
            "installation_days": installation_rule(kind).days,
            "installation_bounds": installation_rule(kind).bounds,
        }
        for kind in KINDS
    ]
    found = {
        "version": row.version if row is not None else 0,
        "may_edit": role is not None and role.covers(Role.ADMIN),
        "kinds": kinds,
        "clamped": [
            {"project": one.project, "kind": one.kind, **asdict(one.effective)} for one in clamped(organisation, rules)
        ],
    }
    return s.OrganisationRetentionSerializer(found).data
