# SPDX-License-Identifier: Apache-2.0
"""What a pod uses of its machine over time. To add a resource: a line here, and the code that measures it.

Pods send samples as lines of the stream "usage" (mlhub/wire/report.py), each of one interval:
    {"at": 1790000000.5, "interval_s": 2.0, "values": {"cpus": 1.02, "memory_bytes": 514000000}}
at: the interval's end, in seconds since the epoch on the pod's clock. A resource that could not be measured is absent.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mlhub.wire.measurements import Measurement, MeasurementUnit

# samples of one pod: 300 of each interval, from 2 s on, each interval twice the one before; a year of them is stored
FIRST_INTERVAL_S = 2.0
SAMPLES_PER_INTERVAL = 300
MAX_SAMPLES = 6000

_PB = 2.0**50

RESOURCES: Mapping[str, Measurement] = {
    "cpus": Measurement(
        "CPUs", MeasurementUnit.COUNT, "CPUs that the pod's processes kept busy on average.", maximum=65_536
    ),
    "memory_bytes": Measurement(
        "Memory",
        MeasurementUnit.BYTES,
        "Memory of the pod's processes; what several of them share counts once.",
        maximum=_PB,
    ),
    "gpu_utilisation": Measurement(
        "GPU utilisation",
        MeasurementUnit.SHARE,
        "The part of the time in which the pod's GPU computed anything.",
        maximum=1.0,
    ),
    "gpu_memory_bytes": Measurement(
        "GPU memory", MeasurementUnit.BYTES, "Memory in use on the pod's GPU.", maximum=_PB
    ),
    "sent_bytes_per_s": Measurement(
        "Network, sent",
        MeasurementUnit.BYTES_PER_SECOND,
        "What the pod sent over TCP, as the kernel counted its training process's connections.",
        maximum=_PB,
    ),
    "received_bytes_per_s": Measurement(
        "Network, received",
        MeasurementUnit.BYTES_PER_SECOND,
        "What the pod received over TCP, as the kernel counted its training process's connections.",
        maximum=_PB,
    ),
    "read_bytes_per_s": Measurement(
        "Disk, read",
        MeasurementUnit.BYTES_PER_SECOND,
        "What the pod's processes read from disks; what the machine had in memory does not count.",
        maximum=_PB,
    ),
    "written_bytes_per_s": Measurement(
        "Disk, written",
        MeasurementUnit.BYTES_PER_SECOND,
        "What the pod's processes wrote to disks.",
        maximum=_PB,
    ),
}


@dataclass(frozen=True)
class ResourceUsage:
    """Means over interval_s seconds; memory as it was at the end."""

    at: float
    interval_s: float
    values: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def interval_s(n_samples: int) -> float:
    """Seconds until the next sample of a pod that has sent so many."""
    return float(FIRST_INTERVAL_S * 2 ** (n_samples // SAMPLES_PER_INTERVAL))


def accepted(values: Mapping[str, Any]) -> dict[str, float]:
    """The values that are of a resource known here and can be true."""
    return {name: value for name, value in values.items() if name in RESOURCES and RESOURCES[name].accepts(value)}
