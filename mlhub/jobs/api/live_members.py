# SPDX-License-Identifier: Apache-2.0
"""The JSON of what lists of jobs say of running ones only where `fields` names it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.fields import SkipField

from mlhub.jobs.live import SlowdownBasis

ON_REQUEST = ["slowdown", "network"]


class JobSlowdownSerializer(serializers.Serializer[Any]):
    """How much slower a running job trains because of others on the same hardware."""

    ratio = serializers.FloatField(help_text="The time of a step next to the others, divided by that without.")
    basis = serializers.ChoiceField(
        choices=[str(basis) for basis in SlowdownBasis],
        help_text="measured: by its own pods; predicted: as jobs like it measured it next to such a job; alone: no "
        "other job uses its GPUs, nodes or links.",
    )
    resource = serializers.CharField(
        allow_blank=True, help_text="What they share: gpu, nic, node or uplink; empty where it is alone."
    )


class NetworkRateSerializer(serializers.Serializer[Any]):
    """What one worker of a running job receives and sends, as its pods count it."""

    received_bytes_per_s = serializers.FloatField(allow_null=True, help_text="Bytes a second; null: not measured.")
    sent_bytes_per_s = serializers.FloatField(allow_null=True, help_text="Bytes a second; null: not measured.")


def _absent() -> Any:
    raise SkipField


class LiveMembersSerializer(serializers.Serializer[Any]):
    """Absent unless note_live_members() was asked for them."""

    slowdown = JobSlowdownSerializer(
        source="live.slowdown",
        default=_absent,
        allow_null=True,
        help_text="What other jobs on its hardware cost it; null: it does not run, or it is not measured. Only in "
        "lists whose `fields` names it.",
    )
    network = NetworkRateSerializer(
        source="live.network",
        default=_absent,
        allow_null=True,
        help_text="What one of its workers receives and sends; null: it does not run, or it is not measured. Only in "
        "lists whose `fields` names it.",
    )
