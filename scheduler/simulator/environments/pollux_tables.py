# SPDX-License-Identifier: Apache-2.0
"""What was measured of an application in Pollux' artifact: step times by placement, progress and gradients by batch.

Source of the data's form: petuum/adaptdl, branch osdi21-artifact (Qiao et al., Pollux, OSDI '21).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are first used

from scheduler.api.arrays import Floats
from scheduler.simulator.traces.trace import BadInput

MAX_NODES = 16  # larger layouts count as so many nodes

EPOCHS = {"bert": 2, "cifar10": 100, "ncf": 10, "imagenet": 90, "deepspeech2": 80, "yolov3": 50}
LARGEST_LOCAL_BATCH = {"yolov3": 8}  # below what was measured


@dataclass(frozen=True)
class Validation:
    """Holds, at one global batch size, arrays over epochs: progress in iterations at the initial batch, and real
    ones.
    """

    progress: Floats
    iteration: Floats
    grad_sqr: Floats
    grad_var: Floats


@dataclass
class Application:
    """Holds one application's tables. placements: (placement digits) -> rows (local batch, step_s, sync_s)."""

    name: str
    validations: dict[int, Validation]
    placements: dict[tuple[int, ...], Floats]
    scalability: Floats
    n_epochs: int
    _times: dict[tuple[tuple[int, ...], int], tuple[float, float]] = field(default_factory=dict)

    @property
    def init_batch(self) -> int:
        """Returns the global batch size that the application starts with."""
        return min(self.validations)

    @property
    def max_batch(self) -> int:
        """Returns the largest global batch size that was measured."""
        return max(self.validations)

    @cached_property
    def min_local_batch(self) -> int:
        """Returns the smallest batch of one worker that was measured."""
        return int(min(rows[:, 0].min() for rows in self.placements.values()))

    @cached_property
    def max_local_batch(self) -> int:
        """Returns the largest batch that one worker can hold."""
        measured = int(max(rows[:, 0].max() for rows in self.placements.values()))
        return LARGEST_LOCAL_BATCH.get(self.name, measured)

    @cached_property
    def progress_at_E(self) -> Floats:  # noqa: N802 (arrays wear their axes)
        """Returns the progress at the end of each epoch, the least over all batch sizes; [0] is the start."""
        ends = np.min([v.progress[: self.n_epochs] for v in self.validations.values()], axis=0)
        return np.concatenate([[0.0], ends])

    def iterations(self, batch: int, epoch: int) -> float:
        """Returns real iterations at a batch size until the end of the epoch with that index, interpolated between
        batches.
        """
        low, high = self._around(batch)
        a, b = self.validations[low].iteration[epoch], self.validations[high].iteration[epoch]
        return float(_between(batch, low, high, a, b))

    def gradients(self, batch: int, epoch: int) -> tuple[float, float]:
        """Returns squared norm and variance of the gradient in an epoch, interpolated between batches."""
        low, high = self._around(batch)
        at_low, at_high = self.validations[low], self.validations[high]
        sqr = _between(batch, low, high, at_low.grad_sqr[epoch], at_high.grad_sqr[epoch])
        var = _between(batch, low, high, at_low.grad_var[epoch], at_high.grad_var[epoch])
        return float(sqr), float(var)

    def gain(self, batch: int, epoch: int) -> float:
        """Returns progress of one iteration at this batch, in iterations at the initial batch."""
        sqr, var = self.gradients(batch, epoch)
        scale = batch / self.init_batch
        return (var + sqr) / (var / scale + sqr)

    def step_and_sync_s(self, placement: tuple[int, ...], local_batch: int) -> tuple[float, float]:
        """Returns the seconds of an optimiser step and of its synchronisation. placement: workers on each node.

        Rotations of a placement are the same. Measured placements: linear between local batches; others: linear between
        (nodes, workers, local batch). Raises ValueError outside of what was measured.
        """
        rotations = [placement[i:] + placement[:i] for i in range(len(placement))]
        key = (min(rotations), local_batch)
        if key not in self._times:
            self._times[key] = self._look_up(*key)
        return self._times[key]

    def _look_up(self, placement: tuple[int, ...], local_batch: int) -> tuple[float, float]:
        rows = self.placements.get(placement)
        if rows is not None:
            if not rows[0, 0] <= local_batch <= rows[-1, 0]:
                raise ValueError(f"{self.name}: no measurement at a local batch of {local_batch} on {placement}")
            step_s = np.interp(local_batch, rows[:, 0], rows[:, 1])
            return float(step_s), float(np.interp(local_batch, rows[:, 0], rows[:, 2]))
        found = self._interpolator([min(len(placement), MAX_NODES), sum(placement), local_batch])[0]
        if not np.isfinite(found).all():
            raise ValueError(f"{self.name}: no measurement near a local batch of {local_batch} on {placement}")
        return float(found[0]), float(found[1])

    @cached_property
    def _interpolator(self) -> Any:
        groups: dict[tuple[int, int, float], list[Floats]] = {}
        for placement, rows in self.placements.items():
            for row in rows:
                groups.setdefault((len(placement), sum(placement), float(row[0])), []).append(row[1:])
        means = [[*shape, *np.mean(times, axis=0)] for shape, times in sorted(groups.items())]
        points = np.vstack([np.array(means), self.scalability])
        return scipy.interpolate.LinearNDInterpolator(points[:, :3], points[:, 3:])

    def _around(self, batch: int) -> tuple[int, int]:
        low = [b for b in sorted(self.validations) if b <= batch]
        high = [b for b in sorted(self.validations) if b >= batch]
        if not low or not high:
            raise ValueError(f"{self.name}: no batch size around {batch} was measured")
        return low[-1], high[0]


def read_applications(texts: Mapping[str, str], *, name: str) -> dict[str, Application]:
    """Returns the applications of a folder's files, by relative path: traces/<app>/placements.csv and so on.

    Raises BadInput that names the missing file or column.
    """
    applications = {}
    for app, n_epochs in EPOCHS.items():
        folder = f"traces/{app}/"
        for needed in ("placements.csv", "scalability.csv"):
            if folder + needed not in texts:
                raise BadInput(f"{name}/{folder}{needed}", None, "the file is missing; --data takes Pollux' folder")
        validations = {
            int(path.rpartition("-")[2].removesuffix(".csv")): _validation(texts[path], path)
            for path in texts
            if path.startswith(folder + "validation-")
        }
        applications[app] = Application(
            app,
            dict(sorted(validations.items())),
            _placements(texts[folder + "placements.csv"], folder + "placements.csv"),
            _columns(
                texts[folder + "scalability.csv"],
                folder + "scalability.csv",
                ("num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"),
            ),
            n_epochs,
        )
    return applications


def _placements(text: str, name: str) -> dict[tuple[int, ...], Floats]:
    rows = _columns(text, name, ("placement", "local_bsz", "step_time", "sync_time"))
    tables: dict[tuple[int, ...], list[Floats]] = {}
    for row in rows:
        tables.setdefault(tuple(int(digit) for digit in str(int(row[0]))), []).append(row[1:])
    return {placement: np.array(sorted(table, key=lambda r: r[0])) for placement, table in tables.items()}


def _validation(text: str, name: str) -> Validation:
    rows = _columns(text, name, ("progress", "iteration", "grad_sqr", "grad_var"))
    return Validation(*rows.T)


def _columns(text: str, name: str, columns: tuple[str, ...]) -> Floats:
    reader = csv.DictReader(io.StringIO(text))
    missing = [column for column in columns if column not in (reader.fieldnames or ())]
    if missing:
        raise BadInput(name, 1, f"the column {missing[0]!r} is missing; it needs {', '.join(columns)}")
    try:
        return np.array([[float(row[column]) for column in columns] for row in reader])
    except (TypeError, ValueError) as error:
        raise BadInput(name, reader.line_num, f"not a number: {error}") from error


def _between(x: float, low: float, high: float, at_low: float, at_high: float) -> float:
    if low == high:
        return at_low
    return ((x - low) * at_high + (high - x) * at_low) / (high - low)
