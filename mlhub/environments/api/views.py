# SPDX-License-Identifier: Apache-2.0
"""Lists of environments and their logs; secrets of projects, to set, list by name and delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response

from mlhub.core.api.views import AddressedView, VisibleMixin, read_body
from mlhub.environments import secrets
from mlhub.environments.api import serializers as s
from mlhub.environments.models import EnvironmentState, ProjectSecret, PythonEnvironment
from mlhub.tenants.models import Organisation, Project
from mlhub.tenants.named import NamedFilter
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class EnvironmentFilter(django_filters.FilterSet):
    organisation = NamedFilter(Organisation, help_text="Only those of this organisation, by id or name.")
    state = django_filters.ChoiceFilter(choices=EnvironmentState.choices, help_text="Only those in this state.")

    class Meta:
        model = PythonEnvironment
        fields: list[str] = []


class EnvironmentsView(VisibleMixin, generics.ListAPIView[PythonEnvironment]):
    """Environments of the caller's organisations, newest first."""

    queryset = PythonEnvironment.objects.with_users()
    serializer_class = s.EnvironmentSerializer
    filterset_class = EnvironmentFilter


class EnvironmentLogView(VisibleMixin, generics.RetrieveAPIView[PythonEnvironment]):
    """The log of the environment's newest build."""

    queryset = PythonEnvironment.objects.all()
    serializer_class = s.EnvironmentLogSerializer


class SecretFilter(django_filters.FilterSet):
    search = django_filters.CharFilter("name", "icontains", help_text="Only those whose name contains this.")

    class Meta:
        model = ProjectSecret
        fields: list[str] = []


class SecretsView(AddressedView, generics.ListAPIView[ProjectSecret]):
    """The project's secrets by name, without their values."""

    queryset = ProjectSecret.objects.select_related("set_by")
    serializer_class = s.SecretSerializer
    filterset_class = SecretFilter

    def get_queryset(self) -> QuerySet[ProjectSecret]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        project = Project.objects.get_visible(self.request.user, self.kwargs["id"])
        return super().get_queryset().filter(project=project)


class SecretView(AddressedView, generics.GenericAPIView[ProjectSecret]):
    queryset = ProjectSecret.objects.all()
    serializer_class = s.SecretSerializer

    @property
    def project(self) -> Project:
        projects = Project.objects.select_related("organisation")
        found: Project = projects.get_visible(self.request.user, self.kwargs["id"])
        return found

    @extend_schema(request=s.SecretValueSerializer, responses=s.SecretSerializer)
    def put(self, request: Request, name: str, **_: Any) -> Response:
        """Sets the secret or replaces its value, which is encrypted and never shown again; for members."""
        project, body = self.project, read_body(s.SecretValueSerializer, request)
        secret = secrets.put_secret(project, name=name, value=body["value"], actor=caller(request))
        return Response(s.SecretSerializer(secret).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str, **_: Any) -> Response:
        """Deletes the secret; pods that run already keep it. For members."""
        secrets.delete_secret(self.project, name=name, actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
