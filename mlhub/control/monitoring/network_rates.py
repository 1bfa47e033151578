# SPDX-License-Identifier: Apache-2.0
"""What one worker of each running job receives and sends a second: the bytes of a step, at the step's rate now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mlhub.control.monitoring.link_traffic import worker_step_s
from mlhub.jobs.live import NetworkRate
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import SpeedSample


def network_rates_of(attempts: Sequence[Attempt]) -> dict[UUID, NetworkRate]:
    """Returns the rate of each attempt whose pods counted bytes lately. One query."""
    samples = SpeedSample.objects.filter(attempt__in=[attempt.pk for attempt in attempts])
    counted = {pk: rest for pk, *rest in samples.values_list("attempt_id", "measured", "updated_at")}
    found: dict[UUID, NetworkRate] = {}
    for attempt in attempts:
        measured, updated_at = counted.get(attempt.pk, ({}, None))
        step_s = None if updated_at is None else worker_step_s(attempt, updated_at)
        if step_s is not None and {"bytes_received", "bytes_sent"} & set(measured):
            received, sent = _rate(measured, "bytes_received", step_s), _rate(measured, "bytes_sent", step_s)
            found[attempt.pk] = NetworkRate(received, sent)
    return found


def _rate(measured: Mapping[str, Any], name: str, step_s: float) -> float | None:
    return None if name not in measured else measured[name] / step_s
