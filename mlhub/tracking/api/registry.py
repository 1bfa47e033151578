# SPDX-License-Identifier: Apache-2.0
"""MLflow's model registry: registered models, their tags and aliases. Versions are in registry_versions.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework.response import Response

from mlhub.core.errors import InvalidInputError, NotFoundError
from mlhub.registry import actions, aliases, logged
from mlhub.registry.models import Model, ModelVersion
from mlhub.tracking.api import bodies
from mlhub.tracking.api.bodies import Fields, objects, text
from mlhub.tracking.api.pages import page_of, page_token
from mlhub.tracking.api.protocol import ProtocolView, fields_of, query_of
from mlhub.tracking.limits import LogBatch
from mlhub.tracking.model_descriptions import STAGES, registered_model, registered_version, stage_of
from mlhub.tracking.pods import mask_of
from mlhub.tracking.registered import place_of, registered, require_own, require_person, version_of, versions
from mlhub.tracking.registry_search import search_models
from mlhub.wire.masking import masked_texts

if TYPE_CHECKING:
    from rest_framework.request import Request

SEARCH_PAGE = 100


class RegisteredCreateView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        name = text(fields, "name")
        project, own_name = place_of(self.caller, name)
        self.caller.require_writer(project)
        mask = mask_of(self.caller.attempt)
        made = logged.create_line(
            project,
            name=own_name,
            description=mask(text(fields, "description", default="")),
            labels=masked_texts(labels_of(fields), mask),
            actor=self.caller.user,
        )
        return Response({"registered_model": registered_model(made, name)})


class RegisteredGetView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        name = text(query_of(request), "name")
        found = registered(self.caller, name)
        return Response({"registered_model": registered_model(found, name)})


class RegisteredUpdateView(ProtocolView):
    """Describes a model."""

    def patch(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        name = text(fields, "name")
        found = _changeable(self, name)
        logged.describe_line(found, description=text(fields, "description", default=""), actor=self.caller.user)
        return Response({"registered_model": registered_model(found, name)})


class RegisteredRenameView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        found, new_name = _changeable(self, text(fields, "name")), text(fields, "new_name")
        own_name = new_name.removeprefix(f"{found.project.name}.") if found.project is not None else new_name
        logged.describe_line(found, name=own_name, actor=self.caller.user)
        return Response({"registered_model": registered_model(found, new_name)})


class RegisteredDeleteView(ProtocolView):
    def delete(self, request: Request, **_: Any) -> Response:
        actions.delete_model(_changeable(self, text(fields_of(request), "name")), actor=self.caller.user)
        return Response({})


class RegisteredSearchView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        fields = query_of(request)
        offset, limit = page_of(fields, default=SEARCH_PAGE, most=SEARCH_PAGE)
        found, has_more = search_models(
            self.caller,
            text=text(fields, "filter", default=""),
            orders=request.query_params.getlist("order_by"),
            offset=offset,
            limit=limit,
        )
        answer: dict[str, Any] = {"registered_models": [registered_model(model, name) for model, name in found]}
        return Response(answer | page_token(offset + limit, has_more=has_more))


class RegisteredLatestVersionsView(ProtocolView):
    """The newest version in each stage, or in those that are named."""

    required_scope = "read"

    def post(self, request: Request, **_: Any) -> Response:
        return self._answer(text(fields_of(request), "name"), bodies.texts(fields_of(request), "stages"))

    def get(self, request: Request, **_: Any) -> Response:
        return self._answer(text(query_of(request), "name"), request.query_params.getlist("stages"))

    def _answer(self, name: str, stages: list[str]) -> Response:
        wanted = {stage_named(stage) for stage in stages} or set(STAGES)
        newest: dict[str, ModelVersion] = {}
        for version in versions(registered(self.caller, name)).order_by("number"):
            newest[stage_of(version)] = version
        found = [registered_version(one, name) for stage, one in newest.items() if stage in wanted]
        return Response({"model_versions": found})


class RegisteredAliasView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        """Aliases have no capitals on MLHub: those of a request are made small."""
        fields = query_of(request)
        name, alias = text(fields, "name"), text(fields, "alias").lower()
        found = versions(registered(self.caller, name)).filter(aliases__name=alias).first()
        if found is None:
            raise NotFoundError(f"Registered model alias {alias[:100]} not found.", field="alias")
        return Response({"model_version": registered_version(found, name)})

    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        version = version_of(self.caller, text(fields, "name"), text(fields, "version"))
        require_own(self.caller, version)
        self.caller.require_writer(_project(version.model))
        alias = text(fields, "alias").lower()
        aliases.set_alias(version.model, alias, number=version.number, actor=self.caller.user)
        return Response({})

    def delete(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        model = _changeable(self, text(fields, "name"))
        aliases.delete_alias(model, text(fields, "alias").lower(), actor=self.caller.user)
        return Response({})


class RegisteredTagView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        model = _changeable(self, text(fields, "name"))
        logged.set_label(model, text(fields, "key"), text(fields, "value", default=""), actor=self.caller.user)
        return Response({})

    def delete(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        logged.set_label(_changeable(self, text(fields, "name")), text(fields, "key"), None, actor=self.caller.user)
        return Response({})


def labels_of(fields: Fields) -> dict[str, str]:
    tags = [bodies.entry(one) for one in objects(fields, "tags")]
    LogBatch(tags=tags).check()
    return {one.key: one.value for one in tags}


def stage_named(given: str) -> str:
    """Raises InvalidInputError."""
    for stage in STAGES:
        if stage.lower() == given.lower():
            return stage
    raise InvalidInputError(f"{given[:50]!r} is no stage.", field="stage", remedy=f"Give one of {', '.join(STAGES)}.")


def _changeable(view: ProtocolView, name: str) -> Model:
    """Raises NotAllowedError for pods."""
    require_person(view.caller)
    found = registered(view.caller, name)
    view.caller.require_writer(_project(found))
    return found


def _project(model: Model) -> Any:
    return model.project
