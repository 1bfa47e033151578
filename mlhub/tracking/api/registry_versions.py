# SPDX-License-Identifier: Apache-2.0
"""Versions of registered models: made of logged files, found, described, moved between stages, deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction
from rest_framework.response import Response

from mlhub.core.errors import InvalidInputError
from mlhub.registry import actions, aliases, logged
from mlhub.registry.annotations import annotate_version
from mlhub.registry.models import ModelAlias, ModelVersion
from mlhub.tracking.api.bodies import Fields, text
from mlhub.tracking.api.pages import page_of, page_token
from mlhub.tracking.api.protocol import ProtocolView, fields_of, query_of
from mlhub.tracking.api.registry import SEARCH_PAGE, labels_of, stage_named
from mlhub.tracking.model_descriptions import ARCHIVED, PRODUCTION, STAGING, registered_version
from mlhub.tracking.pods import mask_of
from mlhub.tracking.registered import (
    location_of,
    origin_of,
    project_of,
    registered,
    require_own,
    require_person,
    version_of,
)
from mlhub.tracking.registry_search import search_versions
from mlhub.wire.masking import masked_texts

if TYPE_CHECKING:
    from rest_framework.request import Request


class RegisteredVersionCreateView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        """Of what was logged, whose files it holds from now on."""
        fields = fields_of(request)
        name, source = text(fields, "name"), text(fields, "source")
        model = registered(self.caller, name)
        origin = origin_of(self.caller, source)
        owner = model.project
        assert owner is not None
        self.caller.require_writer(owner)
        if origin.project.organisation_id != owner.organisation_id:
            raise InvalidInputError(
                f"{source[:200]} is not of {owner.organisation.name}.",
                field="source",
                remedy="Register it in a project of the same organisation.",
            )
        mask = mask_of(self.caller.attempt)
        made = logged.register_files(
            model,
            origin.files,
            origin={**origin.facts, "source": source},
            metrics=origin.metrics,
            notes=mask(text(fields, "description", default="")),
            labels=masked_texts(labels_of(fields), mask),
            actor=self.caller.user,
        )
        return Response({"model_version": registered_version(made, name)})


class RegisteredVersionGetView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        version, name = _named(self, query_of(request))
        return Response({"model_version": registered_version(version, name)})


class RegisteredVersionDownloadUriView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        version, _name = _named(self, query_of(request))
        return Response({"artifact_uri": location_of(version)})


class RegisteredVersionUpdateView(ProtocolView):
    """Describes a version: the text is its notes."""

    def patch(self, request: Request, **_: Any) -> Response:
        version, name = _changeable(self, fields_of(request))
        notes = mask_of(self.caller.attempt)(text(fields_of(request), "description", default=""))
        annotate_version(version, notes=notes, actor=self.caller.user)
        return Response({"model_version": registered_version(_again(version), name)})


class RegisteredVersionStageView(ProtocolView):
    """A stage is the alias of its name, so that one version at a time is in Staging or in Production."""

    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        version, name = _changeable(self, fields)
        stage = stage_named(text(fields, "stage"))
        with transaction.atomic():
            for other in (STAGING, PRODUCTION):
                if other != stage and version.aliases.filter(name=other.lower()).exists():
                    aliases.delete_alias(version.model, other.lower(), actor=self.caller.user)
            if stage in (STAGING, PRODUCTION):
                held = ModelAlias.objects.filter(model=version.model_id, name=stage.lower()).exclude(version=version)
                former = held.select_related("version").first()
                aliases.set_alias(version.model, stage.lower(), number=version.number, actor=self.caller.user)
                if former is not None and fields.get("archive_existing_versions") is True:
                    _archive(former.version, is_archived=True)
            _archive(version, is_archived=stage == ARCHIVED)
        return Response({"model_version": registered_version(_again(version), name)})


class RegisteredVersionDeleteView(ProtocolView):
    def delete(self, request: Request, **_: Any) -> Response:
        require_person(self.caller)
        version, _name = _changeable(self, fields_of(request))
        actions.delete_version(version, actor=self.caller.user, may_be_last=True)
        return Response({})


class RegisteredVersionSearchView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        fields = query_of(request)
        offset, limit = page_of(fields, default=SEARCH_PAGE, most=SEARCH_PAGE)
        found, has_more = search_versions(
            self.caller,
            text=text(fields, "filter", default=""),
            orders=request.query_params.getlist("order_by"),
            offset=offset,
            limit=limit,
        )
        answer: dict[str, Any] = {"model_versions": [registered_version(version, name) for version, name in found]}
        return Response(answer | page_token(offset + limit, has_more=has_more))


class RegisteredVersionTagView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        version, _name = _changeable(self, fields)
        logged.set_label(version, text(fields, "key"), text(fields, "value", default=""), actor=self.caller.user)
        return Response({})

    def delete(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        version, _name = _changeable(self, fields)
        logged.set_label(version, text(fields, "key"), None, actor=self.caller.user)
        return Response({})


def _named(view: ProtocolView, fields: Fields) -> tuple[ModelVersion, str]:
    name = text(fields, "name")
    return version_of(view.caller, name, text(fields, "version")), name


def _changeable(view: ProtocolView, fields: Fields) -> tuple[ModelVersion, str]:
    """Raises NotAllowedError for pods of another job, and for who only reads."""
    version, name = _named(view, fields)
    require_own(view.caller, version)
    view.caller.require_writer(project_of(version))
    return version, name


def _again(version: ModelVersion) -> ModelVersion:
    rows = ModelVersion.objects.select_related("model__project__organisation", "created_by")
    found: ModelVersion = rows.prefetch_related("aliases").get(pk=version.pk)
    return found


def _archive(version: ModelVersion, *, is_archived: bool) -> None:
    with transaction.atomic():
        found = ModelVersion.objects.select_for_update(of=("self",)).get(pk=version.pk)
        origin = {**found.metadata.get("mlflow", {}), "is_archived": is_archived}
        if origin != {"is_archived": False}:
            ModelVersion.objects.filter(pk=version.pk).update(metadata={**found.metadata, "mlflow": origin})
