# SPDX-License-Identifier: Apache-2.0
"""The aliases of a model: list, set or move, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, read_body
from mlhub.registry.aliases import delete_alias, set_alias
from mlhub.registry.models import Model, ModelAlias
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request

MODEL = OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH, description="The id of the model.")
NAME = OpenApiParameter("name", OpenApiTypes.STR, OpenApiParameter.PATH, description="The alias, such as best.")


class AliasSerializer(serializers.ModelSerializer[ModelAlias]):
    """A name of one version of a model."""

    name = serializers.CharField(read_only=True, help_text="The alias; it is written with @ where a version is named.")
    version = serializers.IntegerField(source="version.number", read_only=True, help_text="The version's number.")
    version_id = serializers.UUIDField(read_only=True, help_text="The version's id.")
    set_by = serializers.CharField(
        source="set_by.username", read_only=True, allow_null=True, default=None, help_text="Who set or moved it last."
    )
    set_at = serializers.DateTimeField(read_only=True, help_text="When it was set or moved last.")

    class Meta:
        model = ModelAlias
        fields = ["name", "version", "version_id", "set_by", "set_at"]


class AliasTargetSerializer(StrictSerializer):
    version = serializers.IntegerField(min_value=1, max_value=10**9, help_text="The number of the version.")


class AliasesView(AddressedView):
    @extend_schema(parameters=[MODEL], responses=AliasSerializer(many=True))
    def get(self, request: Request, id: UUID, **_: Any) -> Response:
        """All aliases of the model, by name."""
        model = Model.objects.get_visible(request.user, id)
        found = ModelAlias.objects.filter(model=model).select_related("version", "set_by").order_by("name")
        return Response(AliasSerializer(found, many=True).data)


class AliasView(AddressedView):
    @extend_schema(parameters=[MODEL, NAME], request=AliasTargetSerializer, responses=AliasSerializer)
    def put(self, request: Request, id: UUID, name: str, **_: Any) -> Response:
        """Sets the alias, or moves it from another version."""
        model = _model(request, id)
        body = read_body(AliasTargetSerializer, request)
        return Response(AliasSerializer(set_alias(model, name, number=body["version"], actor=caller(request))).data)

    @extend_schema(parameters=[MODEL, NAME], responses={204: None})
    def delete(self, request: Request, id: UUID, name: str, **_: Any) -> Response:
        """The version stays."""
        delete_alias(_model(request, id), name, actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _model(request: Request, model_id: UUID) -> Model:
    found: Model = Model.objects.select_related("project__organisation").get_visible(request.user, model_id)
    return found
