# SPDX-License-Identifier: Apache-2.0
"""The JSON of a job's log."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.strict import StrictSerializer

MAX_SEQ = 2**63 - 1
MAX_PODS = 100_000
MAX_ATTEMPTS = 1_000_000
MAX_SEARCH = 500
MAX_SECTIONS = 1000


class LogLineSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="Its place in the job's stream.")
    at = serializers.DateTimeField(
        allow_null=True, help_text="When the platform received it; null for lines of before that was kept."
    )
    attempt_number = serializers.IntegerField(help_text="The number of the attempt that reported it.")
    role = serializers.CharField(help_text="The role of the pod.")
    index = serializers.IntegerField(help_text="The pod's index within its role.")
    number = serializers.IntegerField(help_text="The line's number within the pod's log.")
    text = serializers.CharField(help_text="The text.")
    n_dropped = serializers.IntegerField(
        help_text="0; of a mark in place of lines that were over a limit of the log: how many were dropped there."
    )
    is_error = serializers.BooleanField(
        help_text="Whether the line holds an error: a traceback, an exception, CUDA or NCCL, the level ERROR."
    )


class LogSerializer(serializers.Serializer[Any]):
    """Oldest first; the last line's seq is the next `after`, the first line's the next `before`."""

    lines = LogLineSerializer(many=True, help_text="The lines, oldest first.")
    is_end = serializers.BooleanField(help_text="Whether there are no more lines in the direction asked for.")
    n_found = serializers.IntegerField(
        allow_null=True, help_text="With `search`: how many lines of the whole log match; else null."
    )
    cursor = serializers.CharField(help_text="Where the job's stream continues after this.")


class LogFilterSerializer(StrictSerializer):
    role = serializers.ChoiceField(
        choices=["worker", "server"], required=False, help_text="Only lines of pods of this role."
    )
    index = serializers.IntegerField(
        min_value=0, max_value=MAX_PODS, required=False, help_text="Only lines of pods of this index."
    )
    attempt = serializers.IntegerField(
        min_value=1, max_value=MAX_ATTEMPTS, required=False, help_text="Only lines of the attempt of this number."
    )
    search = serializers.CharField(
        required=False,
        default="",
        max_length=MAX_SEARCH,
        trim_whitespace=False,
        help_text="Only lines that contain this text, in any case.",
    )
    is_regex = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Whether `search` is a regular expression of PostgreSQL; it is ended after 5 s.",
    )


class LogOverviewQuerySerializer(LogFilterSerializer):
    sections = serializers.IntegerField(
        min_value=1,
        max_value=MAX_SECTIONS,
        required=False,
        default=200,
        help_text="How many sections of equal length the log is divided into.",
    )


class LogOverviewSerializer(serializers.Serializer[Any]):
    """Section i of n holds the seqs from first_seq + i * (last_seq - first_seq + 1) / n on."""

    first_seq = serializers.IntegerField(
        allow_null=True, help_text="The seq of the log's first line; null of an empty log."
    )
    last_seq = serializers.IntegerField(
        allow_null=True, help_text="The seq of the log's last line; null of an empty log."
    )
    errors = serializers.ListField(  # type: ignore[assignment]  # a field, not what validation found
        child=serializers.IntegerField(), help_text="How many lines of each section hold an error, of these pods."
    )
    found = serializers.ListField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="With `search`: how many lines of each section match; else null.",
    )
    n_errors = serializers.IntegerField(help_text="How many lines of the pods asked for hold an error.")
    n_found = serializers.IntegerField(allow_null=True, help_text="With `search`: how many lines match; else null.")


class LogQuerySerializer(LogFilterSerializer):
    errors = serializers.BooleanField(  # type: ignore[assignment]  # as above
        required=False,
        default=False,
        help_text="Only lines that hold an error. With `after` and a `limit` of 1: the next error.",
    )
    after = serializers.IntegerField(
        min_value=0, max_value=MAX_SEQ, required=False, help_text="Only lines with a greater seq: the first ones."
    )
    before = serializers.IntegerField(
        min_value=0,
        max_value=MAX_SEQ,
        required=False,
        help_text="Only lines with a lesser seq: the last ones. Any number above all, such as 9007199254740991, gives"
        " the newest lines.",
    )
    at = serializers.DateTimeField(required=False, help_text="Only lines from this time on: the first ones.")
    limit = serializers.IntegerField(
        min_value=1,
        max_value=10_000,
        required=False,
        default=1000,
        help_text="The most lines of an answer. An answer of long lines has fewer: it stays below 200 kB.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in ("after", "before", "at") if name in attrs]
        if len(given) > 1:
            raise serializers.ValidationError({given[1]: f"Give {given[0]} or {given[1]}, not both."})
        return attrs
