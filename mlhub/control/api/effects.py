# SPDX-License-Identifier: Apache-2.0
"""The JSON of what a change would do to jobs, as simulations answer it; and whose effects a caller may see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from mlhub.control.models import DECISIONS
from mlhub.jobs.api.serializers import ExplanationSerializer
from mlhub.jobs.models import Job
from mlhub.tenants.models import User


class ProspectSerializer(serializers.Serializer[Any]):
    """What would become of a job. n_workers: 0 while it waits."""

    decision = serializers.ChoiceField(choices=DECISIONS, help_text="What would be decided.")
    mode = serializers.CharField(allow_blank=True, help_text="How workers exchange gradients; empty while it waits.")
    n_workers = serializers.IntegerField(help_text="The number of workers; 0 while it waits.")
    n_servers = serializers.IntegerField(help_text="The number of parameter servers.")
    start_at = serializers.DateTimeField(allow_null=True, help_text="When it is predicted to start; null when unknown.")
    finish_at = serializers.DateTimeField(
        allow_null=True, help_text="When it is predicted to finish (median); null when unknown."
    )
    finish_p90_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When it is predicted to have finished with a probability of 90 %; null when unknown.",
    )
    explanations = ExplanationSerializer(many=True, help_text="Why, in words and numbers.")


class EffectSerializer(serializers.Serializer[Any]):
    """deltas: seconds, positive = later."""

    id = serializers.UUIDField(help_text="The job's id.")
    name = serializers.CharField(help_text="The job's name.")
    owner = serializers.CharField(
        allow_blank=True, help_text="The user name of the person who submitted it; empty of a hypothetical job."
    )
    organisation = serializers.CharField(
        allow_blank=True, help_text="The name of its organisation; empty of a hypothetical job."
    )
    role = serializers.ChoiceField(
        choices=["submitted", "cancelled", "changed", "other"], help_text="What the question does with the job."
    )
    before = ProspectSerializer(
        allow_null=True, help_text="What is predicted as things are; null: the job does not exist yet."
    )
    after = ProspectSerializer(allow_null=True, help_text="What would be predicted; null: the job would not exist.")
    start_delta_s = serializers.FloatField(
        allow_null=True, help_text="By how many seconds it would start later; null when unknown."
    )
    finish_delta_s = serializers.FloatField(
        allow_null=True, help_text="By how many seconds it would finish later; null when unknown."
    )


def visible_among(user: User, ids: Sequence[str]) -> set[str]:
    """Those of the jobs that the user may see."""
    return {str(id) for id in Job.objects.visible_to(user).filter(id__in=ids).values_list("id", flat=True)}
