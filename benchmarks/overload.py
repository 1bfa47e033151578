# SPDX-License-Identifier: Apache-2.0
"""Five tenants submit 2,000 jobs at once: what a sixth one, working as usual, notices of it; whether jobs are lost.

    python -m benchmarks.overload [--out benchmarks/results/overload.md]

The whole embedded platform with its default limits, over HTTP, on this machine, load generator included. The tenants
that submit obey Retry-After, as the Python client does; each job has an Idempotency-Key of its own. What counts is the
ratio of the latencies of the sixth tenant, whose requests are the same before and during the flood.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx

from mlhub.wire.priority import step_back
from tests.platform import RunningPlatform, running

BOUND = 3.0  # the sixth tenant's p95 in the flood, at most so many times its p95 before
NODE = "{name: n0, gpu_type: cpu-slot, slots: 2, cpus: 4, memory: 8GiB, nic: 10Gbit}"
CLUSTER = f"racks: [{{name: r0, uplink: 10Gbit, nodes: [{NODE}]}}]\n"
PAUSE_S = 0.2  # between two requests of the sixth tenant
UPLOAD_EVERY = 25  # of its requests
UPLOAD_PATIENCE_S = 120.0  # an upload that is not ready by then is counted with this time
CSV = "width,species\n1.0,iris\n2.0,lily\n1.1,iris\n2.1,lily\n"


@dataclass
class Tenant:
    """One organisation with one user, a project, and a dataset to submit jobs on. Crosses into another process."""

    name: str
    url: str
    token: str
    job: dict[str, Any]
    acknowledged: list[str] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)

    @cached_property
    def http(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=120, limits=limits)


@dataclass
class Latencies:
    """Of the sixth tenant in one phase: seconds of each request, and seconds until each upload was ready."""

    requests_s: list[float] = field(default_factory=list)
    uploads_s: list[float] = field(default_factory=list)
    refused: int = 0

    def quantile_ms(self, share: float) -> float:
        ordered = sorted(self.requests_s)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/overload.md"))
    parser.add_argument("--tenants", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=400, help="of each tenant")
    parser.add_argument("--connections", type=int, default=8, help="of each tenant")
    parser.add_argument("--quiet-s", type=float, default=60.0)
    parser.add_argument("--most-s", type=float, default=3600.0, help="the flood ends then at the latest")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mlhub-overload-") as folder:
        os.environ["MLHUB_CLUSTER_FILE"] = str(Path(folder) / "cluster.yaml")
        Path(os.environ["MLHUB_CLUSTER_FILE"]).write_text(CLUSTER)
        state = Path(folder) / "state"
        state.mkdir()
        with running(state) as platform:
            text = measure(platform, arguments)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text)
    print(text)


def measure(platform: RunningPlatform, arguments: argparse.Namespace) -> str:
    tenants = [tenant_of(platform, f"tenant{i}") for i in range(arguments.tenants + 1)]
    flooding, sixth = tenants[:-1], tenants[-1]
    load_before = os.getloadavg()[0]
    quiet = work_as_usual(sixth, stop=threading.Event(), seconds=arguments.quiet_s)
    is_over, during = threading.Event(), Latencies()
    worker = threading.Thread(target=lambda: during.__dict__.update(work_as_usual(sixth, stop=is_over).__dict__))
    worker.start()
    began = time.perf_counter()
    # in a process of its own, behind all others: as if it came from other machines, and in no thread's way here
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        flooding = other.submit(flood, flooding, arguments).result()
    took_s = time.perf_counter() - began
    load_during = os.getloadavg()[0]
    is_over.set()
    worker.join()
    lost, doubled = accounted(flooding)
    return report(
        arguments, quiet, during, flooding, took_s=took_s, lost=lost, doubled=doubled, load=(load_before, load_during)
    )


def tenant_of(platform: RunningPlatform, name: str) -> Tenant:
    person = platform.person(name, organisation=f"Organisation of {name}")
    project = person.post("/projects", organisation=person.organisation["id"], name="work")
    data = person.upload(
        "/datasets", "flowers.csv", CSV.encode(), name="flowers", project=project["id"], target="species"
    )
    person.wait_ready(f"/datasets/{data['id']}", seconds=300)
    model = next(m for m in person.get("/models", limit=200)["results"] if m["name"] == "mlp")
    token = person.post("/tokens", name="overload", scopes=["read", "write"])["token"]
    job = {"dataset": data["id"], "model": model["id"], "project": project["id"], "epochs": 1, "batch_size": 2}
    return Tenant(name, platform.url, token, job)


def flood(tenants: list[Tenant], arguments: argparse.Namespace) -> list[Tenant]:
    """All jobs of all tenants, on all connections at once; what is not acknowledged in time is given up."""
    os.setsid()  # or its niceness would count among the processes of this benchmark only
    step_back(10)
    until = time.monotonic() + arguments.most_s
    with ThreadPoolExecutor(arguments.tenants * arguments.connections) as pool:
        for tenant in tenants:
            numbers = iter(range(arguments.jobs))
            for _ in range(arguments.connections):
                pool.submit(submit_all, tenant, numbers, until)
    return [replace(tenant) for tenant in tenants]  # without its client


def submit_all(tenant: Tenant, numbers: Any, until: float) -> None:
    """Submits the jobs whose numbers it draws, each until it is acknowledged."""
    for number in numbers:
        while time.monotonic() < until:
            headers = {"Idempotency-Key": f"{tenant.name}-{number}"}
            try:
                answer = tenant.http.post("/jobs", json={**tenant.job, "name": f"job {number}"}, headers=headers)
            except httpx.TransportError:  # the same key gives the same job, whether it was made or not
                tenant.answers[0] += 1
                continue
            tenant.answers[answer.status_code] += 1
            if answer.status_code == 201:
                tenant.acknowledged.append(answer.json()["id"])
                break
            time.sleep(float(answer.headers.get("Retry-After", 1)))


def work_as_usual(tenant: Tenant, *, stop: threading.Event, seconds: float = 3600.0) -> Latencies:
    """Looks at jobs and data, submits and cancels a job now and then, and uploads a file that must become ready."""
    found, until, i = Latencies(), time.monotonic() + seconds, 0
    uploads: list[threading.Thread] = []
    while not stop.is_set() and time.monotonic() < until:
        kind = ("/jobs?limit=25", "/auth/me", "/datasets", "/models", "/organisations")[i % 5]
        _timed(found, tenant, "GET", kind)
        if i % 10 == 5:
            job = _timed(found, tenant, "POST", "/jobs", json={**tenant.job, "name": f"usual {i}"})
            if job is not None:
                _timed(found, tenant, "POST", f"/jobs/{job['id']}/cancel")
        if i % UPLOAD_EVERY == 0:
            uploads.append(threading.Thread(target=_upload, args=(found, tenant, f"{seconds:.0f} {i}")))
            uploads[-1].start()
        i += 1
        time.sleep(PAUSE_S)
    for one in uploads:
        one.join()
    return found


def _timed(found: Latencies, tenant: Tenant, verb: str, path: str, **sent: Any) -> Any:
    began = time.perf_counter()
    answer = tenant.http.request(verb, path, **sent)
    found.requests_s.append(time.perf_counter() - began)
    found.refused += answer.status_code == 429
    return answer.json() if answer.is_success else None


def _upload(found: Latencies, tenant: Tenant, name: str) -> None:
    began = time.perf_counter()
    fields = {"name": name, "project": tenant.job["project"], "target": "species"}
    files = {"file": ("flowers.csv", io.BytesIO(CSV.encode()))}
    made = tenant.http.post("/datasets", data=fields, files=files).json()
    until, is_ready = began + UPLOAD_PATIENCE_S, False
    while not is_ready and time.perf_counter() < until:
        time.sleep(0.5)
        with contextlib.suppress(httpx.TransportError):  # a connection that the server closed while it was idle
            is_ready = tenant.http.get(f"/datasets/{made['id']}").json()["latest_version"]["state"] != "inspecting"
    found.uploads_s.append(time.perf_counter() - began)


def accounted(tenants: list[Tenant]) -> tuple[int, int]:
    """How many acknowledged jobs the API does not show, and how many jobs were made more than once."""
    lost = doubled = 0
    for tenant in tenants:
        shown: Counter[str] = Counter()
        ids: set[str] = set()
        path: str | None = "/jobs?limit=200"
        while path:
            page = tenant.http.get(path).json()
            shown.update(job["name"] for job in page["results"])
            ids |= {job["id"] for job in page["results"]}
            path = page["next"] and page["next"].partition("/api/v1")[2]
        lost += len(set(tenant.acknowledged) - ids)
        doubled += sum(n - 1 for n in shown.values())
    return lost, doubled


def report(
    arguments: argparse.Namespace, quiet: Latencies, during: Latencies, flooding: list[Tenant], *, took_s: float,
    lost: int, doubled: int, load: tuple[float, float],
) -> str:  # fmt: skip
    answers: Counter[int] = sum((tenant.answers for tenant in flooding), Counter())
    ratio = during.quantile_ms(0.95) / quiet.quantile_ms(0.95)
    rows = [
        f"| {name} | {len(p.requests_s):,} | {p.quantile_ms(0.5):,.0f} | {p.quantile_ms(0.95):,.0f} "
        f"| {p.quantile_ms(0.99):,.0f} | {p.refused} | {len(p.uploads_s)} | {statistics.median(p.uploads_s):.1f} "
        f"| {max(p.uploads_s):.1f} |"
        for name, p in (("quiet", quiet), ("in the flood", during))
    ]
    kinds = ", ".join(f"{n:,} × {status}" for status, n in sorted(answers.items()))
    n_jobs, n_acknowledged = arguments.tenants * arguments.jobs, sum(len(t.acknowledged) for t in flooding)
    return "\n".join([
        "# Overload", "",
        "By `python -m benchmarks.overload`: the embedded platform with its default limits on one machine of "
        f"{os.cpu_count()} processors, load generator included.", "",
        f"{arguments.tenants} tenants submit {arguments.jobs} jobs each at once, over {arguments.connections} "
        "connections each; another one works as usual.", "",
        "| the other one | requests | p50, ms | p95, ms | p99, ms | refused | uploads | ready p50, s | ready max, s |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows, "",
        f"- Its p95 in the flood is {ratio:.2f} times its quiet one; the bound is {BOUND:g}: "
        f"{'kept' if ratio <= BOUND else 'not kept'}.",
        f"- Of {n_jobs:,} jobs, {n_acknowledged:,} were acknowledged in {took_s:.0f} s; answers: {kinds}.",
        f"- Acknowledged and lost: {lost}. Made twice: {doubled}.",
        f"- Load average of the machine: {load[0]:.1f} before, {load[1]:.1f} at the end of the flood.", "",
    ])  # fmt: skip


if __name__ == "__main__":
    main()
