# SPDX-License-Identifier: Apache-2.0
"""Boosts of quotas as JSON, and their views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control.api.serializers import OvercommitmentSerializer
from mlhub.control.quotas.overcommitment import OVERCOMMITTED, overcommitments_of
from mlhub.control.quotas.type_guarantees import require_types_there, within_cluster
from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, read_body
from mlhub.tenants.actions import boost_quota, end_boost
from mlhub.tenants.actions.limits.boosts import MOST_EXTRA
from mlhub.tenants.actions.limits.quotas import require_quota_right
from mlhub.tenants.models import Organisation, Project, QuotaBoost, Team
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


EXTRA_BY_TYPE = "GPUs to add to the limits in gpus_by_type, by type; the types must be limited there."
EXTRA_GUARANTEE_BY_TYPE = (
    "GPUs of single types to add to the guarantee, by type; besides extra_guarantee, whose GPUs are of any type."
)


def extra_by_type(help_text: str) -> serializers.DictField:
    """The field of numbers by type that are added."""
    child = serializers.IntegerField(min_value=0, max_value=MOST_EXTRA)
    return serializers.DictField(child=child, required=False, help_text=help_text)


class QuotaBoostSerializer(serializers.ModelSerializer[QuotaBoost]):
    """GPUs that are added to the rules of a quota for a time; boosts of one owner add up."""

    extra_gpus_by_type = serializers.DictField(
        child=serializers.IntegerField(),
        read_only=True,
        help_text="GPUs that are added to the limits of single types, by type.",
    )
    extra_guarantee_by_type = serializers.DictField(
        child=serializers.IntegerField(),
        read_only=True,
        help_text="GPUs of single types that are added to the guarantee, by type, besides extra_guarantee.",
    )
    is_in_effect = serializers.SerializerMethodField(
        help_text="Whether it counts now; false: it is to come, from starts_at on."
    )
    created_by = serializers.SerializerMethodField(
        help_text="Who made it; empty: the platform, or an account that is gone."
    )

    def get_is_in_effect(self, boost: QuotaBoost) -> bool:
        return boost.has_begun(timezone.now())

    def get_created_by(self, boost: QuotaBoost) -> str:
        return boost.created_by.username if boost.created_by else ""

    class Meta:
        model = QuotaBoost
        fields = [
            "id", "extra_guarantee", "extra_guarantee_by_type", "extra_max_gpus", "extra_gpus_by_type",
            "starts_at", "ends_at", "is_in_effect", "reason", "created_by", "created_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The boost's id.",
            extra_guarantee="GPUs of any type that are added to the guarantee.",
            extra_max_gpus="GPUs that are added to the most that may be in use at a time.",
            starts_at="When it begins, or began, to count.",
            ends_at="When it ends by itself.",
            reason="Why, for those who see the quota.",
            created_at="When it was made.",
        )


class QuotaBoostMadeSerializer(QuotaBoostSerializer):
    """A boost that was just made, and what the cluster cannot honour since, or from its beginning on."""

    overcommitted = OvercommitmentSerializer(
        many=True, read_only=True, help_text=f"{OVERCOMMITTED} Of a boost to come: as it will be when it begins."
    )

    class Meta(QuotaBoostSerializer.Meta):
        fields = [*QuotaBoostSerializer.Meta.fields, "overcommitted"]
        read_only_fields = fields


class QuotaBoostRequestSerializer(StrictSerializer):
    """At least one of extra_guarantee, extra_guarantee_by_type, extra_max_gpus and extra_gpus_by_type."""

    extra_guarantee = serializers.IntegerField(
        min_value=0, max_value=MOST_EXTRA, default=0, help_text="GPUs of any type to add to the guarantee."
    )
    extra_max_gpus = serializers.IntegerField(
        min_value=0, max_value=MOST_EXTRA, default=0, help_text="GPUs to add to max_gpus, where that is set."
    )
    extra_gpus_by_type = extra_by_type(EXTRA_BY_TYPE)
    extra_guarantee_by_type = extra_by_type(EXTRA_GUARANTEE_BY_TYPE)
    starts_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="When it begins, before ends_at and at most 366 days from now; null, or left out: now. Without an "
        "offset it is UTC.",
    )
    ends_at = serializers.DateTimeField(
        help_text="When it ends by itself; at most 366 days from now. Without an offset it is UTC."
    )
    reason = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="Why, for those who see the quota."
    )


class QuotaBoostsView(AddressedView):
    """The boosts of a quota."""

    model: type[Organisation] | type[Team] | type[Project] = Organisation

    @extend_schema(responses=QuotaBoostSerializer(many=True))
    def get(self, request: Request, id: str) -> Response:
        """Boosts that are in effect, and those to come: is_in_effect says which. The one that begins first is at the
        top.
        """
        owner = self.model._default_manager.get_visible(request.user, id)
        found = QuotaBoost.objects.of(owner).not_ended(timezone.now()).select_related("created_by")
        return Response(QuotaBoostSerializer(found.order_by("starts_at", "ends_at", "id"), many=True).data)

    @extend_schema(request=QuotaBoostRequestSerializer, responses={201: QuotaBoostMadeSerializer})
    def post(self, request: Request, id: str) -> Response:
        """Raises the quota until a time, from the next scheduling round on or from starts_at, by who may change it.

        It ends by itself: what is used above the guarantee then counts as borrowed, and jobs above max_gpus save a
        checkpoint and wait.
        """
        owner = self.model._default_manager.get_visible(request.user, id)
        body: dict[str, Any] = read_body(QuotaBoostRequestSerializer, request)
        require_quota_right(owner, caller(request))
        of_types, field = body.get("extra_guarantee_by_type"), "extra_guarantee_by_type"
        require_types_there(of_types, field=field)
        with within_cluster(owner, of_types, field=field):
            boost = boost_quota(owner, actor=caller(request), **body)
        boost.overcommitted = overcommitments_of(owner, user=caller(request), at=boost.starts_at)  # type: ignore[attr-defined]
        return Response(QuotaBoostMadeSerializer(boost).data, status=status.HTTP_201_CREATED)


class QuotaBoostEndView(APIView):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, id: str) -> Response:
        """Ends a boost before its time, or cancels one to come, by who may change the quota."""
        end_boost(QuotaBoost.objects.get_visible(request.user, id), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
