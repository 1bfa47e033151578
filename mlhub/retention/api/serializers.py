# SPDX-License-Identifier: Apache-2.0
"""Rules of retention as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.strict import FiniteFloatField, StrictSerializer
from mlhub.jobs.retention.retention_bounds import BoundSide, RuleOwner
from mlhub.jobs.retention.retention_rules import KIND_CHOICES, MOST_DAYS

MAX_VERSION = 2**31 - 1
OWNERS = [(owner.value, owner.value) for owner in RuleOwner]
SIDES = [(side.value, side.value) for side in BoundSide]
MEANINGS = {
    "logs": "Lines of attempts, from the attempt's end on.",
    "metrics": "Points of curves, from the job's end on; final metrics stay.",
    "usage": "Resource use of pods, from the attempt's end on.",
    "results": "Files of predictions, from the attempt's end on.",
    "checkpoints": "Checkpoints of jobs that succeeded or were cancelled, from the end on; pinned ones stay.",
    "failed_checkpoints": "Checkpoints of jobs that failed, and folders of notebooks; pinned ones stay.",
}


class NamedRowSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="Its id.")
    name = serializers.CharField(help_text="Its name.")


class StoredPartSerializer(serializers.Serializer[Any]):
    n_items = serializers.IntegerField(help_text="Lines, points, samples, files or checkpoints.")
    n_jobs = serializers.IntegerField(help_text="The jobs that they are of.")
    n_bytes = serializers.IntegerField(help_text="What they take, in bytes; of points and samples about so many.")


class RetentionBoundSerializer(serializers.Serializer[Any]):
    owner = serializers.ChoiceField(choices=OWNERS, help_text="Whose bound it is.")
    side = serializers.ChoiceField(
        choices=SIDES, help_text="at_least: nothing is removed before; at_most: all is removed after."
    )
    days = serializers.FloatField(help_text="The days of the bound.")


class EffectiveDaysSerializer(serializers.Serializer[Any]):
    days = serializers.FloatField(allow_null=True, help_text="Days that it is kept after the end; null: for good.")
    rule_of = serializers.ChoiceField(choices=OWNERS, help_text="Whose rule that is.")
    chosen_days = serializers.FloatField(allow_null=True, help_text="What the rule says, before the bounds.")
    clamped_by = RetentionBoundSerializer(
        allow_null=True, help_text="The bound that made other days of what the rule says; null: none."
    )


class RetentionKindSerializer(EffectiveDaysSerializer):
    kind = serializers.ChoiceField(choices=KIND_CHOICES, help_text="What is kept.")
    is_own = serializers.BooleanField(help_text="Whether the project has a rule of its own.")
    installation_days = serializers.FloatField(
        allow_null=True, help_text="Days that the installation keeps it where none were chosen; null: for good."
    )
    default_days = serializers.FloatField(
        allow_null=True, help_text="What would hold for the project without a rule of its own; null: for good."
    )
    default_of = serializers.ChoiceField(choices=OWNERS, help_text="Whose rule would hold then.")
    bounds = RetentionBoundSerializer(many=True, help_text="The bounds on what the project may choose.")
    stored = StoredPartSerializer(help_text="What there is of it; all checkpoints count under checkpoints.")
    due = StoredPartSerializer(help_text="What of it is past its days, and is removed within some minutes.")


class RetentionSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="The version of these rules, which rises with every change.")
    may_edit = serializers.BooleanField(help_text="Whether the caller may change them.")
    organisation = NamedRowSerializer(help_text="The organisation whose bounds hold.")
    kinds = RetentionKindSerializer(many=True, help_text="Each kind with its rule.")


def _version_field() -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=0,
        max_value=MAX_VERSION,
        required=False,
        help_text="The version that the caller saw; 409 with both versions when it is stale.",
    )


def _bound_field(meaning: str) -> FiniteFloatField:
    return FiniteFloatField(
        min_value=0, max_value=MOST_DAYS, allow_null=True, required=False, help_text=f"{meaning} null: none."
    )


def _days_field(kind: str) -> FiniteFloatField:
    return FiniteFloatField(
        min_value=0,
        max_value=MOST_DAYS,
        allow_null=True,
        required=False,
        help_text=f"{MEANINGS[kind]} Days; 0: for good; null: by default.",
    )


class RetentionDaysSerializer(StrictSerializer):
    """Days by kind; what is left out stays as it is."""

    logs = _days_field("logs")
    metrics = _days_field("metrics")
    usage = _days_field("usage")
    results = _days_field("results")
    checkpoints = _days_field("checkpoints")
    failed_checkpoints = _days_field("failed_checkpoints")


class RetentionChangeSerializer(RetentionDaysSerializer):
    version = _version_field()


class ReclaimableSerializer(StoredPartSerializer):
    kind = serializers.ChoiceField(choices=KIND_CHOICES, help_text="What would be removed.")


class OrganisationRuleFieldsSerializer(serializers.Serializer[Any]):
    least_days = serializers.FloatField(allow_null=True, help_text="Nothing is removed before; null: no bound.")
    most_days = serializers.FloatField(allow_null=True, help_text="All is removed after; null: no bound.")
    default_days = serializers.FloatField(
        allow_null=True, help_text="For projects that have no rule; 0: for good, null: as the installation has it."
    )


class OrganisationRetentionKindSerializer(OrganisationRuleFieldsSerializer):
    kind = serializers.ChoiceField(choices=KIND_CHOICES, help_text="What is kept.")
    installation_days = serializers.FloatField(
        allow_null=True, help_text="Days that the installation keeps it where none were chosen; null: for good."
    )
    installation_bounds = RetentionBoundSerializer(many=True, help_text="The installation's bounds on what is chosen.")


class ProjectDaysSerializer(EffectiveDaysSerializer):
    project = NamedRowSerializer(help_text="The project.")
    kind = serializers.ChoiceField(choices=KIND_CHOICES, help_text="What is kept.")


class OrganisationRetentionSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="The version of these rules, which rises with every change.")
    may_edit = serializers.BooleanField(help_text="Whether the caller may change them.")
    kinds = OrganisationRetentionKindSerializer(many=True, help_text="Each kind with the organisation's bounds.")
    clamped = ProjectDaysSerializer(many=True, help_text="The projects' rules of which a bound makes other days.")


class OrganisationRuleChangeSerializer(StrictSerializer):
    """What is left out stays as it is; null: says nothing."""

    least_days = _bound_field("At least so many days: no rule removes it before, nor may people delete it.")
    most_days = _bound_field("At most so many days: it is removed after.")
    default_days = _bound_field("For projects that have no rule of their own; 0: for good.")


class OrganisationRulesSerializer(StrictSerializer):
    """Bounds and defaults by kind; kinds that are left out stay as they are."""

    logs = OrganisationRuleChangeSerializer(required=False, help_text=MEANINGS["logs"])
    metrics = OrganisationRuleChangeSerializer(required=False, help_text=MEANINGS["metrics"])
    usage = OrganisationRuleChangeSerializer(required=False, help_text=MEANINGS["usage"])
    results = OrganisationRuleChangeSerializer(required=False, help_text=MEANINGS["results"])
    checkpoints = OrganisationRuleChangeSerializer(required=False, help_text=MEANINGS["checkpoints"])
    failed_checkpoints = OrganisationRuleChangeSerializer(required=False, help_text=MEANINGS["failed_checkpoints"])


class OrganisationRetentionChangeSerializer(OrganisationRulesSerializer):
    version = _version_field()


class RetentionEffectSerializer(StoredPartSerializer):
    project = NamedRowSerializer(help_text="The project.")
    kind = serializers.ChoiceField(choices=KIND_CHOICES, help_text="What is kept.")
    days_before = serializers.FloatField(allow_null=True, help_text="Days that it is kept now; null: for good.")
    days_after = serializers.FloatField(allow_null=True, help_text="Days that it would be kept; null: for good.")
    clamped_by = RetentionBoundSerializer(allow_null=True, help_text="The bound that would make these of its rule.")
