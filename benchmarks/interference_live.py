# SPDX-License-Identifier: Apache-2.0
"""Two real trainings that fight for one processor: how soon the platform knows it, and parts them.

    python -m benchmarks.interference_live

A local platform with two virtual nodes, each bound to one processor of this machine. One job trains alone; a second one
comes to its node. Prints step times alone, together and apart, what was learnt, and after how many seconds they were
parted. All figures are of one run: ratios hold on a busy machine, too. Needs Linux with `taskset` and two processors.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.testbed_platform import PlatformOnNodes, SubmittedJob, platform_on
from benchmarks.virtual_nodes import VirtualCluster
from mlhub.demo.client import Person

N_ALONE, LIMIT_S, PARTED_WITHIN_S = 100, 400.0, 120.0


class PinnedNodes(VirtualCluster):
    """Two nodes of two slots, each on one processor."""

    def as_yaml(self) -> str:
        """The cluster file that the local backend reads."""
        lines = ["racks:", "  - name: r0", "    uplink: 10Gbit", "    nodes:"]
        for i, cpu in enumerate(sorted(os.sched_getaffinity(0))[:2]):
            size = "slots: 2, cpus: 2, memory: 4GiB, nic: 10Gbit"
            lines.append(f'      - {{name: n{i}, {size}, enter: [taskset, -c, "{cpu}"]}}')
        return "\n".join(lines) + "\n"


def main() -> int:
    if shutil.which("taskset") is None or len(os.sched_getaffinity(0)) < 2:
        print("this needs taskset and two processors", file=sys.stderr)
        return 2
    with platform_on(PinnedNodes((), "127.0.0.1", 1e10, 1e10)) as platform:
        platform.choose_policy("mlhub", {})
        return 0 if _measure(platform) else 1


def _measure(platform: PlatformOnNodes) -> bool:
    """Whether the two were parted in time."""
    person = platform.person
    first = platform.submit(_job("first", width=8))
    alone = _wait(lambda: _enough(person, first), "the first job does not train")
    print(f"first alone: {1e3 * alone['step_s']:.1f} ms a step ({alone['n_steps']} steps)", flush=True)
    second = platform.submit(_job("second", width=16))
    _wait(lambda: _node(person, second) and _speed(person, second)["samples"], "the second job does not train")
    began = time.monotonic()
    print(f"nodes: first {_node(person, first)}, second {_node(person, second)}", flush=True)
    while _node(person, first) == _node(person, second) and time.monotonic() - began < LIMIT_S:
        time.sleep(1.0)
    parted_s = time.monotonic() - began
    for row in person.get("/cluster")["interference"]:
        print(
            f"learnt: {row['job']} with {row['other']} on the same {row['resource']}: a step takes "
            f"{row['slowdown']:.2f} ± {row['error']:.2f} times as long ({row['n_steps']} steps)"
        )
    is_parted = parted_s <= PARTED_WITHIN_S
    print(f"{'parted' if is_parted else 'NOT PARTED'} after {parted_s:.0f} s of common training", flush=True)
    for job in (first, second):
        person.post(f"/jobs/{job}/cancel")
    return is_parted


def _job(name: str, *, width: int) -> SubmittedJob:
    return SubmittedJob(0.0, name, "small_cnn", epochs=2000, guess=1, hyperparameters={"width": width})


def _speed(person: Person, job: str) -> dict[str, Any]:
    found: dict[str, Any] = person.get(f"/jobs/{job}/speed")
    return found


def _enough(person: Person, job: str) -> dict[str, Any] | None:
    sample = next(iter(_speed(person, job)["samples"]), None)
    return sample if sample is not None and sample["n_steps"] >= N_ALONE else None


def _node(person: Person, job: str) -> str | None:
    """Where its newest attempt is; None before the first."""
    attempt = person.get(f"/jobs/{job}")["current_attempt"]
    return attempt["placement"][0]["node"] if attempt and attempt["placement"] else None


def _wait(condition: Callable[[], Any], message: str) -> Any:
    until = time.monotonic() + LIMIT_S
    while not (found := condition()):
        if time.monotonic() > until:
            raise TimeoutError(message)
        time.sleep(0.5)
    return found


if __name__ == "__main__":
    sys.exit(main())
