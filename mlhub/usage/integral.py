# SPDX-License-Identifier: Apache-2.0
"""GPU-seconds: the integral of GPUs held over time, where several attempts may hold one GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise


@dataclass(frozen=True)
class GpuHolding:
    """GPUs of one node, held from began_at to ended_at."""

    slots: frozenset[int]
    began_at: datetime
    ended_at: datetime


def gpu_seconds(own: GpuHolding, others: Iterable[GpuHolding], *, since: datetime, until: datetime) -> float:
    """Returns the GPU-seconds of `own` between since and until.

    While n others hold one of its GPUs, that GPU counts 1 / (n + 1). others: holdings of the same node.
    """
    since, until = max(since, own.began_at), min(until, own.ended_at)
    if since >= until:
        return 0.0
    sharing = [
        other for other in others if other.slots & own.slots and other.began_at < until and other.ended_at > since
    ]
    marks = {since, until}
    for other in sharing:
        marks |= {at for at in (other.began_at, other.ended_at) if since < at < until}
    times = sorted(marks)
    return sum(_gpus_at(own, sharing, begin) * ((end - begin) / timedelta(seconds=1)) for begin, end in pairwise(times))


def _gpus_at(own: GpuHolding, sharing: Sequence[GpuHolding], at: datetime) -> float:
    there = [other.slots for other in sharing if other.began_at <= at < other.ended_at]
    return sum(1.0 / (1 + sum(slot in slots for slots in there)) for slot in own.slots)


@dataclass(frozen=True)
class BusyTime:
    """For how many seconds it was measured how busy a GPU was, and these seconds weighted by it."""

    measured_s: float
    busy_s: float


def busy_gpu_seconds(
    own: GpuHolding, others: Iterable[GpuHolding], measured: Mapping[int, BusyTime]
) -> tuple[float, float]:
    """Returns the measured and the busy GPU-seconds of `own`; measured: by slot, as its worker reported.

    No slot counts for longer than it was held, whatever a worker reports. Where others hold it, too, both count in the
    part that gpu_seconds() gives the slot.
    """
    held_s = (own.ended_at - own.began_at) / timedelta(seconds=1)
    if held_s <= 0:
        return 0.0, 0.0
    there, sums = list(others), [0.0, 0.0]
    for slot in own.slots & measured.keys():
        found = measured[slot]
        alone = GpuHolding(frozenset({slot}), own.began_at, own.ended_at)
        share = gpu_seconds(alone, there, since=own.began_at, until=own.ended_at) / held_s
        factor = share * (min(1.0, held_s / found.measured_s) if found.measured_s > 0 else 0.0)
        sums[0] += factor * found.measured_s
        sums[1] += factor * found.busy_s
    return sums[0], sums[1]
