# SPDX-License-Identifier: Apache-2.0
"""What differs between two jobs: settings, and code as unified diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, read_query
from mlhub.jobs.models import Job
from mlhub.jobs.submission.differences import difference_of
from mlhub.registry.code_differences import FileChange
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class DifferenceQuerySerializer(StrictSerializer):
    to = serializers.UUIDField(help_text="The id of the job that this one is compared with.")


class SettingDifferenceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The setting, as in a request; in an object after a dot.")
    before = serializers.JSONField(allow_null=True, help_text="The value of this job; null: it does not have it.")
    after = serializers.JSONField(allow_null=True, help_text="The value of the other job; null: it does not have it.")


class FileDifferenceSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="The path of the file in the package.")
    change = serializers.ChoiceField(
        choices=[(change.value, change.value) for change in FileChange], help_text="What became of the file."
    )
    diff = serializers.CharField(help_text="A unified diff without headings; empty where there is none.")
    note = serializers.CharField(help_text="Why the diff is absent or not whole; empty otherwise.")


class CodeDifferenceSerializer(serializers.Serializer[Any]):
    files = FileDifferenceSerializer(many=True, help_text="The files that differ, by path; 100 at most.")
    n_left_out = serializers.IntegerField(help_text="How many further files differ.")
    note = serializers.CharField(help_text="Why code was not compared; empty when it was.")


class JobDifferenceSerializer(serializers.Serializer[Any]):
    settings = SettingDifferenceSerializer(many=True, help_text="The settings that differ.")
    code = CodeDifferenceSerializer(help_text="The files of code that differ.")


class DifferenceView(AddressedView):
    @extend_schema(parameters=[DifferenceQuerySerializer], responses=JobDifferenceSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """From this job to another: settings that differ, and diffs of the code's text files, of bounded size."""
        jobs = Job.objects.select_related(
            "dataset_version__dataset",
            "model_version__model",
            "model_version__package",
            "model_version__code_version__model",
            "model_version__code_version__package",
        )
        before = jobs.get_visible(request.user, self.kwargs["id"])
        after = jobs.get_visible(request.user, read_query(DifferenceQuerySerializer, request)["to"], field="to")
        return Response(JobDifferenceSerializer(difference_of(before, after, user=caller(request))).data)
