# SPDX-License-Identifier: Apache-2.0
"""Logged models of MLflow 3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework.response import Response

from mlhub.core.errors import InvalidInputError, NotFoundError
from mlhub.tracking import artifacts, logged_models
from mlhub.tracking.api import bodies
from mlhub.tracking.api.bodies import Fields, integer, objects, text, texts
from mlhub.tracking.api.files import file_entry
from mlhub.tracking.api.pages import page_of, page_token
from mlhub.tracking.api.protocol import ProtocolView, fields_of, query_of
from mlhub.tracking.limits import MAX_KEY
from mlhub.tracking.logged_search import search_logged_models
from mlhub.tracking.model_descriptions import logged_model
from mlhub.tracking.search import MAX_EXPERIMENTS

if TYPE_CHECKING:
    from rest_framework.request import Request

SEARCH_PAGE = 100


class LoggedCreateView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        run_id = text(fields, "source_run_id", default="")
        found = logged_models.create_logged_model(
            self.caller,
            self.caller.project(text(fields, "experiment_id", default="0")),
            name=text(fields, "name", default="model", most=MAX_KEY),
            model_type=text(fields, "model_type", default="", most=MAX_KEY),
            run=self.caller.run(run_id) if run_id else None,
            params=_entries(fields, "params"),
            tags=_entries(fields, "tags"),
        )
        return Response({"model": logged_model(found)})


class LoggedModelView(ProtocolView):
    def get(self, request: Request, model_id: str, **_: Any) -> Response:  # noqa: ARG002 (DRF's signature)
        return Response({"model": logged_model(self.caller.logged_model(model_id))})

    def patch(self, request: Request, model_id: str, **_: Any) -> Response:
        status = fields_of(request).get("status")
        named = {1: "LOGGED_MODEL_PENDING", 2: "LOGGED_MODEL_READY", 3: "LOGGED_MODEL_UPLOAD_FAILED"}
        word = named.get(status, "") if isinstance(status, int) else text(fields_of(request), "status")
        found = logged_models.finalise(self.caller, self.caller.logged_model(model_id), word)
        return Response({"model": logged_model(found)})

    def delete(self, request: Request, model_id: str, **_: Any) -> Response:  # noqa: ARG002 (DRF's signature)
        logged_models.delete_logged_model(self.caller, self.caller.logged_model(model_id))
        return Response({})


class LoggedTagsView(ProtocolView):
    def patch(self, request: Request, model_id: str, **_: Any) -> Response:
        tags = _entries(fields_of(request), "tags")
        found = logged_models.set_tags(self.caller, self.caller.logged_model(model_id), tags)
        return Response({"model": logged_model(found)})


class LoggedTagView(ProtocolView):
    def delete(self, request: Request, model_id: str, key: str, **_: Any) -> Response:  # noqa: ARG002 (DRF's signature)
        if not logged_models.delete_tag(self.caller, self.caller.logged_model(model_id), key):
            raise NotFoundError(f"No tag with name: {key[:200]} in this logged model.")
        return Response({})


class LoggedParamsView(ProtocolView):
    def post(self, request: Request, model_id: str, **_: Any) -> Response:
        params = _entries(fields_of(request), "params")
        logged_models.log_params(self.caller, self.caller.logged_model(model_id), params)
        return Response({})


class LoggedFilesView(ProtocolView):
    def get(self, request: Request, model_id: str, **_: Any) -> Response:
        """Paths are relative to the model's own folder."""
        folder = text(query_of(request), "artifact_directory_path", default="").strip("/")
        target = self.caller.logged_model(model_id)
        found = [file_entry(one, folder=folder) for one in artifacts.listing(target, folder)]
        return Response({"root_uri": logged_model(target)["info"]["artifact_uri"], "files": found})


class LoggedSearchView(ProtocolView):
    """Newest first, unless orders are given."""

    required_scope = "read"

    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        offset, limit = page_of(fields, default=SEARCH_PAGE, most=SEARCH_PAGE)
        named = dict.fromkeys(texts(fields, "experiment_ids"))
        if len(named) > MAX_EXPERIMENTS:
            raise InvalidInputError(
                f"{len(named):,} experiments are named.",
                field="experiment_ids",
                remedy=f"Search at most {MAX_EXPERIMENTS} at once.",
            )
        if objects(fields, "datasets"):
            raise InvalidInputError("Logged models are not searched by dataset.", field="datasets")
        found, has_more = search_logged_models(
            self.caller,
            [self.caller.project(one) for one in named],
            text=text(fields, "filter", default=""),
            orders=[_order(one) for one in objects(fields, "order_by")],
            offset=offset,
            limit=limit,
        )
        answer: dict[str, Any] = {"models": [logged_model(one) for one in found]}
        return Response(answer | page_token(offset + limit, has_more=has_more))


class LoggedOutputsView(ProtocolView):
    """Models that a run made, each with the step at which it did."""

    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        models = [
            (self.caller.logged_model(text(one, "model_id")), integer(one, "step", default=0))
            for one in objects(fields, "models")
        ]
        logged_models.link_models(self.caller, self.caller.run(bodies.run_id(fields)), models, is_output=True)
        return Response({})


def _order(fields: Fields) -> tuple[str, bool]:
    """The column, and whether it rises."""
    return text(fields, "field_name"), fields.get("ascending") is not False


def _entries(fields: Fields, name: str) -> list[bodies.Entry]:
    return [bodies.entry(one) for one in objects(fields, name)]
