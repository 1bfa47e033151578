# SPDX-License-Identifier: Apache-2.0
"""Experiments are renamed, deleted and restored as projects: deleting archives, for admins. Tags are for members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework.response import Response

from mlhub.core.errors import InvalidInputError, NotAllowedError, NotFoundError
from mlhub.tenants.access_control.permissions import require_scope
from mlhub.tenants.actions.hierarchy import projects
from mlhub.tenants.models import ApiToken, Project
from mlhub.tracking.actions import set_experiment_tag
from mlhub.tracking.api.bodies import entry, text
from mlhub.tracking.api.experiments import MAX_NAME
from mlhub.tracking.api.protocol import ProtocolView, fields_of

if TYPE_CHECKING:
    from rest_framework.request import Request


class ExperimentUpdateView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        """Renames the project; the name may have the organisation's before it, as where projects are made."""
        project, name = _project(self, request), text(fields_of(request), "new_name")
        own_name = name.removeprefix(f"{project.organisation.name}/")
        if len(own_name) > MAX_NAME:
            raise InvalidInputError(f"The name has more than {MAX_NAME} characters.", field="new_name")
        projects.rename(project, name=own_name, actor=self.caller.user)
        return Response({})


class ExperimentDeleteView(ProtocolView):
    is_archived = True

    def post(self, request: Request, **_: Any) -> Response:
        projects.set_archived(_project(self, request), is_archived=self.is_archived, actor=self.caller.user)
        return Response({})


class ExperimentRestoreView(ExperimentDeleteView):
    is_archived = False


class ExperimentSetTagView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        project, tag = self.caller.project(text(fields_of(request), "experiment_id")), entry(fields_of(request))
        set_experiment_tag(self.caller, project, tag.key, tag.value)
        return Response({})


class ExperimentDeleteTagView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        project, key = self.caller.project(text(fields_of(request), "experiment_id")), text(fields_of(request), "key")
        if not set_experiment_tag(self.caller, project, key, None):
            raise NotFoundError(f"No tag with name: {key[:200]} in this experiment.")
        return Response({})


def _project(view: ProtocolView, request: Request) -> Project:
    """For a change of the project itself. Raises NotAllowedError for pods and tokens without the scope."""
    if view.caller.attempt is not None:
        raise NotAllowedError("A job does not change its project.")
    if isinstance(request.auth, ApiToken):
        require_scope(request.auth, "write")
    return view.caller.project(text(fields_of(request), "experiment_id"))
