# SPDX-License-Identifier: Apache-2.0
"""The cells of benchmarks/scheduling.md: every simulation with the figure that it is held against.

{data} is the folder of public traces, {here} the benchmarks', {work} the working folder. A cell is one call of
python -m scheduler simulate; adding a policy, a seed or a trace is a line here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scheduler.policies import POLICIES
from scheduler.simulator.environments.registry import ENVIRONMENTS

SEEDS = (0, 1, 2, 3, 4)
LOADS = {"0.5": "workloads-0.5", "1": "workloads", "1.5": "workloads-1.5", "2": "workloads-2.0"}
WORKLOADS = (1, 2, 3, 4)
TIRESIAS_IN_POLLUX = {"limits": [57600], "order": "entered", "roomiest": True, "promote_after": 0}
OPTIMUS_IN_POLLUX = {"moves_at_once": True}
SHARED = "--data {data}/gavel --n-jobs 400 --nodes 8 --gpus 8 --load 1.1"
SHARED_SIZES = {"sharing": "1:1", "sharing-mixed": "1:0.7 2:0.1 4:0.15 8:0.05"}  # GPUs; the second as Gavel draws them
DAY = "--n-jobs 240 --nodes 8 --gpus 8 --load 1.1"


@dataclass(frozen=True)
class SchedulingCell:
    """group: the table's name; row: which of its rows; label: the policy as tables call it.

    published_s: the average that others give for it, within tolerance. is_quick: part of a quick pass, too.
    """

    group: str
    row: str
    label: str
    policy: str
    world: str
    trace: str
    cluster: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    profiles: str | None = None
    information: str | None = None
    seed: int = 0
    published_s: float | None = None
    tolerance: float = 0.0
    published_jobs: str | None = None  # a file and the keys in it, for a comparison job by job
    is_quick: bool = False
    is_judged: bool = False  # with its report: fairness by job, broken guarantees

    @property
    def key(self) -> str:
        """The same for cells of several tables that are the same simulation."""
        trace = Path(self.trace)
        folder = trace.parent.name if self.world == "pollux" else ""
        digest = hashlib.sha256(json.dumps(self.options()).encode()).hexdigest()[:6]
        parts = (self.world, folder, trace.stem, self.policy, self.information or "", f"seed {self.seed}", digest)
        return re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(part for part in parts if part)).strip("-").lower()

    def options(self) -> list[str]:
        """Of python -m scheduler simulate, without what is written."""
        found = ["--environment", self.world, "--trace", self.trace, "--cluster", self.cluster, "--policy", self.policy]
        for key, value in self.parameters.items():
            found += ["--param", f"{key}={json.dumps(value, separators=(',', ':'))}"]
        for name in ("profiles", "information"):
            value = getattr(self, name)
            found += ["--data" if name == "profiles" else f"--{name}", value] if value else []
        return [*found, *(["--seed", str(self.seed)] if self.seed else [])]


def all_cells(data: Path) -> list[SchedulingCell]:
    """Raises OSError where a published table is not in the data folder."""
    cells = [*_counting(), *_las(), *_muri_reproduced(), *_pollux_reproduced(data)]
    cells += [*_pollux_compared(), *_muri_compared(), *_sharing(), *_network(), *_days()]
    return [cell for cell in cells if cell.policy in POLICIES and cell.world in ENVIRONMENTS]


# the simulator proves itself

_TIRESIAS = "{data}/tiresias/60_job.csv"
_COUNTED: Mapping[tuple[str, str, str], Mapping[str, float]] = {
    ("60_job, 4 × 4 GPUs", _TIRESIAS, "{data}/tiresias/n4g4.csv"): {
        "fifo": 200.8, "backfill": 190.7, "srtf": 192.1, "srsf": 195.9
    },
    ("60_job, 2 × 4 GPUs", _TIRESIAS, "{data}/tiresias/n2g4.csv"): {
        "fifo": 1556.5, "backfill": 715.3, "srtf": 519.9, "srsf": 563.4
    },
    ("trace3, 8 × 8 GPUs", "{data}/muri/traces/trace3.csv", "{data}/muri/n8g8.csv"): {
        "fifo": 991_167, "backfill": 480_105, "srtf": 180_116, "srsf": 172_684
    },
    ("testbed trace, 8 × 8 GPUs", "{data}/muri/testbed/cluster_trace.csv", "{data}/muri/n8g8.csv"): {
        "fifo": 747_485, "backfill": 428_066, "srtf": 219_557, "srsf": 215_287
    },
}  # fmt: skip


def _counting() -> Iterator[SchedulingCell]:
    """To the last digit that is published."""
    for (row, trace, cluster), published in _COUNTED.items():
        for policy, average_s in published.items():
            is_small = "60_job" in row
            tolerance = 0.05 / average_s if is_small else 1e-4
            yield SchedulingCell(
                "A1", row, policy, policy, "counting", trace, cluster,
                published_s=average_s, tolerance=tolerance, is_quick=is_small,
            )  # fmt: skip


def _las() -> Iterator[SchedulingCell]:
    cluster = "{data}/muri/n8g8.csv"
    for row, trace, average_s in (
        ("trace3, 8 × 8 GPUs", "{data}/muri/traces/trace3.csv", 312_870),
        ("testbed trace, 8 × 8 GPUs", "{data}/muri/testbed/cluster_trace.csv", 291_020),
    ):
        compatible = {"compatible": True}
        yield SchedulingCell(
            "A2", row, "las, compatible", "las", "counting", trace, cluster, compatible,
            published_s=average_s, tolerance=1e-4,
        )  # fmt: skip


_TRACE3, _TESTBED = "{data}/muri/traces/trace3.csv", "{data}/muri/testbed/cluster_trace.csv"
_TIRESIAS_IN_MURI = {"compatible": True, "whole_seconds": True}


def _muri_cell(group: str, row: str, trace: str, label: str, policy: str, **more: Any) -> SchedulingCell:
    return SchedulingCell(
        group, row, label, policy, "muri", trace, "{data}/muri/n8g8.csv", profiles="{data}/muri", **more
    )


def _muri_reproduced() -> Iterator[SchedulingCell]:
    """Published: fig. 9 and 10 of Muri (SIGCOMM '22); measured: their testbed's log."""
    known: dict[str, Any] = {"information": "declared"}
    unknown: dict[str, Any] = {"information": "none"}
    tiresias: dict[str, Any] = {"information": "none", "parameters": _TIRESIAS_IN_MURI}
    muri_s: dict[str, Any] = {"information": "declared", "parameters": {"dissolves": False}}
    row = "trace3, 8 × 8 GPUs"
    for label, policy, average_s, tolerance, options in (
        ("SRTF", "srtf", 193_081.8, 0.01, known),
        ("SRSF", "srsf", 185_021.9, 0.01, known),
        ("Tiresias", "las", 347_213.2, 0.01, tiresias),
        ("AntMan", "antman", 305_453.9, 0.05, unknown),
        ("Muri-S", "muri", 85_502.6, 0.05, muri_s),
        ("Muri-L", "muri", 88_687.0, 0.05, unknown),
    ):
        yield _muri_cell("A3", row, _TRACE3, label, policy, published_s=average_s, tolerance=tolerance, **options)
    row = "testbed trace, 64 V100"
    for label, policy, average_s, options in (
        ("SRTF", "srtf", 249_140.2, known),
        ("SRSF", "srsf", 238_612.1, known),
        ("Tiresias", "las", 336_533.2, tiresias),
    ):
        yield _muri_cell("A4", row, _TESTBED, label, policy, published_s=average_s, tolerance=0.03, **options)


def _pollux_cell(group: str, load: str, workload: int, label: str, policy: str, **more: Any) -> SchedulingCell:
    trace = f"{{data}}/pollux/{LOADS[load]}/workload-{workload}.csv"
    return SchedulingCell(
        group, f"load {load}, workload {workload}", label, policy, "pollux", trace, "{here}/clusters/pollux.yaml",
        profiles="{data}/pollux", **more,
    )  # fmt: skip


def published_pollux(data: Path, policy: str, load: str) -> dict[str, Any]:
    """{"jcts": {workload: {job: seconds}}, "avgs": {workload: seconds}}, of Pollux' artifact."""
    folder = f"{policy}-{float(load):.1f}"
    text = (data / "pollux/published/results-jobload" / folder / "summary.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _pollux_reproduced(data: Path) -> Iterator[SchedulingCell]:
    """Job by job to 0.1 %."""
    for label, policy, parameters in (
        ("tiresias", "las", TIRESIAS_IN_POLLUX),
        ("optimus", "optimus", OPTIMUS_IN_POLLUX),
    ):
        for load in LOADS:
            averages = published_pollux(data, label, load)["avgs"]
            for workload in WORKLOADS:
                yield _pollux_cell(
                    "A5", load, workload, label, policy, parameters=parameters, tolerance=1e-3,
                    published_s=averages[f"workload-{workload}"],
                    published_jobs=f"{label}|{load}|workload-{workload}",
                    is_quick=load == "0.5" and workload == 1,
                )  # fmt: skip


# the comparison


def _pollux_compared() -> Iterator[SchedulingCell]:
    """Held against Pollux' published runs; tiresias and optimus are those of A5."""
    for load in LOADS:
        for workload in WORKLOADS:
            yield _pollux_cell(
                "pollux", load, workload, "mlhub", "mlhub", is_judged=True, is_quick=load == "0.5" and workload == 1
            )


def _muri_compared() -> Iterator[SchedulingCell]:
    """As published, for the published rivals were; lengths declared, and unknown."""
    for information, policies in (
        ("declared", ("srtf", "srsf", "muri", "mlhub")),
        ("none", ("las", "antman", "muri", "themis", "mlhub")),
    ):
        for policy in policies:
            more = {"parameters": _TIRESIAS_IN_MURI} if policy == "las" else {}
            options = {"information": information, "is_judged": True}
            yield _muri_cell(f"muri-{information}", "trace3", _TRACE3, policy, policy, **options, **more)


NETWORK_POLICIES = (
    "fifo",
    "backfill",
    "srtf",
    "srsf",
    "las",
    "fair",
    "optimus",
    "priority",
    "drf",
    "capacity",
    "pollux",
    "themis",
    "gavel",
    "dl2",
    "mlhub",
)  # those that there are
DAY_POLICIES = NETWORK_POLICIES


def _network() -> Iterator[SchedulingCell]:
    """Muri's testbed trace with its network stages; the links' and jobs' hidden truths are drawn by seed."""
    for seed in SEEDS:
        for policy in NETWORK_POLICIES:
            yield SchedulingCell(
                "network", "testbed trace", policy, policy, "network", "{data}/muri/testbed/cluster_trace.csv",
                "{here}/clusters/network.yaml", information="declared", seed=seed, is_judged=True,
                is_quick=seed == 0 and policy in ("srsf", "mlhub"),
            )  # fmt: skip


def _days() -> Iterator[SchedulingCell]:
    """A made-up day for every seed, on 64 GPUs of four tenants with guarantees."""
    for seed in SEEDS:
        for policy in DAY_POLICIES:
            yield SchedulingCell(
                "day", "made-up day", policy, policy, "network", f"{{work}}/day-{seed}.csv", "{work}/day.yaml",
                information="declared", seed=seed, is_judged=True, is_quick=seed == 0 and policy in ("srsf", "mlhub"),
            )  # fmt: skip


_PACKED = {"space_sharing": True}
SHARING_CONTEST: tuple[tuple[str, str, Mapping[str, Any], str], ...] = (
    ("srsf, no sharing", "srsf", {}, "declared"),
    ("las, no sharing", "las", {}, "declared"),
    ("gavel, no sharing", "gavel", {}, "declared"),
    ("mlhub, no sharing", "mlhub", {"shares": False}, "declared"),
    ("gandiva", "gandiva", {}, "declared"),
    ("gavel packed", "gavel", _PACKED, "declared"),
    ("gavel packed, pairs told", "gavel", _PACKED, "durations"),
    ("gavel packed, shortest first", "gavel", _PACKED | {"objective": "min_total_jct"}, "declared"),
    ("mlhub", "mlhub", {}, "declared"),
)


def _sharing() -> Iterator[SchedulingCell]:
    """Made-up days of the job types that Gavel measured, on 64 V100 without quotas, so that only sharing differs."""
    for group in SHARED_SIZES:
        for seed in SEEDS:
            for label, policy, parameters, information in SHARING_CONTEST:
                yield SchedulingCell(
                    group, "made-up day", label, policy, "sharing", f"{{work}}/{group}-{seed}.csv",
                    "{data}/muri/n8g8.csv", parameters, profiles="{data}/gavel", information=information, seed=seed,
                )  # fmt: skip


def made_up_files(seeds: Sequence[int] = SEEDS) -> dict[str, str]:
    """Files in the working folder, and the command that makes each."""
    days = {
        f"day-{seed}.csv": f"trace {DAY} --seed {seed} --out {{work}}/day-{seed}.csv --cluster-out {{work}}/day.yaml"
        for seed in seeds
    }
    return days | {
        f"{group}-{seed}.csv": f"trace {SHARED} --sizes {sizes} --seed {seed} --out {{work}}/{group}-{seed}.csv"
        for group, sizes in SHARED_SIZES.items()
        for seed in seeds
    }
