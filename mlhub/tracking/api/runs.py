# SPDX-License-Identifier: Apache-2.0
"""Runs: made, read, searched, ended, deleted; and what is logged to them."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING, Any

from rest_framework.response import Response

from mlhub.core.errors import InvalidInputError, NotFoundError
from mlhub.jobs.models import Job
from mlhub.tracking import actions, descriptions, job_runs, points
from mlhub.tracking.api import bodies
from mlhub.tracking.api.bodies import Fields, integer, objects, run_id, text, texts
from mlhub.tracking.api.pages import page_of, page_token
from mlhub.tracking.api.protocol import ProtocolView, fields_of, query_of
from mlhub.tracking.limits import MAX_KEY, LogBatch, LoggedPoint
from mlhub.tracking.logged_models import link_models, note_metrics
from mlhub.tracking.models import RunDataset
from mlhub.tracking.search import ACTIVE_ONLY, MAX_EXPERIMENTS, MAX_PAGE, SEARCH_PAGE, search_runs

if TYPE_CHECKING:
    from rest_framework.request import Request

HISTORY_PAGE = 25_000
MAX_MODEL_JSON = 500_000
WORDS = ("able", "calm", "deep", "fair", "keen", "late", "pale", "rare", "vast", "warm")
NOUNS = ("arch", "bird", "cove", "dune", "fern", "gull", "hill", "lake", "moss", "pine")


class CreateView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        tags = [bodies.entry(one) for one in objects(fields, "tags")]
        named = next((tag.value for tag in tags if tag.key == actions.NAME_TAG), "")
        run = actions.create_run(
            self.caller,
            self.caller.project(text(fields, "experiment_id", default="0")),
            name=text(fields, "run_name", default=named or _any_name(), most=MAX_KEY),
            started_ms=integer(fields, "start_time", default=int(time.time() * 1000)),
            tags=tags,
        )
        return Response({"run": descriptions.run(run)})


class GetView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        return Response({"run": descriptions.run(self.caller.run(run_id(query_of(request))))})


class UpdateView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        target = self.caller.run(run_id(fields))
        actions.update_run(
            self.caller,
            target,
            status=text(fields, "status", default=""),
            ended_ms=integer(fields, "end_time") if fields.get("end_time") is not None else None,
            name=text(fields, "run_name", default="", most=MAX_KEY),
        )
        return Response({"run_info": descriptions.run_info(target)})


class DeleteView(ProtocolView):
    is_deleted = True

    def post(self, request: Request, **_: Any) -> Response:
        actions.set_deleted(self.caller, self.caller.run(run_id(fields_of(request))), is_deleted=self.is_deleted)
        return Response({})


class RestoreView(DeleteView):
    is_deleted = False


class SearchView(ProtocolView):
    """Runs and jobs of the projects that are named, newest first."""

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
        projects = [self.caller.project(one) for one in named]
        found, has_more = search_runs(
            self.caller,
            projects,
            text=text(fields, "filter", default=""),
            orders=texts(fields, "order_by"),
            view=text(fields, "run_view_type", default=ACTIVE_ONLY),
            offset=offset,
            limit=limit,
        )
        return Response({"runs": descriptions.runs(found)} | page_token(offset + limit, has_more=has_more))


class LogView(ProtocolView):
    """What logs something: each sub-class reads its own body."""

    def post(self, request: Request, **_: Any) -> Response:
        fields, caller = fields_of(request), self.caller
        target = caller.run(run_id(fields))
        actions.log_batch(caller, target, self.batch(fields))
        if about := self.about_models(fields):
            note_metrics(caller, target, about)
        return Response({})

    def batch(self, fields: Fields) -> LogBatch:
        return bodies.batch(fields)

    def about_models(self, fields: Fields) -> dict[str, list[LoggedPoint]]:
        """Metrics that say which logged model they are of, by its id."""
        return bodies.points_of_models(objects(fields, "metrics"))


class LogMetricView(LogView):
    def batch(self, fields: Fields) -> LogBatch:
        return LogBatch(points=[bodies.point(fields)])

    def about_models(self, fields: Fields) -> dict[str, list[LoggedPoint]]:
        return bodies.points_of_models([fields])


class LogParameterView(LogView):
    def batch(self, fields: Fields) -> LogBatch:
        return LogBatch(params=[bodies.entry(fields)])


class SetTagView(LogView):
    def batch(self, fields: Fields) -> LogBatch:
        return LogBatch(tags=[bodies.entry(fields)])


class DeleteTagView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        key = text(fields, "key")
        if not actions.delete_tag(self.caller, self.caller.run(run_id(fields)), key):
            raise NotFoundError(f"No tag with name: {key[:200]} in this run.")
        return Response({})


class LogInputsView(ProtocolView):
    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        datasets = [_dataset(one) for one in objects(fields, "datasets")]
        target = self.caller.run(run_id(fields))
        actions.log_datasets(self.caller, target, datasets)
        models = [(self.caller.logged_model(text(one, "model_id")), 0) for one in objects(fields, "models")]
        link_models(self.caller, target, models, is_output=False)
        return Response({})


class LogModelView(ProtocolView):
    """What clients before MLflow 3 say of a model among a run's artifacts."""

    def post(self, request: Request, **_: Any) -> Response:
        fields = fields_of(request)
        try:
            about = json.loads(text(fields, "model_json", most=MAX_MODEL_JSON))
        except ValueError:
            about = None
        if not isinstance(about, dict):
            raise InvalidInputError("model_json is no JSON object.", field="model_json")
        actions.note_logged_model(self.caller, self.caller.run(run_id(fields)), about)
        return Response({})


class HistoryView(ProtocolView):
    def get(self, request: Request, **_: Any) -> Response:
        fields = query_of(request)
        offset, limit = page_of(fields, default=HISTORY_PAGE, most=MAX_PAGE)
        key, target = text(fields, "metric_key"), self.caller.run(run_id(fields))
        if isinstance(target, Job):
            rows = job_runs.history(target, key, offset=offset, limit=limit + 1)
        else:
            rows = points.history(target.pk, key, offset=offset, limit=limit + 1)
        answer = {"metrics": descriptions.points(key, rows[:limit])}
        return Response(answer | page_token(offset + limit, has_more=len(rows) > limit))


def _dataset(fields: Fields) -> RunDataset:
    about = fields.get("dataset")
    about = about if isinstance(about, dict) else {}
    described = {
        name: text(about, name, default="", most=65_535) for name in ("source_type", "source", "schema", "profile")
    }
    tags = [bodies.entry(one) for one in objects(fields, "tags")]
    LogBatch(tags=tags).check()
    return RunDataset(
        name=text(about, "name", most=500),
        digest=text(about, "digest", most=36),
        description={name: value for name, value in described.items() if value},
        tags={one.key: one.value for one in tags},
    )


def _any_name() -> str:
    """A name for a run that was given none."""
    return f"{random.choice(WORDS)}-{random.choice(NOUNS)}-{random.randrange(1000)}"
