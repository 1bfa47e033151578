# SPDX-License-Identifier: Apache-2.0
"""What trained versions are used for outside of jobs: exports, and predictions of single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from mlhub.core.api.parsers import RowsJSONParser
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, AnyAccept, read_body
from mlhub.core.problems import problem
from mlhub.registry import row_predictions
from mlhub.registry.export.archive import check_bytes, model_folder, zipped
from mlhub.registry.models import ModelVersion
from mlhub.storage.downloads import stream_response
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request

USED = (
    "model__project__organisation", "weights", "package", "environment__layer", "dataset_version",
    "code_version__package", "code_version__environment__layer",
)  # fmt: skip
MODEL = OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH, description="The id of the model.")
VERSION = OpenApiParameter(
    "version", OpenApiTypes.STR, OpenApiParameter.PATH, description="The number of the version, or its alias with @."
)


def trained_version(request: Request, model_id: UUID, version: str) -> ModelVersion:
    """Raises NotFoundError for a version that is not there or that the caller may not see."""
    found: ModelVersion = ModelVersion.objects.select_related(*USED).get_of_model(request.user, model_id, version)
    return found


class ExportView(AddressedView):
    content_negotiation_class = AnyAccept

    @extend_schema(parameters=[MODEL, VERSION], responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, id: UUID, version: str, **_: Any) -> HttpResponseBase:
        """A zip with a folder that predicts elsewhere with torch and NumPy: weights, code, preprocessing, `predict.py`.

        409 and 422 with the code `not_exportable` say why a version has none.
        """
        folder = model_folder(trained_version(request, id, version))
        try:
            check_bytes(folder)
        except FileNotFoundError:
            return problem(500, "bytes_lost", "The bytes of this model are gone from the store. Ask an administrator.")
        filename = f"{folder.name}.zip"
        return stream_response(
            request._request, zipped(folder), filename=filename, content_type="application/octet-stream"
        )


class RowsSerializer(StrictSerializer):
    rows = serializers.ListField(
        child=serializers.JSONField(help_text="A row."),
        min_length=1,
        max_length=row_predictions.MAX_ROWS,
        help_text='As the model takes them: objects of columns, {"x": numbers}, {"image": base64}, {"audio": base64} '
        'or {"text": string}.',
    )


class PredictionsSerializer(serializers.Serializer[Any]):
    """The answers of a trained model, in the order of the rows."""

    predictions = serializers.ListField(
        child=serializers.DictField(help_text="prediction, and of a classification probabilities by class."),
        help_text="A prediction for each row.",
    )


class PredictView(AddressedView):
    parser_classes = [RowsJSONParser]
    rate_limit_budgets = {"POST": "submissions"}

    @extend_schema(parameters=[MODEL, VERSION], request=RowsSerializer, responses={200: PredictionsSerializer})
    def post(self, request: Request, id: UUID, version: str, **_: Any) -> Response:
        """Predicts some rows at once, to try a model out; whole datasets are predicted by jobs.

        422 names the column that is wrong; 409 and 422 say why a version cannot be tried out.
        """
        chosen = trained_version(request, id, version)
        return _predictions(request, chosen, read_body(RowsSerializer, request)["rows"])


class PredictNewestView(AddressedView):
    parser_classes = [RowsJSONParser]
    rate_limit_budgets = {"POST": "submissions"}

    @extend_schema(parameters=[MODEL], request=RowsSerializer, responses={200: PredictionsSerializer})
    def post(self, request: Request, id: UUID, **_: Any) -> Response:
        """Predicts some rows at once by the newest version of a model that a job has trained.

        404 says that there is none; 422 names the column that is wrong.
        """
        rows = read_body(RowsSerializer, request)["rows"]
        newest = ModelVersion.objects.select_related(*USED).get_newest_trained(request.user, id)
        return _predictions(request, newest, rows)


def _predictions(request: Request, version: ModelVersion, rows: list[Any]) -> Response:
    return Response({"predictions": row_predictions.predict_rows(version, rows, actor=caller(request))})
