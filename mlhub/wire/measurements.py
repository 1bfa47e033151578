# SPDX-License-Identifier: Apache-2.0
"""What a pod measures besides the times of a step. To add a measurement: a line here, and the code that measures it.

Progress reports carry values by these names; the platform stores them with the attempt's speed, and the API and the
job's page show each with the title, unit and explanation that stand here. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class MeasurementUnit(StrEnum):
    """How a page writes the value. SHARE: from 0 to 1."""

    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes_per_second"
    EXAMPLES = "examples"
    SHARE = "share"
    SECONDS = "seconds"
    COUNT = "count"


@dataclass(frozen=True)
class Measurement:
    """title and about are shown to people; maximum: what no honest pod can exceed, None: no bound is known."""

    title: str
    unit: MeasurementUnit
    about: str
    maximum: float | None = None

    def accepts(self, value: Any) -> bool:
        """Whether the value is a finite number within the bounds."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        return 0 <= value <= (math.inf if self.maximum is None else self.maximum)


_PB = 2.0**50

MEASUREMENTS: Mapping[str, Measurement] = {
    "noise_scale": Measurement(
        "Gradient noise scale",
        MeasurementUnit.EXAMPLES,
        "Up to about this batch size larger batches save steps; beyond it they only cost more.",
    ),
    "gpu_utilisation": Measurement(
        "GPU utilisation",
        MeasurementUnit.SHARE,
        "The part of the time in which the GPU computed anything.",
        maximum=1.0,
    ),
    "gpu_memory_bytes": Measurement(
        "GPU memory", MeasurementUnit.BYTES, "Memory in use on the worker's GPU.", maximum=_PB
    ),
    "memory_bandwidth": Measurement(
        "GPU memory activity",
        MeasurementUnit.SHARE,
        "The part of the time in which the GPU's memory was read or written.",
        maximum=1.0,
    ),
    "cpus_used": Measurement(
        "CPUs used",
        MeasurementUnit.COUNT,
        "CPUs that one worker kept busy on average.",
        maximum=65_536,
    ),
    "peak_memory_bytes": Measurement(
        "Peak memory", MeasurementUnit.BYTES, "The most memory that one worker needed so far.", maximum=_PB
    ),
    "bytes_sent": Measurement(
        "Sent per step",
        MeasurementUnit.BYTES,
        "What one worker sent, as the kernel counted its connections.",
        maximum=_PB,
    ),
    "bytes_received": Measurement(
        "Received per step",
        MeasurementUnit.BYTES,
        "What one worker received, as the kernel counted its connections.",
        maximum=_PB,
    ),
}


def known(values: Mapping[str, Any]) -> dict[str, float]:
    """The measurements among the values, without those that are unknown here (a newer pod's) or None (not measured)."""
    return {name: value for name, value in values.items() if name in MEASUREMENTS and value is not None}
