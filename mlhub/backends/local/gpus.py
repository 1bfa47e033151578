# SPDX-License-Identifier: Apache-2.0
"""The GPUs of the local cluster's nodes: which pod gets which, how they are used, and which one may not be offered.

Before a gang gets a GPU, what the GPU holds is written to <home>/gpus/<uuid>.json. When no pod holds it any more, it is
offered again only once its memory and its processes are back to that; until then it has a problem, and after GRACE_S it
is quarantined, which people see.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from mlhub.backends.local.folders import GangFolder, read_json, write_json
from mlhub.backends.local.gpu_driver import GpuDriver, GpuReading
from mlhub.backends.local.quarantine import DAMAGES
from mlhub.backends.protocol import GpuStatus, ItemKind, NodeStatus, QuarantinedItem
from mlhub.wire.launch import LaunchSpec

GRACE_S = 10.0  # a driver takes a moment to free what a killed process held
TOLERANCE_BYTES = 256 * 2**20
COMMON_FILES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")


class LocalGpus:
    """uuids: the GPUs of each node that has some, in the order of its slots."""

    def __init__(
        self, home: Path, driver: GpuDriver, uuids: Mapping[str, Sequence[str]], *,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._folder, self._driver, self._clock = home / "gpus", driver, clock
        self._uuids = {node: tuple(own) for node, own in uuids.items()}
        self._quarantined: dict[str, QuarantinedItem] = {}
        self._folder.mkdir(parents=True, exist_ok=True)

    def visible(self, node: str, slots: Iterable[int]) -> str:
        """CUDA_VISIBLE_DEVICES of a pod: its own GPUs by UUID; "" hides all."""
        own = self._uuids.get(node, ())
        return ",".join(own[slot] for slot in slots) if own else ""

    def device_files(self, node: str, slots: Iterable[int]) -> list[str]:
        """The device files that a pod with these GPUs may open."""
        wanted = set(self.visible(node, slots).split(",")) - {""}
        minors = [reading.minor for reading in self._driver.read() if reading.uuid in wanted]
        return [*(f"/dev/nvidia{minor}" for minor in minors), *COMMON_FILES] if minors else []

    def reserve(self, spec: LaunchSpec, gangs: Iterable[GangFolder]) -> str:
        """Records what each GPU of a gang holds before it starts. Returns why one cannot be used, else ""."""
        wanted = {uuid for pod in spec.workers for uuid in self._of(pod.node, pod.slots)}
        held = self._held(gangs)
        for reading in self._driver.read():
            if reading.uuid not in wanted:
                continue
            problem = self._problem(reading, is_held=reading.uuid in held)
            if problem:
                return f"GPU {reading.uuid}: {problem}"
            if reading.uuid not in held:
                baseline = {"used_bytes": reading.used_bytes, "processes": sorted(reading.processes)}
                write_json(self._file(reading.uuid), baseline)
        return ""

    def status(self, node: NodeStatus, gangs: Iterable[GangFolder]) -> NodeStatus:
        """The node with its GPUs as they are now."""
        if node.name not in self._uuids:
            return node
        readings = {reading.uuid: reading for reading in self._driver.read()}
        held = self._held(gangs)
        found = []
        for index, uuid in enumerate(self._uuids[node.name]):
            reading = readings.get(uuid) or GpuReading(uuid, "", -1, 0, 0, error="The driver does not show it.")
            problem = self._problem(reading, is_held=uuid in held)
            self._follow(reading, problem, index=index, node=node.name)
            found.append(_status(reading, index=index, problem=problem))
        return _with_gpus(node, tuple(found))

    def quarantined(self) -> tuple[QuarantinedItem, ...]:
        """The GPUs that have had a problem for longer than GRACE_S."""
        now = self._clock()
        old = (item for item in self._quarantined.values() if now - item.since.timestamp() >= GRACE_S)
        return tuple(sorted(old, key=lambda item: item.name))

    def _problem(self, reading: GpuReading, *, is_held: bool) -> str:
        """Why it may not be offered. One that is clean again is forgotten."""
        if reading.error:
            return reading.error
        file = self._file(reading.uuid)
        before = None if is_held else _baseline(file)
        if before is None:
            return ""
        left = reading.processes - before[1]
        if left:
            return f"Processes that its last job did not find there run on it ({', '.join(map(str, sorted(left)))})."
        more = reading.used_bytes - before[0]
        if more > TOLERANCE_BYTES:
            return f"{more / 2**20:.0f} MiB are in use that were free before its last job."
        file.unlink(missing_ok=True)
        return ""

    def _follow(self, reading: GpuReading, problem: str, *, index: int, node: str) -> None:
        """Keeps since when a GPU has a problem."""
        if not problem:
            self._quarantined.pop(reading.uuid, None)
            return
        known = self._quarantined.get(reading.uuid)
        since = datetime.fromtimestamp(self._clock(), UTC) if known is None else known.since
        self._quarantined[reading.uuid] = QuarantinedItem(ItemKind.GPU, f"{node}/{index}", problem, since)

    def _held(self, gangs: Iterable[GangFolder]) -> set[str]:
        """The GPUs of pods that have not ended."""
        found: set[str] = set()
        for gang in gangs:
            try:
                launch = read_json(gang.launch)
                spec = None if launch is None else LaunchSpec.from_json(launch["spec"])
            except DAMAGES:
                continue  # it is ended by who observes it
            for pod in spec.workers if spec is not None else ():
                if not gang.pod(pod.role, pod.index).exit.exists():
                    found.update(self._of(pod.node, pod.slots))
        return found

    def _of(self, node: str, slots: Iterable[int]) -> list[str]:
        return [uuid for uuid in self.visible(node, slots).split(",") if uuid]

    def _file(self, uuid: str) -> Path:
        return self._folder / f"{uuid}.json"


def _baseline(file: Path) -> tuple[int, frozenset[int]] | None:
    """The memory and the processes of a GPU before its last gang; None: no gang had it since it was clean."""
    try:
        found = read_json(file)
        return None if found is None else (int(found["used_bytes"]), frozenset(map(int, found["processes"])))
    except DAMAGES:
        return (0, frozenset())  # then nothing may be left on it


def _status(reading: GpuReading, *, index: int, problem: str) -> GpuStatus:
    return GpuStatus(
        index=index,
        uuid=reading.uuid,
        name=reading.name,
        memory_bytes=reading.memory_bytes,
        used_bytes=reading.used_bytes,
        utilisation=reading.utilisation,
        temperature_c=reading.temperature_c,
        problem=problem,
    )


def _with_gpus(node: NodeStatus, gpus: tuple[GpuStatus, ...]) -> NodeStatus:
    memory_bytes = min((gpu.memory_bytes for gpu in gpus if gpu.memory_bytes), default=0)
    return replace(node, gpus=gpus, gpu_memory_bytes=memory_bytes)
