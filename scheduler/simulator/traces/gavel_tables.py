# SPDX-License-Identifier: Apache-2.0
"""Speeds as measured for Gavel: jobs alone by type and number of GPUs, and pairs of jobs that share GPUs.

Source: the artifact of Narayanan et al., Gavel (OSDI '20): isolated.csv and colocated_pairs_*.csv.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from scheduler.simulator.traces.trace import BadInput, Row, Rows

SPREAD = "_unconsolidated"  # ends the worker type where workers lie on several servers
ISOLATED_COLUMNS = ("worker_type", "job_type", "scale_factor", "steps_per_s")
PAIR_COLUMNS = ("worker_type", "job_a", "scale_a", "job_b", "scale_b", "norm_a", "norm_b")
STANDARD_TYPE = "v100"  # of clusters that name no GPU type, and the type that lengths in traces refer to
MAX_NORM = 1.5  # no job is so much faster together than alone: a typing error
NOT_TOGETHER = (0.0, 0.0)

Sized = tuple[str, int]  # a job type, and its GPUs


@dataclass(frozen=True)
class SharingTables:
    """Holds measured speeds.

    rates: steps/s by (type of GPU, job type, GPUs, is on several servers), those above 0 only.

    norms: speeds together, relative to alone, by (type of GPU, one, other), in both orders; (0, 0): they do not
    fit, or were not measured, which the tables do not distinguish. name: of the folder, for errors.
    """

    name: str
    rates: Mapping[tuple[str, str, int, bool], float]
    norms: Mapping[tuple[str, Sized, Sized], tuple[float, float]]

    def rate(self, job: Sized, *, gpu_type: str, is_spread: bool) -> float | None:
        """Returns steps/s alone, from the other kind of placement where only that was measured; None: it does not run
        there.
        """
        ways = ((gpu_type, *job, way) for way in (is_spread, not is_spread))
        return next((self.rates[way] for way in ways if way in self.rates), None)

    def together(self, one: Sized, other: Sized, *, gpu_type: str) -> tuple[float, float]:
        """Returns the speeds of two on the same GPUs; (0, 0) for those that cannot be there together, as far as is
        known.
        """
        return self.norms.get((gpu_type, one, other), NOT_TOGETHER)

    @cached_property
    def job_types(self) -> tuple[str, ...]:
        """Returns the job types that were measured."""
        return tuple(sorted({job_type for _, job_type, _, _ in self.rates}))

    @cached_property
    def gpu_types(self) -> tuple[str, ...]:
        """Returns the types of GPU that were measured."""
        return tuple(sorted({gpu_type for gpu_type, _, _, _ in self.rates}))

    @cached_property
    def sharers(self) -> frozenset[tuple[str, Sized]]:
        """Returns the job types that were measured in pairs, with the GPU type."""
        return frozenset((gpu_type, one) for (gpu_type, one, _), norms in self.norms.items() if min(norms) > 0)

    def sizes(self, job_type: str, gpu_type: str = "") -> tuple[int, ...]:
        """Returns the numbers of GPUs on which the job type was measured, on that type (none given: on any)."""
        wanted = {n for t, known, n, _ in self.rates if known == job_type and gpu_type in ("", t)}
        return tuple(sorted(wanted))


@lru_cache(maxsize=4)
def read_sharing(isolated: tuple[str, str], pairs: tuple[tuple[str, str], ...], *, name: str) -> SharingTables:
    """Returns the tables.

    isolated, pairs: names of files and their texts. Raises BadInput for rows that cannot be used.
    """
    norms: dict[tuple[str, Sized, Sized], tuple[float, float]] = {}
    for file, text in pairs:
        for row in Rows(text, name=file, columns=PAIR_COLUMNS):
            kind = _named(row, "worker_type")
            one = _named(row, "job_a"), row.whole("scale_a", least=1)
            other = _named(row, "job_b"), row.whole("scale_b", least=1)
            speeds = _norm(row, "norm_a"), _norm(row, "norm_b")
            speeds = speeds if min(speeds) > 0 else NOT_TOGETHER
            norms[kind, one, other] = speeds
            norms.setdefault((kind, other, one), (speeds[1], speeds[0]))
    return SharingTables(name, dict(_rates(*isolated)), norms)


def _rates(file: str, text: str) -> Iterator[tuple[tuple[str, str, int, bool], float]]:
    for row in Rows(text, name=file, columns=ISOLATED_COLUMNS):
        kind, rate = _named(row, "worker_type"), row.number("steps_per_s")
        if rate > 0:
            size = row.whole("scale_factor", least=1)
            yield (kind.removesuffix(SPREAD), _named(row, "job_type"), size, kind.endswith(SPREAD)), rate


def _named(row: Row, column: str) -> str:
    if not row.text(column):
        raise BadInput(row.name, row.number_in_file, f"{column} is empty; every measurement needs one")
    return row.text(column)


def _norm(row: Row, column: str) -> float:
    value = row.number(column)
    if value > MAX_NORM:
        problem = f"{column} is {row.text(column)}; it must lie in 0..{MAX_NORM:g}: divide the speed by the speed alone"
        raise BadInput(row.name, row.number_in_file, problem)
    return value
