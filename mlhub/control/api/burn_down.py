# SPDX-License-Identifier: Apache-2.0
"""How budgets of GPU-hours are used over their period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from mlhub.control.api.quota_serializers import BudgetUseSerializer
from mlhub.control.quotas.budgets import as_rows
from mlhub.control.quotas.burn_down import burn_downs
from mlhub.core.api.views import AddressedView
from mlhub.tenants.models import Organisation, Project, Team

if TYPE_CHECKING:
    from rest_framework.request import Request


class UsedUntilSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField(help_text="Until when.")
    gpu_hours = serializers.FloatField(help_text="GPU-hours used from the begin of the period until then.")


class BurnDownSerializer(BudgetUseSerializer):
    """A budget, how it was used in the present period, and how it would go on at the rate of the last days."""

    began_at = serializers.DateTimeField(help_text="When the period began; of a budget without one, its first use.")
    points = UsedUntilSerializer(
        many=True, help_text="The first at the begin, the last now; by hour, quarter of a day or day of UTC between."
    )
    gpu_hours_per_day = serializers.FloatField(help_text="The rate since rate_since, at which it is taken to go on.")
    rate_since = serializers.DateTimeField(
        help_text="Seven days ago, or the first use where that is later; an hour ago at least."
    )
    predicted_gpu_hours = serializers.FloatField(
        allow_null=True, help_text="GPU-hours used when the period ends, at that rate; null: it does not end."
    )
    exhausted_at = serializers.DateTimeField(
        allow_null=True, help_text="When nothing of it is left, at that rate; null: not in this period."
    )


class BurnDownView(AddressedView):
    """The use over time of an owner's budgets."""

    model: type[Organisation] | type[Team] | type[Project] = Organisation

    @extend_schema(responses=BurnDownSerializer(many=True))
    def get(self, request: Request, id: str) -> Response:
        """How each budget of GPU-hours is used in its present period, and when it would be used up."""
        owner = self.model._default_manager.get_visible(request.user, id)
        quota = getattr(owner, "quota", None)
        found = burn_downs(owner, [] if quota is None else quota.budgets, now=timezone.now())
        uses = as_rows([one.budget for one in found])
        rows = [{**use, **vars(one)} for use, one in zip(uses, found, strict=True)]
        return Response(BurnDownSerializer(rows, many=True).data)
