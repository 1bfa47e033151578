# SPDX-License-Identifier: Apache-2.0
"""The JSON of models and their versions."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.strict import NameOrIdField, StrictSerializer
from mlhub.core.api.tags import TagField
from mlhub.core.errors import DomainError
from mlhub.core.languages.catalogue import in_readers_language, is_translated
from mlhub.core.tags import MAX_TAGS
from mlhub.datasets.api.serializers import DatasetBriefSerializer, RefusalSerializer
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.environments.api.serializers import EnvironmentBriefSerializer
from mlhub.registry.annotations import MAX_NOTES_LENGTH
from mlhub.registry.export.archive import check_exportable
from mlhub.registry.models import Kind, Model, ModelFile, ModelVersion
from mlhub.registry.trained_on import name_of
from mlhub.storage.api.serializers import QueuedMixin, UploadedFileSerializer
from mlhub.tenants.api.serializers import ProjectBriefSerializer, UserBriefSerializer

UPLOADED_KINDS = [(kind.value, kind.label) for kind in Kind if kind is not Kind.MLFLOW]
SOURCES = [("upload", "upload"), ("training", "training"), ("logged", "logged")]


class ModelBriefSerializer(serializers.ModelSerializer[Model]):
    class Meta:
        model = Model
        fields = ["id", "name"]
        extra_kwargs = described(
            id="The model's id.",
            name="The model's name.",
        )


class DownloadsSerializer(serializers.Serializer[Any]):
    """Addresses of what can be downloaded."""

    weights = serializers.CharField(allow_null=True, help_text="The address of the weights; null: there are none.")
    package = serializers.CharField(allow_null=True, help_text="The address of the package; null: there is none.")
    metadata = serializers.CharField(allow_null=True, help_text="The address of the metadata; null: there is none.")
    export = serializers.CharField(
        allow_null=True,
        help_text="The address of the folder that predicts elsewhere; null: there is none.",
    )


class ContractField(serializers.DictField):
    """What validation found, with what the platform says of it in the language of the request."""

    def to_representation(self, value: dict[str, Any]) -> dict[str, Any]:
        found = super().to_representation(value)
        if not is_translated():
            return found
        said = {"description": in_readers_language(found["description"])} if "description" in found else {}
        hints = {"hints": [in_readers_language(hint) for hint in found["hints"]]} if "hints" in found else {}
        return {**found, **said, **hints}


class CodeVersionSerializer(serializers.ModelSerializer[ModelVersion]):
    """The code that weights were trained with."""

    model = ModelBriefSerializer(read_only=True, help_text="The model.")

    class Meta:
        model = ModelVersion
        fields = ["id", "number", "model"]
        extra_kwargs = described(
            id="The version's id.",
            number="The version's number, from 1 on.",
        )


class TrainedOnSerializer(serializers.ModelSerializer[DatasetVersion]):
    """The dataset version that weights were trained on."""

    dataset = DatasetBriefSerializer(read_only=True, help_text="The dataset.")

    class Meta:
        model = DatasetVersion
        fields = ["id", "number", "dataset"]
        extra_kwargs = described(
            id="The version's id.",
            number="The version's number, from 1 on.",
        )


class ModelVersionSerializer(QueuedMixin, serializers.ModelSerializer[ModelVersion]):
    model = ModelBriefSerializer(read_only=True, help_text="The model.")
    code_version = CodeVersionSerializer(
        read_only=True, allow_null=True, help_text="Of trained weights: the code; null otherwise."
    )
    dataset_version = TrainedOnSerializer(
        read_only=True, allow_null=True, help_text="Of trained weights: the dataset version; null otherwise."
    )
    trained_on_name = serializers.SerializerMethodField(
        help_text='Of trained weights: what their dataset version was called, such as "wine, version 1"; it stays when '
        "that is deleted. Empty otherwise."
    )
    source = serializers.ChoiceField(
        choices=SOURCES,
        read_only=True,
        help_text="Whether it was uploaded as code, made by training, or registered by a client of MLflow.",
    )  # type: ignore[assignment]
    kind = serializers.ChoiceField(choices=Kind.choices, read_only=True, help_text="How the code is written.")
    state = serializers.ChoiceField(
        choices=VersionState.choices,
        read_only=True,
        help_text="Whether the version is being inspected, ready or refused.",
    )
    contract = ContractField(
        read_only=True, help_text="What validation found: files, functions, a description, and hints."
    )
    metadata = serializers.DictField(
        read_only=True,
        help_text="Of trained weights: hyperparameters, classes and more. Of what a client of MLflow registered: "
        "where it is from, under mlflow.",
    )
    metrics = serializers.DictField(read_only=True, help_text="Final metrics of training, by name.")
    error = RefusalSerializer(read_only=True, allow_null=True, help_text="Why validation refused it; null otherwise.")
    environment = EnvironmentBriefSerializer(
        read_only=True, allow_null=True, help_text="The packages that the code requires; null when it requires none."
    )
    tags = serializers.ListField(child=serializers.CharField(), read_only=True, help_text="Its tags, by name.")
    aliases = serializers.SerializerMethodField(help_text="The names of the version, such as best.")
    downloads = serializers.SerializerMethodField(help_text="What can be downloaded.")

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
            "environment",
            "image",
            "queue",
            "code_version",
            "dataset_version",
            "trained_on_name",
            "job_id",
            "created_at",
            "tags",
            "aliases",
            "downloads",
        ]
        read_only_fields = fields
        extra_kwargs = described(
            id="The version's id.",
            number="The version's number, from 1 on.",
            entry="The module of a package, or the path of a script.",
            image="The container image that the code brings for the workers of its jobs; empty: none.",
            size_bytes="The size in bytes.",
            job_id="Of trained weights: the id of the job; null otherwise.",
            created_at="When it was created.",
        )

    @extend_schema_field(serializers.ListField(child=serializers.CharField(help_text="A name.")))
    def get_aliases(self, version: ModelVersion) -> list[str]:
        return sorted(alias.name for alias in version.aliases.all())

    def get_trained_on_name(self, version: ModelVersion) -> str:
        return name_of(version)

    @extend_schema_field(DownloadsSerializer)
    def get_downloads(self, version: ModelVersion) -> dict[str, str | None]:
        address = f"/api/v1/model-versions/{version.id}/download?what="
        can_export = version.weights_id is not None and version.kind != Kind.SCRIPT
        return {
            "weights": f"{address}weights" if version.weights_id else None,
            "package": f"{address}package" if version.package_id else None,
            "metadata": f"{address}metadata" if version.source == "training" else None,
            "export": f"/api/v1/models/{version.model_id}/versions/{version.number}/export" if can_export else None,
        }


class ModelVersionDetailSerializer(ModelVersionSerializer):
    """One version, with what people wrote about it."""

    notes = serializers.CharField(read_only=True, help_text="What people wrote about it, in Markdown.")
    not_exportable = serializers.SerializerMethodField(
        help_text="Why trained weights cannot leave as a folder that predicts; null where they can, and for code."
    )

    class Meta(ModelVersionSerializer.Meta):
        fields = [*ModelVersionSerializer.Meta.fields, "notes", "not_exportable"]
        read_only_fields = fields

    @extend_schema_field(RefusalSerializer(allow_null=True))
    def get_not_exportable(self, version: ModelVersion) -> dict[str, str | None] | None:
        if version.weights_id is None:
            return None
        try:
            check_exportable(version)
        except DomainError as error:
            found = {"code": error.code, "field": error.field, "message": error.message, "remedy": error.remedy or ""}
            return dict(RefusalSerializer(found).data)
        except OSError:  # the store has lost the code: the export says so
            return None
        return None


class ModelVersionChangeSerializer(StrictSerializer):
    tags = serializers.ListField(
        child=TagField(),
        max_length=MAX_TAGS,
        required=False,
        help_text="The version's tags, in place of those it has.",
    )
    notes = serializers.CharField(
        max_length=MAX_NOTES_LENGTH,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="What is to be known about the version, in Markdown.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError({"notes": "Give at least one field to change."})
        return attrs


class ModelSerializer(serializers.ModelSerializer[Model]):
    project = ProjectBriefSerializer(
        read_only=True, allow_null=True, help_text="The project that it belongs to; null: built-in."
    )
    created_by = UserBriefSerializer(read_only=True, allow_null=True, help_text="Who created it; null: built-in.")
    latest_version = serializers.SerializerMethodField(help_text="The newest version of the code.")
    n_trained = serializers.IntegerField(read_only=True, help_text="The number of versions with trained weights.")
    n_logged = serializers.IntegerField(
        read_only=True, help_text="The number of versions that clients of MLflow registered."
    )

    class Meta:
        model = Model
        fields = [
            "id",
            "name",
            "description",
            "project",
            "created_by",
            "created_at",
            "latest_version",
            "n_trained",
            "n_logged",
        ]
        extra_kwargs = described(
            id="The model's id.",
            name="The model's name, unique within its project.",
            description="What it is, in its owner's words.",
            created_at="When it was created.",
        )

    @extend_schema_field(ModelVersionSerializer(allow_null=True))
    def get_latest_version(self, model: Any) -> dict[str, Any] | None:
        newest = model.latest_versions
        return self._of_version.to_representation(newest[0]) if newest else None

    @cached_property
    def _of_version(self) -> ModelVersionSerializer:
        """One for all models of a list: to make its fields takes longer than to write a version."""
        return ModelVersionSerializer(context=self.context)


class ModelVersionUploadSerializer(UploadedFileSerializer):
    file = serializers.FileField(
        max_length=255,
        required=False,
        help_text="A zip of a package, a single Python file, or a model made elsewhere.",
    )
    kind = serializers.ChoiceField(
        choices=UPLOADED_KINDS,
        required=False,
        help_text="package or script; without it, by the code: a package where its entry defines build_model.",
    )
    entry = serializers.CharField(
        max_length=200,
        required=False,
        help_text="The module of a package (default: model, or the single file), or the path of a script. "
        "Without it and without a kind: model.py, train.py or main.py.",
    )


class ModelUploadSerializer(ModelVersionUploadSerializer):
    name = serializers.CharField(max_length=100, help_text="The model's name, unique within its project.")
    project = NameOrIdField(help_text="The name or id of the project.")
    description = serializers.CharField(
        max_length=10_000, required=False, allow_blank=True, help_text="What it is, for people."
    )


class ModelFileSerializer(serializers.ModelSerializer[ModelFile]):
    """A file of a version that a client of MLflow registered."""

    size_bytes = serializers.IntegerField(source="blob.size_bytes", read_only=True, help_text="Its size in bytes.")

    class Meta:
        model = ModelFile
        fields = ["path", "size_bytes"]
        extra_kwargs = described(path="Where it is among the version's files.")


class DownloadSerializer(StrictSerializer):
    what = serializers.ChoiceField(choices=["weights", "package", "metadata"], help_text="Which file.")
