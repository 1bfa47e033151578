# SPDX-License-Identifier: Apache-2.0
"""How long starts take: of the platform, and of a job from POST to its first step, phase by phase.

    python -m benchmarks.startup [--jobs 5] [--demo] [--out benchmarks/results/startup.md]

On the embedded platform, idle but for the job. "New": a job of content and settings that were never validated;
"known": the same again; "cold": a known one whose pod imports torch for itself, as with a variable of its own. They
take turns, so that both see the same load of the machine. Imports are measured in processor time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mlhub.demo.client import Person
from tests.platform import ROOT, RunningPlatform, running

NODE = "{name: n0, gpu_type: cpu-slot, slots: 2, cpus: 4, memory: 8GiB, nic: 10Gbit}"
CLUSTER = f"racks: [{{name: r0, uplink: 10Gbit, nodes: [{NODE}]}}]\n"
CSV = "width,species\n1.0,iris\n2.0,lily\n1.1,iris\n2.1,lily\n"
N_IMPORTS = 5
IMPORTS = {
    "import torch": "import torch",
    "a worker's imports": "from mlhub.runtime.roles.worker import trainer_class as c; c()",
    "import torch, without bytecode": "import torch",
}
USED = "\nimport resource as r; u = r.getrusage(r.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
PATIENCE_S = 300.0
IDLE_S = 12.0  # between jobs, in which the pool of warm workers fills again
COLD = {"environment": {"BENCHMARK": "cold"}}  # libraries may read a job's variables when they are imported


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/startup.md"))
    parser.add_argument("--jobs", type=int, default=5, help="of each kind")
    parser.add_argument("--demo", action="store_true", help="also the whole demo")
    arguments = parser.parse_args()
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="mlhub-startup-") as folder:
        os.environ["MLHUB_CLUSTER_FILE"] = str(Path(folder) / "cluster.yaml")
        Path(os.environ["MLHUB_CLUSTER_FILE"]).write_text(CLUSTER)
        state = Path(folder) / "state"
        state.mkdir()
        platform_s, starts = measure(state, n_jobs=arguments.jobs)
        demo_s = seconds_of(lambda: run_demo(Path(folder) / "demo")) if arguments.demo else None
    text = report(imports(), platform_s, starts, demo_s, load=(load_before, os.getloadavg()[0]))
    arguments.out.write_text(text)
    print(text)


def measure(state: Path, *, n_jobs: int) -> tuple[list[float], dict[str, list[dict[str, Any]]]]:
    """Seconds of the platform's first and second start; the starts of jobs by kind."""
    began = time.perf_counter()
    with running(state) as platform:
        platform_s = [time.perf_counter() - began]
        platform.stop()
        platform_s.append(seconds_of(platform.start))
        print(f"the platform was up after {platform_s} s", file=sys.stderr, flush=True)
        person, job = _submitter(platform)
        starts: dict[str, list[dict[str, Any]]] = {"new": [], "known": [], "cold": []}
        known, cold = {**job, "hyperparameters": {"width": 8}}, {**job, "hyperparameters": {"width": 8}, **COLD}
        for body in (known, cold):
            start_of(person, body)
        for i in range(n_jobs):
            starts["new"].append(start_of(person, {**job, "hyperparameters": {"width": 16 + i}}))
            starts["known"].append(start_of(person, known))
            starts["cold"].append(start_of(person, cold))
    return platform_s, starts


def _submitter(platform: RunningPlatform) -> tuple[Person, dict[str, Any]]:
    person = platform.person("startup", organisation="Startups")
    project = person.post("/projects", organisation=person.organisation["id"], name="work")
    data = person.upload(
        "/datasets", "flowers.csv", CSV.encode(), name="flowers", project=project["id"], target="species"
    )
    person.wait_ready(f"/datasets/{data['id']}", seconds=PATIENCE_S)
    model = next(m for m in person.get("/models", limit=200)["results"] if m["name"] == "mlp")
    return person, {"dataset": data["id"], "model": model["id"], "project": project["id"], "epochs": 1, "batch_size": 2}


def start_of(person: Person, body: dict[str, Any]) -> dict[str, Any]:
    """Runs a job to its end on a platform that was idle. Returns its start, as the API gives it."""
    time.sleep(IDLE_S)
    job = person.post("/jobs", **body)
    until = time.monotonic() + PATIENCE_S
    while person.get(f"/jobs/{job['id']}")["state"] not in ("succeeded", "failed"):
        if time.monotonic() > until:
            raise TimeoutError(f"The job {job['id']} has not ended after {PATIENCE_S:g} s.")
        time.sleep(0.2)
    found: dict[str, Any] = person.get(f"/jobs/{job['id']}/startup")
    print(f"a start took {found['total_s']:.1f} s", file=sys.stderr, flush=True)
    if not found["is_complete"]:
        raise RuntimeError(f"The job {job['id']} ended without a step.")
    return found


def imports() -> dict[str, float]:
    """Seconds of processor time, the median of N_IMPORTS processes each, taken in turn."""
    times: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(N_IMPORTS):
        for name, code in IMPORTS.items():
            prefix = ["-X", "pycache_prefix=/nonexistent"] if "without" in name else []
            done = subprocess.run(
                [sys.executable, *prefix, "-c", code + USED], cwd=ROOT, capture_output=True, text=True, check=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            )  # fmt: skip
            times[name].append(float(done.stdout.split()[-1]))
    return {name: statistics.median(found) for name, found in times.items()}


def run_demo(home: Path) -> None:
    command = [sys.executable, "-m", "mlhub.embedded", "up", "--demo", "--exit"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "MLHUB_HOME": str(home)}, check=True)


def seconds_of(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def report(
    imported: dict[str, float], platform_s: Sequence[float], starts: dict[str, list[dict[str, Any]]],
    demo_s: float | None, *, load: tuple[float, float],
) -> str:  # fmt: skip
    whole = {kind: statistics.median(start["total_s"] for start in found) for kind, found in starts.items()}
    phases = dict.fromkeys(part["name"] for found in starts.values() for start in found for part in start["phases"])
    ratio = imported["a worker's imports"] / imported["import torch"]
    return "\n".join([
        "# Starts", "",
        f"By `python -m benchmarks.startup`, on one machine of {os.cpu_count()} processors; its load average was "
        f"{load[0]:.1f} before and {load[1]:.1f} at the end.", "",
        f"- The platform is up after {platform_s[0]:.1f} s the first time, and {platform_s[1]:.1f} s the second.",
        *([] if demo_s is None else [f"- The demo takes {demo_s:.1f} s."]),
        f"- From POST to the first step, medians of {len(starts['new'])} jobs: {whole['new']:.1f} s for a new one, "
        f"{whole['known']:.1f} s for one of known content and settings, {whole['cold']:.1f} s for a known one that "
        f"starts cold: {whole['known'] / whole['cold']:.2f} of the time in the same run.", "",
        "| phase | new, s | known, s | known and cold, s |", "|---|---|---|---|",
        *(_row(phase, [_median(starts[kind], phase) for kind in ("new", "known", "cold")]) for phase in phases),
        _row("all", [whole[kind] for kind in ("new", "known", "cold")]), "",
        f"Imports, in seconds of processor time (medians of {N_IMPORTS}): a worker's are {ratio:.2f} times torch's.",
        "", "| what | s |", "|---|---|", *(f"| {name} | {seconds:.2f} |" for name, seconds in imported.items()), "",
    ])  # fmt: skip


def _row(name: str, seconds: Sequence[float]) -> str:
    return f"| {name} | " + " | ".join(f"{each:.2f}" for each in seconds) + " |"


def _median(starts: Sequence[dict[str, Any]], phase: str) -> float:
    return statistics.median(
        sum(part["duration_s"] for part in start["phases"] if part["name"] == phase) for start in starts
    )


if __name__ == "__main__":
    main()
