# SPDX-License-Identifier: Apache-2.0
"""One environment: to look at, to stop its build, to build it again, to delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response

from mlhub.core.api.views import VisibleMixin
from mlhub.environments import actions
from mlhub.environments.api import serializers as s
from mlhub.environments.models import PythonEnvironment
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class OneEnvironment(VisibleMixin, generics.GenericAPIView[PythonEnvironment]):
    queryset = PythonEnvironment.objects.with_users()
    serializer_class = s.EnvironmentSerializer

    def shown(self) -> Response:
        return Response(s.EnvironmentSerializer(self.get_object()).data)


class EnvironmentView(OneEnvironment):
    def get(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """One environment: the packages of code, and how far their build is."""
        return self.shown()

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Deletes an environment that no code requires, with its layer: 409 names the code that does. For those who may
        upload code that requires it."""
        actions.delete_environment(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class StopView(OneEnvironment):
    @extend_schema(request=None, responses=s.EnvironmentSerializer)
    def post(self, request: Request, **_: Any) -> Response:
        """Stops the build, whether it waits or runs; stopped again it changes nothing. What waits for it is refused
        with that cause. For those who may upload code that requires it."""
        actions.stop_build(self.get_object(), actor=caller(request))
        return self.shown()


class BuildView(OneEnvironment):
    @extend_schema(request=None, responses=s.EnvironmentSerializer)
    def post(self, request: Request, **_: Any) -> Response:
        """Builds an environment again whose build failed or was stopped. For those who may upload code that requires
        it."""
        actions.build_again(self.get_object(), actor=caller(request))
        return self.shown()
