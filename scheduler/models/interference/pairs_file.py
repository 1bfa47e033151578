# SPDX-License-Identifier: Apache-2.0
"""Reads measured pairs of jobs that shared a GPU from a CSV, and reports what of it can be used."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.api.arrays import Floats
from scheduler.models.interference.job_features import JobTraits, MeasuredPair

COLUMNS = ("job_a", "job_b", "norm_a", "norm_b")
TYPE_COLUMNS = ("gpu_type", "worker_type")
MAX_NORM = 1.5  # measurements are noisy, but no job is so much faster together than alone
_MISSING = {"", "-", "na", "n/a", "nan", "none", "null", "inf", "-inf", "+inf", "infinity", "-infinity"}
_WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


class BadPairs(ValueError):  # noqa: N818 (the name states what is wrong)
    """Refuses a file of pairs that cannot be used, in one line with file, row and remedy."""

    def __init__(self, name: str, row: int | None, problem: str) -> None:
        super().__init__(f"{name}{f', row {row}' if row is not None else ''}: {problem}")


@dataclass(frozen=True)
class PairsFile:
    """Holds a file of pairs.

    pairs: those measured. n_unmeasured: rows without a speed, or with 0. left_out: unused columns, and why.
    """

    pairs: tuple[MeasuredPair, ...]
    n_unmeasured: int
    features: tuple[str, ...]
    left_out: Mapping[str, str]

    def remarks(self) -> list[str]:
        """Returns what a person should know of how the file was read."""
        features = ", ".join(self.features) or "none"
        line = f"{len(self.pairs)} measured pairs, {self.n_unmeasured} rows without; features: {features}"
        return [line, *(f"column {column} is not used: {why}" for column, why in self.left_out.items())]


def read_pairs(text: str, *, name: str) -> PairsFile:
    """Returns the measured pairs of a CSV with job_a, job_b, norm_a, norm_b, features in columns ending in _a and _b,
    and gpu_type (or worker_type), where it is known.

    A row whose speeds are 0 or empty was not measured. Numeric columns that are there for both jobs are features,
    except those that restate the result (such as the speed together). Raises BadPairs.
    """
    header, rows = _rows(text, name)
    measured, n_unmeasured = [], 0
    for number, cells in rows:
        norms = [_norm(cells[column], column, name, number) for column in ("norm_a", "norm_b")]
        for column in ("job_a", "job_b"):
            if not cells[column]:
                raise BadPairs(name, number, f"{column} is empty; name both jobs of the pair")
        if min(norms) > 0:
            measured.append((number, cells, norms))
        else:
            n_unmeasured += 1
    if not measured:
        raise BadPairs(name, None, "there is no measured pair in it; norm_a and norm_b must be above 0 somewhere")
    features, left_out = _features(header, measured, name)
    pairs = tuple(
        MeasuredPair(
            JobTraits(cells["job_a"], {f: float(values[0][i]) for f, values in features.items()}, _type_of(cells)),
            JobTraits(cells["job_b"], {f: float(values[1][i]) for f, values in features.items()}, _type_of(cells)),
            norms[0],
            norms[1],
        )
        for i, (_, cells, norms) in enumerate(measured)
    )
    return PairsFile(pairs, n_unmeasured, tuple(features), left_out)


def _type_of(cells: Mapping[str, str]) -> str:
    return next((cells[column] for column in TYPE_COLUMNS if column in cells), "")


_Rows = list[tuple[int, dict[str, str]]]


def _rows(text: str, name: str) -> tuple[list[str], _Rows]:
    reader = csv.reader(io.StringIO(text.lstrip("\ufeff").replace("\x00", "")), skipinitialspace=True)
    header = [cell.strip() for cell in next(reader, [])]
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise BadPairs(name, 1, f"the column {missing[0]!r} is missing; the file needs {', '.join(COLUMNS)}")
    twice = [column for column in header if column and header.count(column) > 1]
    if twice:
        raise BadPairs(name, 1, f"the column {twice[0]!r} is there twice; rename one")
    rows = []
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            problem = f"{len(cells)} cells under {len(header)} columns; put names with commas in double quotes"
            raise BadPairs(name, reader.line_num, problem)
        rows.append((reader.line_num, {h: c.strip() for h, c in zip(header, cells, strict=True)}))
    if not rows:
        raise BadPairs(name, None, "there are no pairs in it; add a row for each measured pair")
    return header, rows


def _norm(cell: str, column: str, name: str, row: int) -> float:
    """0 for what was not measured."""
    if cell.casefold() in _MISSING:
        return 0.0
    try:
        value = float(cell)
    except ValueError:
        raise BadPairs(name, row, f"{column} is {cell!r}; it must be a number, or empty if not measured") from None
    if not 0 <= value <= MAX_NORM:
        problem = f"{column} is {cell}; it must lie in 0..{MAX_NORM:g}: divide the speed by the speed alone"
        raise BadPairs(name, row, problem)
    return value


def _features(
    header: Sequence[str], measured: Sequence[tuple[int, dict[str, str], list[float]]], name: str
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Values of shape (2, rows) by feature, and the columns that are none, with the reason."""
    features: dict[str, Floats] = {}
    left_out: dict[str, str] = {}
    stems = [c[:-2] for c in header if c.endswith("_a") and c not in COLUMNS]
    for stem in stems:
        if f"{stem}_b" not in header:
            left_out[f"{stem}_a"] = f"there is no {stem}_b"
            continue
        cells = [(row, f"{stem}_{side}", cells[f"{stem}_{side}"]) for side in "ab" for row, cells, _ in measured]
        values = [_number(cell) for _, _, cell in cells]
        wrong = [cell for cell, value in zip(cells, values, strict=True) if value is None]
        if 2 * len(wrong) > len(cells):
            left_out[stem] = "it is not numeric"
        elif wrong:
            row, column, cell = wrong[0]
            raise BadPairs(name, row, f"{column} is {cell!r}; the column is numeric elsewhere: correct or empty it")
        else:
            features[stem] = np.array(values, dtype=float).reshape(2, -1)
    jobs = np.array([[cells[f"job_{side}"] for _, cells, _ in measured] for side in "ab"])
    for stem in _restating(features, np.array([norms for _, _, norms in measured]).T, jobs):
        left_out[stem] = "it restates the result: known only after sharing"
        del features[stem]
    return features, left_out


def _number(cell: str) -> float | None:
    """NaN: missing. None: not a number."""
    lowered = cell.casefold()
    if lowered in _MISSING:
        return math.nan
    if lowered in _WORDS:
        return _WORDS[lowered]
    try:
        return float(cell)
    except ValueError:
        return None


def _restating(features: Mapping[str, Floats], norms: Floats, jobs: NDArray[np.str_]) -> list[str]:
    """Features that give away the result: the norm, its loss or inverse, alone or relative to another feature.

    Of two features whose ratio is the norm, the one that changes with the partner gives it away: the speed when
    co-located, not the speed alone. So does one that goes up and down with the norm from partner to partner of the
    same job. Only rows in which the norm is unusual count. All arrays have shape (2, rows).
    """
    is_unusual = np.abs(norms - np.median(norms)) > 0.02
    if is_unusual.sum() < 5:
        return []
    targets = [target[is_unusual] for target in (norms, 1 / norms, 1 - norms)]
    found = set()
    for stem, values in features.items():
        if _follows(values, norms, jobs):
            found.add(stem)
        for other, scale in [("", np.ones_like(values)), ("", np.full_like(values, 100.0)), *features.items()]:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = (values / scale)[is_unusual]
                equal = max(np.mean(np.abs(ratio - target) <= 0.01 * np.abs(target) + 1e-3) for target in targets)
            if other != stem and equal >= 0.9:
                varies = not other or _spread_within(values, jobs) >= _spread_within(scale, jobs)
                found.add(stem if varies else other)
    return sorted(found)


def _follows(values: Floats, norms: Floats, jobs: NDArray[np.str_]) -> bool:
    """Whether log value and log norm move together within rows of one job's name, up or down."""
    usable = np.isfinite(values) & (values > 0)
    if usable.sum() < 20 or usable.mean() < 0.5:
        return False
    _, job_N = np.unique(jobs[usable], return_inverse=True)
    counts = np.bincount(job_N)
    value_N, norm_N = (
        logs - (np.bincount(job_N, weights=logs) / counts)[job_N]
        for logs in (np.log(values[usable]), np.log(norms[usable]))
    )
    spreads = float(value_N.std() * norm_N.std())
    return spreads > 1e-6 and abs(float(np.mean(value_N * norm_N))) > 0.97 * spreads


def _spread_within(values: Floats, jobs: NDArray[np.str_]) -> float:
    """Mean relative spread of a column within rows of one job's name."""
    spreads = []
    for job in np.unique(jobs):
        own = values[(jobs == job) & np.isfinite(values)]
        if own.size:
            spreads.append(float(own.std() / max(1e-12, float(np.abs(own).mean()))))
    return float(np.mean(spreads)) if spreads else 0.0
