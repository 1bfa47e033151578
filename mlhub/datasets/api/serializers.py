# SPDX-License-Identifier: Apache-2.0
"""The JSON of datasets and their versions."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.fields import TranslatedField
from mlhub.core.api.strict import FiniteFloatField, NameOrIdField, StrictSerializer
from mlhub.core.languages.catalogue import in_readers_language, is_translated
from mlhub.datasets.api.sources import SourceRequestSerializer, SourceSerializer
from mlhub.datasets.models import Dataset, DatasetVersion, VersionState, format_choices
from mlhub.runtime.model.builtin import example_kind, fitting_models
from mlhub.storage.api.serializers import QueuedMixin, UploadedFileSerializer
from mlhub.tenants.api.serializers import ProjectBriefSerializer, UserBriefSerializer
from mlhub.wire.formats import COLUMN_TYPES, MISSING_TREATMENTS
from mlhub.wire.number_formats import NUMBER_FORMATS

MAX_COLUMNS = 10_000
FILES_IN_LISTS = 10
SAID = {"columns": ("treatment",), "problems": ("message", "remedy")}  # members of statistics that are sentences


class VersionFileSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The file's name.")
    sha256 = serializers.CharField(help_text="The SHA-256 of its bytes.")
    size_bytes = serializers.IntegerField(help_text="The size in bytes.")


class RefusalSerializer(serializers.Serializer[Any]):
    """Why inspection refused a version, and what to do about it."""

    code = serializers.CharField(required=False, help_text="The kind of error, for programs.")
    field = serializers.CharField(allow_null=True, help_text="Which input it is about; null when it is none.")
    message = TranslatedField(help_text="What is wrong, for people.")
    remedy = TranslatedField(allow_blank=True, help_text="What to do about it; empty where nothing is known.")
    traceback = serializers.CharField(required=False, help_text="Of uploaded code that raised.")


class DatasetBriefSerializer(serializers.ModelSerializer[Dataset]):
    class Meta:
        model = Dataset
        fields = ["id", "name"]
        extra_kwargs = described(
            id="The dataset's id.",
            name="The dataset's name.",
        )


class DatasetVersionSerializer(QueuedMixin, serializers.ModelSerializer[DatasetVersion]):
    dataset = DatasetBriefSerializer(read_only=True, help_text="The dataset.")
    state = serializers.ChoiceField(
        choices=VersionState.choices,
        read_only=True,
        help_text="Whether the version is being fetched or inspected, ready, refused, or waits for a choice of its "
        "columns.",
    )
    format = serializers.ChoiceField(choices=format_choices(), read_only=True, help_text="The format of its files.")
    options = serializers.DictField(read_only=True, help_text="How the files are to be read, as given with the upload.")
    files = serializers.SerializerMethodField(help_text="The files; in lists the first ten.")
    n_files = serializers.SerializerMethodField(help_text="How many files it has.")
    source = SourceSerializer(  # type: ignore[assignment]  # the class takes declared fields out of its attributes
        read_only=True, allow_null=True, help_text="Where the file comes from; null for an uploaded one."
    )
    schema = serializers.DictField(read_only=True, help_text="What the readers found: counts, classes, shapes.")
    builtin_models = serializers.SerializerMethodField(
        help_text="The built-in models that can be trained on it, the one that is made for such examples first; empty "
        "before it is ready, and where its examples are of no known kind."
    )
    preview = serializers.SerializerMethodField(help_text="A small sample; null in lists, which would be too large.")
    statistics = serializers.SerializerMethodField(
        help_text="Distributions for people: of a table each column's type, role, missing values, histogram or most "
        "frequent values, and what is done with it; null in lists, which would be too large."
    )
    error = RefusalSerializer(
        read_only=True,
        allow_null=True,
        help_text="Why inspection refused it, or which columns it waits for; null otherwise.",
    )

    class Meta:
        model = DatasetVersion
        fields = [
            "id",
            "dataset",
            "number",
            "state",
            "format",
            "options",
            "files",
            "n_files",
            "source",
            "manifest_sha256",
            "size_bytes",
            "schema",
            "builtin_models",
            "preview",
            "statistics",
            "error",
            "queue",
            "created_at",
            "inspected_at",
        ]
        extra_kwargs = described(
            id="The version's id.",
            number="The version's number, from 1 on.",
            manifest_sha256="The SHA-256 of names and hashes of all files, and of the options; empty while fetching.",
            size_bytes="The size in bytes.",
            created_at="When it was created.",
            inspected_at="When inspection ended; null before.",
        )

    @extend_schema_field(VersionFileSerializer(many=True))
    def get_files(self, version: DatasetVersion) -> list[dict[str, Any]]:
        is_in_list = "preview" in version.get_deferred_fields()
        return version.files[:FILES_IN_LISTS] if is_in_list else version.files

    def get_n_files(self, version: DatasetVersion) -> int:
        return len(version.files)

    @extend_schema_field(serializers.ListField(child=serializers.CharField(help_text="A model's name.")))
    def get_builtin_models(self, version: DatasetVersion) -> list[str]:
        kind = example_kind(version.schema) if version.state == VersionState.READY else None
        return [] if kind is None else fitting_models(kind)

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_preview(self, version: DatasetVersion) -> dict[str, Any] | None:
        is_left_out = "preview" in version.get_deferred_fields()
        return None if is_left_out else version.preview

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_statistics(self, version: DatasetVersion) -> dict[str, Any] | None:
        is_left_out = "statistics" in version.get_deferred_fields()
        return None if is_left_out else _translated(version.statistics)


def _translated(statistics: dict[str, Any]) -> dict[str, Any]:
    """What is said of columns, in the language of the request."""
    if not is_translated():
        return statistics
    said = {
        list_name: [
            {name: in_readers_language(value) if name in names else value for name, value in one.items()}
            for one in statistics[list_name]
        ]
        for list_name, names in SAID.items()
        if list_name in statistics
    }
    return {**statistics, **said}


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    project = ProjectBriefSerializer(read_only=True, help_text="The project that it belongs to.")
    created_by = UserBriefSerializer(read_only=True, help_text="Who created it.")
    latest_version = serializers.SerializerMethodField(help_text="The newest version; null before the first upload.")

    class Meta:
        model = Dataset
        fields = ["id", "name", "description", "project", "created_by", "created_at", "latest_version"]
        extra_kwargs = described(
            id="The dataset's id.",
            name="The dataset's name, unique within its project.",
            description="What it is, in its owner's words.",
            created_at="When it was created.",
        )

    @extend_schema_field(DatasetVersionSerializer(allow_null=True))
    def get_latest_version(self, dataset: Any) -> dict[str, Any] | None:
        newest = dataset.latest_versions
        return DatasetVersionSerializer(newest[0], context=self.context).data if newest else None


class VersionOptionsSerializer(StrictSerializer):
    """How the file of a new version is to be read, wherever it comes from."""

    format = serializers.ChoiceField(
        choices=format_choices(), required=False, help_text="Guessed from the file when absent."
    )
    target = serializers.CharField(
        max_length=200,
        required=False,
        help_text="What is to be predicted: the column of a table, the field of JSON lines or of a shard's JSON files.",
    )
    text_column = serializers.CharField(
        max_length=200, required=False, help_text="Of texts in JSON lines: the field of the text; by default text."
    )
    ignore = serializers.ListField(
        child=serializers.CharField(max_length=200),
        max_length=MAX_COLUMNS,
        required=False,
        help_text="Columns that are not learned from, of tables; the field may be given several times.",
    )
    targets = serializers.ChoiceField(
        choices=["none"],
        required=False,
        help_text="none: there are none in the file; it is only to be predicted on. Not of text.",
    )
    image_size = serializers.IntegerField(
        min_value=8,
        max_value=1024,
        required=False,
        help_text="Of images: pixels of a side, to which they are scaled whenever they are read; by default at most "
        "128, scaled once.",
    )
    sample_rate = serializers.IntegerField(
        min_value=1_000,
        max_value=48_000,
        required=False,
        help_text="Of audio: samples a second, to which all clips are converted; by default that of most clips, at "
        "most 16,000.",
    )
    clip_s = FiniteFloatField(
        min_value=0.05,
        max_value=60.0,
        required=False,
        help_text="Of audio: seconds of an example. Longer clips are cut, shorter ones followed by silence; by default "
        "as long as the longest, at most 10.",
    )
    tokenizer = serializers.ChoiceField(
        choices=["byte", "word", "bpe"],
        required=False,
        help_text="Of text: what becomes one token; by default learned byte pairs.",
    )
    vocabulary_size = serializers.IntegerField(
        min_value=300,
        max_value=32_768,
        required=False,
        help_text="Of text in words or byte pairs; by default by its length.",
    )
    context_length = serializers.IntegerField(
        min_value=8,
        max_value=8192,
        required=False,
        help_text="Of text: tokens of an example; by default 64, and 128 of texts that are classified.",
    )
    documents = serializers.ChoiceField(
        choices=["whole", "paragraphs", "lines"],
        required=False,
        help_text="Of text: what a document is. They are packed end to end, with a token between them.",
    )


class VersionUploadSerializer(UploadedFileSerializer, VersionOptionsSerializer):
    file = serializers.FileField(max_length=255, required=False, help_text="The file, or a zip of several.")


class ColumnChoiceSerializer(StrictSerializer):
    """A choice of columns; what it leaves out is automatic."""

    target = serializers.CharField(
        max_length=200, required=False, help_text="The column to predict; by default target, label, class or y."
    )
    ignore = serializers.ListField(
        child=serializers.CharField(max_length=200, allow_blank=True, trim_whitespace=False),
        max_length=MAX_COLUMNS,
        required=False,
        help_text="Columns that are not learned from, besides those that are left out by default.",
    )
    types = serializers.DictField(
        child=serializers.ChoiceField(choices=COLUMN_TYPES),
        required=False,
        help_text="As what a column is used, by its name: number, category, date or text; or split: its rows with "
        "train or training are trained on, those with test, val, valid, validation or dev are held out. A column with "
        "a type is used even where it would be left out by default.",
    )
    numbers = serializers.DictField(
        child=serializers.ChoiceField(choices=NUMBER_FORMATS),
        required=False,
        help_text="Of CSV: how the numbers of a column are written, by its name, where what was found is not right. "
        "comma: 1.234,56 or 1 234,56; point: 1,234.56 or 1'234.56. By default as its values, the other columns and the "
        "delimiter show.",
    )
    missing = serializers.DictField(
        child=serializers.ChoiceField(choices=MISSING_TREATMENTS),
        required=False,
        help_text="What becomes of missing values of a column, by its name. indicator: filled with the mean or most "
        "frequent value of the training rows, and marked by an input; fill: filled only; drop: the row is left out.",
    )


class NewDatasetSerializer(StrictSerializer):
    name = serializers.CharField(max_length=100, help_text="The dataset's name, unique within its project.")
    project = NameOrIdField(help_text="The name or id of the project.")
    description = serializers.CharField(
        max_length=10_000, required=False, allow_blank=True, help_text="What it is, for people."
    )


class DatasetUploadSerializer(NewDatasetSerializer, VersionUploadSerializer):
    pass


class VersionReferenceSerializer(VersionOptionsSerializer):
    format = serializers.ChoiceField(
        choices=format_choices(), required=False, help_text="Guessed from the name in the address when absent."
    )
    source = SourceRequestSerializer(help_text="Where the file is.")  # type: ignore[assignment]  # likewise


class FileQuerySerializer(StrictSerializer):
    file = serializers.CharField(
        max_length=255,
        required=False,
        help_text="Of a version of many files: the name of the one; by default the first.",
    )


class DatasetReferenceSerializer(NewDatasetSerializer, VersionReferenceSerializer):
    pass
