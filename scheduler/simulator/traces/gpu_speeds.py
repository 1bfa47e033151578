# SPDX-License-Identifier: Apache-2.0
"""How fast GPU types are relative to the one on which an environment's times were measured, by job type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scheduler.simulator.traces.trace import BadInput, Row, Rows

COLUMNS = ("gpu_type", "model", "speed")
LARGEST = 1e6


@dataclass(frozen=True)
class GpuSpeeds:
    """Holds speeds by (GPU type, model), 1 for the type that was measured; the model "" stands for all others.

    name: of the file, for errors.
    """

    name: str
    speeds: Mapping[tuple[str, str], float]

    def of(self, gpu_type: str, model: str) -> float:
        """Returns how many times faster a pass of the model is on that type."""
        found = self.speeds.get((gpu_type, model), self.speeds.get((gpu_type, "")))
        if found is None:
            raise BadInput(self.name, None, f"it has no speed of {gpu_type!r} for {model!r}; add a row, or one for all")
        return found

    def check(self, gpu_types: Iterable[str], models: Iterable[str]) -> None:
        """Checks the speeds. Raises BadInput for a model that has none on one of the types."""
        models = sorted(set(models))
        for gpu_type in sorted(set(gpu_types)):
            for model in models:
                self.of(gpu_type, model)


def read_gpu_speeds(text: str, *, name: str) -> GpuSpeeds:
    """Returns the speeds of a CSV with columns gpu_type, model and speed; an empty model is any. Raises BadInput."""
    found: dict[tuple[str, str], float] = {}
    for row in Rows(text, name=name, columns=COLUMNS):
        key = row.text("gpu_type"), row.text("model")
        if not key[0]:
            raise BadInput(name, row.number_in_file, "gpu_type is empty; name the type as the cluster file does")
        if key in found:
            raise BadInput(name, row.number_in_file, f"{key[0]!r} has two speeds for {key[1] or 'all'!r}; keep one")
        found[key] = _speed(row)
    if not found:
        raise BadInput(name, None, "there are no speeds in it; add a row for each GPU type")
    return GpuSpeeds(name, found)


def _speed(row: Row) -> float:
    value = row.number("speed")
    if not 1 / LARGEST <= value <= LARGEST:
        problem = f"speed is {row.text('speed')!r}; it must lie above 0, and is 1 for the type that was measured"
        raise BadInput(row.name, row.number_in_file, problem)
    return value
