"""The JSON of models and their versions."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.strict import StrictSerializer
from mlhub.datasets.api.serializers import DatasetBriefSerializer, RefusalSerializer
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.registry.models import Kind, Model, ModelVersion
from mlhub.tenants.api.serializers import ProjectBriefSerializer, UserBriefSerializer

SOURCES = [("upload", "upload"), ("training", "training")]


class ModelBriefSerializer(serializers.ModelSerializer[Model]):
    class Meta:
        model = Model
        fields = ["id", "name"]


class DownloadsSerializer(serializers.Serializer[Any]):
    """Addresses of what can be downloaded."""

    weights = serializers.CharField(allow_null=True)
    package = serializers.CharField(allow_null=True)
    metadata = serializers.CharField(allow_null=True)


class CodeVersionSerializer(serializers.ModelSerializer[ModelVersion]):
    """The code that weights were trained with."""

    model = ModelBriefSerializer(read_only=True)

    class Meta:
        model = ModelVersion
        fields = ["id", "number", "model"]


class TrainedOnSerializer(serializers.ModelSerializer[DatasetVersion]):
    """The dataset version that weights were trained on."""

    dataset = DatasetBriefSerializer(read_only=True)

    class Meta:
        model = DatasetVersion
        fields = ["id", "number", "dataset"]


class ModelVersionSerializer(serializers.ModelSerializer[ModelVersion]):
    model = ModelBriefSerializer(read_only=True)
    code_version = CodeVersionSerializer(read_only=True, allow_null=True)
    dataset_version = TrainedOnSerializer(read_only=True, allow_null=True)
    source = serializers.ChoiceField(choices=SOURCES, read_only=True)  # type: ignore[assignment]
    kind = serializers.ChoiceField(choices=Kind.choices, read_only=True)
    state = serializers.ChoiceField(choices=VersionState.choices, read_only=True)
    contract = serializers.DictField(read_only=True, help_text="What validation found: functions, files.")
    metadata = serializers.DictField(read_only=True)
    metrics = serializers.DictField(read_only=True, help_text="Final metrics of training, by name.")
    error = RefusalSerializer(read_only=True, allow_null=True)
    downloads = serializers.SerializerMethodField()

    class Meta:
        model = ModelVersion
        fields = [
            "id",
            "model",
            "number",
            "source",
            "kind",
            "entry",
            "state",
            "size_bytes",
            "contract",
            "metadata",
            "metrics",
            "error",
            "code_version",
            "dataset_version",
            "job_id",
            "created_at",
            "downloads",
        ]
        read_only_fields = fields

    @extend_schema_field(DownloadsSerializer)
    def get_downloads(self, version: ModelVersion) -> dict[str, str | None]:
        address = f"/api/v1/model-versions/{version.id}/download?what="
        return {
            "weights": f"{address}weights" if version.weights_id else None,
            "package": f"{address}package" if version.package_id else None,
            "metadata": f"{address}metadata" if version.source == "training" else None,
        }


class ModelSerializer(serializers.ModelSerializer[Model]):
    project = ProjectBriefSerializer(read_only=True, allow_null=True)
    created_by = UserBriefSerializer(read_only=True, allow_null=True)
    latest_version = serializers.SerializerMethodField(help_text="The newest version of the code.")
    n_trained = serializers.IntegerField(read_only=True)

    class Meta:
        model = Model
        fields = ["id", "name", "description", "project", "created_by", "created_at", "latest_version", "n_trained"]

    @extend_schema_field(ModelVersionSerializer(allow_null=True))
    def get_latest_version(self, model: Any) -> dict[str, Any] | None:
        newest = model.latest_versions
        return ModelVersionSerializer(newest[0]).data if newest else None


class ModelVersionUploadSerializer(StrictSerializer):
    file = serializers.FileField(
        max_length=255, help_text="A zip of a package, a single Python file, or a model made elsewhere."
    )
    kind = serializers.ChoiceField(
        choices=Kind.choices, required=False, default=Kind.PACKAGE.value, help_text="package or script."
    )
    entry = serializers.CharField(
        max_length=200,
        required=False,
        help_text="The module of a package (default: model, or the single file), or the path of a script.",
    )


class ModelUploadSerializer(ModelVersionUploadSerializer):
    name = serializers.CharField(max_length=100)
    project = serializers.UUIDField()
    description = serializers.CharField(max_length=10_000, required=False, allow_blank=True)


class DownloadSerializer(StrictSerializer):
    what = serializers.ChoiceField(choices=["weights", "package", "metadata"])
