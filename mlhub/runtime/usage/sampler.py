# SPDX-License-Identifier: Apache-2.0
"""Samples what a pod uses of its machine into a file that the launcher ships (wire/resource_usage.py)."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from mlhub.runtime.usage import gpu
from mlhub.runtime.usage.network import recorded_bytes
from mlhub.runtime.usage.processes import ProcessUse, use_of
from mlhub.wire.resource_usage import MAX_SAMPLES, ResourceUsage, interval_s


@dataclass(frozen=True)
class Reading:
    """Counters at one moment. at: of time.monotonic(). traffic: bytes sent and received, None: not measured."""

    at: float
    processes: ProcessUse
    traffic: tuple[int, int] | None

    def since(self, before: Reading) -> ResourceUsage:
        """The means between two readings. A counter that has become less is of a process that took another's place."""
        passed_s = max(1e-6, self.at - before.at)
        now, then = self.processes, before.processes
        rates = {
            "cpus": now.cpu_s - then.cpu_s,
            "read_bytes_per_s": now.read_bytes - then.read_bytes,
            "written_bytes_per_s": now.written_bytes - then.written_bytes,
        }
        if self.traffic is not None:
            sent, received = before.traffic or (0, 0)
            rates |= {"sent_bytes_per_s": self.traffic[0] - sent, "received_bytes_per_s": self.traffic[1] - received}
        values = {name: round(max(0.0, value) / passed_s, 3) for name, value in rates.items()}
        values["cpus"] = min(values["cpus"], float(os.cpu_count() or 1))  # a process that ended within the reading
        values["memory_bytes"] = now.memory_bytes
        used = gpu.use()
        if used is not None:
            values |= {"gpu_utilisation": used.utilisation, "gpu_memory_bytes": used.memory_bytes}
        return ResourceUsage(at=round(time.time(), 3), interval_s=round(passed_s, 3), values=values)


class UsageSampler(threading.Thread):
    """Samples this process and all that it starts. path: where the samples go; traffic: where the training process
    records what it sends and receives."""

    def __init__(self, path: Path, *, traffic: Path) -> None:
        super().__init__(name="usage", daemon=True)
        self._path, self._traffic = path, traffic
        self._is_over = threading.Event()

    def run(self) -> None:
        last = self._read()
        for n_samples in range(MAX_SAMPLES):
            is_over = self._is_over.wait(interval_s(n_samples))
            reading = self._read()
            sample = reading.since(last)
            if is_over:  # what the processes that have ended held and read is unknown by now
                sample = replace(sample, values={"cpus": sample.values["cpus"]})
            if not self._append(sample) or is_over:
                return
            last = reading

    def end(self) -> None:
        """Takes the last sample; the training process has ended."""
        self._is_over.set()
        self.join()

    def _read(self) -> Reading:
        return Reading(time.monotonic(), use_of(os.getpid()), recorded_bytes(self._traffic))

    def _append(self, sample: ResourceUsage) -> bool:
        """Whether there was room for it."""
        try:
            with self._path.open("a") as file:
                file.write(json.dumps(sample.to_dict()) + "\n")
        except OSError:
            return False
        return True
