# SPDX-License-Identifier: Apache-2.0
"""The JSON of the strategies that a job may name."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.fields import TranslatedField
from mlhub.runtime.strategies.catalogue.schema import STRATEGIES as CATALOGUE

STRATEGIES = [(name, name) for name in CATALOGUE]


class StrategyParameterSerializer(serializers.Serializer[Any]):
    """Bounds are allowed themselves, but for a minimum that a value must be above."""

    name = serializers.CharField(help_text="The parameter's name.")
    kind = serializers.CharField(help_text="int, float, bool or str.")
    default = serializers.JSONField(help_text="Its value when it is not given.")
    minimum = serializers.FloatField(allow_null=True, help_text="The least value; null: no bound.")
    maximum = serializers.FloatField(allow_null=True, help_text="The greatest value; null: no bound.")
    choices = serializers.ListField(child=serializers.CharField(), help_text="Of a str; else empty.")


class StrategySerializer(serializers.Serializer[Any]):
    """mode: what it runs on; null: either. is_resizable: otherwise min_workers and max_workers must be the same."""

    name = serializers.ChoiceField(choices=STRATEGIES, help_text="What a job names it by.")
    about = TranslatedField(help_text="What it does.")
    mode = serializers.CharField(allow_null=True, help_text="The mode that it runs on; null: either.")
    is_resizable = serializers.BooleanField(help_text="Whether the number of workers may change while it runs.")
    other_names = serializers.ListField(child=serializers.CharField(), help_text="Other frameworks' words for it.")
    parameters = StrategyParameterSerializer(many=True, help_text="Its parameters.")
