# SPDX-License-Identifier: Apache-2.0
"""Requests for quota as JSON, and their views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import QuerySet
from django_filters import rest_framework as django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control.api.boosts import EXTRA_BY_TYPE, EXTRA_GUARANTEE_BY_TYPE, extra_by_type
from mlhub.control.api.serializers import OvercommitmentSerializer
from mlhub.control.quotas.overcommitment import OVERCOMMITTED, overcommitments_of
from mlhub.control.quotas.type_guarantees import require_types_there, within_cluster
from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, VisibleMixin, read_body
from mlhub.tenants.actions import approve_request, refuse_request, request_quota, withdraw_request
from mlhub.tenants.actions.limits.boosts import MOST_EXTRA
from mlhub.tenants.actions.limits.quotas import require_quota_right
from mlhub.tenants.models import Organisation, Project, QuotaRequest, Team
from mlhub.tenants.named import NamedFilter
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


OF_TYPES = "extra_guarantee_by_type"
STATES = ["waiting", *(word for word, _ in QuotaRequest.ANSWERS)]


class RequestedQuotaSerializer(serializers.ModelSerializer[QuotaRequest]):
    """What a member asks to be added to a quota, and what became of it."""

    extra_gpus_by_type = serializers.DictField(
        child=serializers.IntegerField(),
        read_only=True,
        help_text="GPUs to add to the limits of single types, by type; once approved, those that were added.",
    )
    extra_guarantee_by_type = serializers.DictField(
        child=serializers.IntegerField(),
        read_only=True,
        help_text="GPUs of single types to add to the guarantee, by type; once approved, those that were added.",
    )
    owner = serializers.SerializerMethodField(help_text="Id of the organisation, team or project.")
    owner_kind = serializers.SerializerMethodField(help_text="organisation, team or project.")
    owner_name = serializers.SerializerMethodField(help_text="Its name.")
    requested_by = serializers.CharField(source="requested_by.username", help_text="Who asks.")
    state = serializers.ChoiceField(choices=STATES, read_only=True, help_text="Whether it waits, or its answer.")
    answered_by = serializers.SerializerMethodField(help_text="Who answered; empty while it waits.")

    def get_owner(self, asked: QuotaRequest) -> str:
        return str(asked.owner.pk)

    def get_owner_kind(self, asked: QuotaRequest) -> str:
        return type(asked.owner).__name__.lower()

    def get_owner_name(self, asked: QuotaRequest) -> str:
        return asked.owner.name

    def get_answered_by(self, asked: QuotaRequest) -> str:
        return asked.answered_by.username if asked.answered_by else ""

    class Meta:
        model = QuotaRequest
        fields = [
            "id", "organisation", "owner", "owner_kind", "owner_name", "extra_guarantee", "extra_guarantee_by_type",
            "extra_max_gpus", "extra_gpus_by_type", "starts_at", "ends_at", "reason", "requested_by", "created_at",
            "state", "note", "answered_by", "answered_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The request's id.",
            organisation="Id of its organisation.",
            extra_guarantee="GPUs of any type to add to the guarantee; once approved, those that were added.",
            extra_max_gpus="GPUs to add to the most in use at a time; once approved, those that were added.",
            starts_at="From when on; null: from the approval on.",
            ends_at="Until when; null: for good.",
            reason="What they are for.",
            created_at="When it was made.",
            note="Why it was answered so.",
            answered_at="When it was answered; null while it waits.",
        )


class ApprovedQuotaSerializer(RequestedQuotaSerializer):
    """A request that was just approved, and what the cluster cannot honour since."""

    overcommitted = OvercommitmentSerializer(many=True, read_only=True, help_text=OVERCOMMITTED)

    class Meta(RequestedQuotaSerializer.Meta):
        fields = [*RequestedQuotaSerializer.Meta.fields, "overcommitted"]
        read_only_fields = fields


class _AmountsSerializer(StrictSerializer):
    extra_guarantee = serializers.IntegerField(
        min_value=0, max_value=MOST_EXTRA, required=False, help_text="GPUs of any type to add to the guarantee."
    )
    extra_max_gpus = serializers.IntegerField(
        min_value=0, max_value=MOST_EXTRA, required=False, help_text="GPUs to add to max_gpus, where that is set."
    )
    extra_gpus_by_type = extra_by_type(EXTRA_BY_TYPE)
    extra_guarantee_by_type = extra_by_type(EXTRA_GUARANTEE_BY_TYPE)


class QuotaAskSerializer(_AmountsSerializer):
    """At least one of extra_guarantee, extra_guarantee_by_type, extra_max_gpus and extra_gpus_by_type, and a reason."""

    starts_at = serializers.DateTimeField(
        default=None,
        allow_null=True,
        help_text="From when on, before ends_at and at most 366 days from now; null: from the approval on.",
    )
    ends_at = serializers.DateTimeField(
        default=None, allow_null=True, help_text="Until when, at most 366 days from now; null: for good."
    )
    reason = serializers.CharField(max_length=500, help_text="What they are for, to who decides.")


class QuotaApprovalSerializer(_AmountsSerializer):
    """The amounts as asked for, unless others are given."""

    note = serializers.CharField(max_length=500, default="", allow_blank=True, help_text="A word to who asked.")


class QuotaRefusalSerializer(StrictSerializer):
    note = serializers.CharField(max_length=500, help_text="Why, to who asked.")


class QuotaRequestFilter(django_filters.FilterSet):
    organisation = NamedFilter(Organisation, help_text="Only those of this organisation, by id or name.")
    is_waiting = django_filters.BooleanFilter(method="of_answer", help_text="Only those that wait, or were answered.")

    class Meta:
        model = QuotaRequest
        fields: list[str] = []

    def of_answer(self, rows: QuerySet[QuotaRequest], _: str, is_waiting: bool) -> QuerySet[QuotaRequest]:
        return rows.filter(answer="") if is_waiting else rows.exclude(answer="")


class QuotaRequestsView(VisibleMixin, generics.ListAPIView[QuotaRequest]):
    """Requests for quota in the caller's organisations, the newest first."""

    queryset = QuotaRequest.objects.select_related("organisation", "team", "project", "requested_by", "answered_by")
    serializer_class = RequestedQuotaSerializer
    filterset_class = QuotaRequestFilter


class QuotaRequestMakingView(AddressedView):
    model: type[Organisation] | type[Team] | type[Project] = Organisation

    @extend_schema(request=QuotaAskSerializer, responses={201: RequestedQuotaSerializer})
    def post(self, request: Request, id: str) -> Response:
        """Asks for more, by who may submit; admins of the organisation (for its own quota: of the platform) decide."""
        owner = self.model._default_manager.get_visible(request.user, id)
        body: dict[str, Any] = read_body(QuotaAskSerializer, request)
        with transaction.atomic():
            made = request_quota(owner, actor=caller(request), **body)
            require_types_there(body.get(OF_TYPES), field=OF_TYPES)
        return Response(RequestedQuotaSerializer(made).data, status=status.HTTP_201_CREATED)


class QuotaRequestAnswerView(APIView):
    """One request."""

    def asked(self, request: Request, id: str) -> QuotaRequest:
        found: QuotaRequest = QuotaRequest.objects.select_related("organisation", "team", "project").get_visible(
            request.user, id
        )
        return found


class QuotaRequestApprovalView(QuotaRequestAnswerView):
    @extend_schema(request=QuotaApprovalSerializer, responses=ApprovedQuotaSerializer)
    def post(self, request: Request, id: str) -> Response:
        """Gives what is asked for, or other amounts, by who may change the quota: as a boost, or for good."""
        body: dict[str, Any] = read_body(QuotaApprovalSerializer, request)
        asked = self.asked(request, id)
        require_quota_right(asked.owner, caller(request))
        with within_cluster(asked.owner, body.get(OF_TYPES, asked.extra_guarantee_by_type), field=OF_TYPES):
            answered = approve_request(asked, actor=caller(request), **body)
        answered.overcommitted = overcommitments_of(asked.owner, user=caller(request), at=asked.starts_at)  # type: ignore[attr-defined]
        return Response(ApprovedQuotaSerializer(answered).data)


class QuotaRequestRefusalView(QuotaRequestAnswerView):
    @extend_schema(request=QuotaRefusalSerializer, responses=RequestedQuotaSerializer)
    def post(self, request: Request, id: str) -> Response:
        """Refuses it with a reason, by who may change the quota."""
        note = read_body(QuotaRefusalSerializer, request)["note"]
        return Response(
            RequestedQuotaSerializer(refuse_request(self.asked(request, id), note=note, actor=caller(request))).data
        )


class QuotaRequestWithdrawalView(QuotaRequestAnswerView):
    @extend_schema(request=None, responses=RequestedQuotaSerializer)
    def post(self, request: Request, id: str) -> Response:
        """Takes it back, by who made it."""
        return Response(RequestedQuotaSerializer(withdraw_request(self.asked(request, id), actor=caller(request))).data)
