# SPDX-License-Identifier: Apache-2.0
"""The web process alone in a flood of submissions: what a tenant that works as usual waits for, in processor time.

    python -m benchmarks.overload_web [--out benchmarks/results/overload-web.md]

The real ASGI application in this process, with real PostgreSQL and Valkey, and default rate limits and seats. For each
request of the tenant: the processor time of the whole process between the request and its answer, all threads and the
flood's clients included, which other load of the machine hardly changes. `benchmarks.overload` measures seconds on the
whole platform.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.web_process import ask, web_process

BOUND = 3.0  # the tenant's p95 in the flood, at most so many times its p95 before
PAUSE_S = 0.1  # between two requests of the tenant
N_QUIET = 60
LISTS = ("/jobs?limit=25", "/auth/me", "/datasets", "/models", "/organisations")
PROFILE = {"parameters_bytes": 1000, "steps_per_epoch": 3}
TenantClient = tuple[dict[str, str], dict[str, Any]]  # of a tenant: headers, and the job that it submits


@dataclass
class TenantWaits:
    """Seconds of processor time and of time of each request."""

    processor_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)

    def ms(self, share: float) -> float:
        return _quantile_ms(self.processor_s, share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/overload-web.md"))
    parser.add_argument("--tenants", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=80, help="of each tenant")
    parser.add_argument("--connections", type=int, default=8, help="of each tenant")
    arguments = parser.parse_args()
    with web_process() as application:
        senders = _senders(arguments.tenants + 1)
        text = asyncio.run(_measure(application, senders, arguments))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text)
    print(text)


def _senders(n: int) -> list[TenantClient]:
    """Of n organisations with one user each."""
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", verbosity=0)
    from mlhub.tenants.actions import create_token
    from mlhub.tenants.models import Membership, Organisation, Project, Quota, User
    from tests.jobs.builders import builtin, ready_dataset

    found = []
    for i in range(n):
        organisation = Organisation.objects.create(name=f"organisation {i}")
        Quota.objects.create(organisation=organisation)
        user = User.objects.create(username=f"user{i}")
        Membership.objects.create(user=user, organisation=organisation, role="owner")
        project = Project.objects.create(organisation=organisation, name="work")
        dataset = ready_dataset(project, user)
        token = create_token(user, name="overload", scopes=["read", "write"], expires_in_days=None)[1]
        job = {"dataset": str(dataset.dataset_id), "model": str(builtin().model_id), "project": str(project.pk)}
        found.append(({"authorization": f"Bearer {token}"}, {**job, "epochs": 1, "batch_size": 2}))
    connections.close_all()
    return found


async def _measure(application: Any, senders: list[TenantClient], arguments: argparse.Namespace) -> str:
    *flooding, usual = senders
    for headers, job in senders:
        await ask(application, "POST", "/api/v1/jobs", headers, {**job, "name": "first"})
    await asyncio.to_thread(_pass_dry_runs)
    await _work(application, usual, TenantWaits(), asyncio.Event(), 11)  # warm
    quiet, during, is_over = TenantWaits(), TenantWaits(), asyncio.Event()
    await _work(application, usual, quiet, asyncio.Event(), N_QUIET)
    working = asyncio.create_task(_work(application, usual, during, is_over, 10**9))
    answers: Counter[int] = Counter()
    began_s, began = time.process_time(), time.perf_counter()
    clients = []
    for tenant in flooding:
        numbers = iter(range(arguments.jobs))
        clients += [_submit_all(application, tenant, numbers, answers) for _ in range(arguments.connections)]
    await asyncio.gather(*clients)
    took_s, took = time.process_time() - began_s, time.perf_counter() - began
    is_over.set()
    await working
    return _report(arguments, quiet, during, answers, took_s=took_s, took=took)


def _pass_dry_runs() -> None:
    """As if each tenant's first job had passed its dry run: on the whole platform it has, soon after it was sent."""
    from django.db import connections

    from mlhub.jobs.execution import validations
    from mlhub.jobs.models import Job

    for job in Job.objects.select_related("project"):
        validations.keep(job, PROFILE)
    connections.close_all()


async def _work(application: Any, sender: TenantClient, waits: TenantWaits, is_over: asyncio.Event, n: int) -> None:
    """Looks at lists, and submits and cancels a job now and then."""
    headers, job = sender

    async def timed(verb: str, path: str, body: Any = None) -> tuple[int, bytes]:
        began_s, began = time.process_time(), time.perf_counter()
        answer = await ask(application, verb, f"/api/v1{path}", headers, body)
        waits.processor_s.append(time.process_time() - began_s)
        waits.wall_s.append(time.perf_counter() - began)
        return answer

    for i in range(n):
        if is_over.is_set():
            return
        await timed("GET", LISTS[i % len(LISTS)])
        if i % 10 == 5:
            status, answer = await timed("POST", "/jobs", {**job, "name": f"usual {i}"})
            if status == 201:
                await timed("POST", f"/jobs/{json.loads(answer)['id']}/cancel")
        await asyncio.sleep(PAUSE_S)


async def _submit_all(application: Any, sender: TenantClient, numbers: Iterator[int], answers: Counter[int]) -> None:
    headers, job = sender
    for number in numbers:
        status = 0
        while status != 201:
            body = {**job, "name": f"job {number}"}
            status, answer = await ask(application, "POST", "/api/v1/jobs", headers, body)
            answers[status] += 1
            if status != 201:
                await asyncio.sleep(json.loads(answer).get("retry_after_s") or 1)


def _quantile_ms(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _report(
    arguments: argparse.Namespace,
    quiet: TenantWaits,
    during: TenantWaits,
    answers: Counter[int],
    *,
    took_s: float,
    took: float,
) -> str:
    ratio = during.ms(0.95) / quiet.ms(0.95)
    rows = [
        f"| {name} | {len(waits.wall_s)} | {waits.ms(0.5):.0f} | {waits.ms(0.95):.0f} "
        f"| {_quantile_ms(waits.wall_s, 0.5):.0f} | {_quantile_ms(waits.wall_s, 0.95):.0f} |"
        for name, waits in (("quiet", quiet), ("in the flood", during))
    ]
    kinds = ", ".join(f"{n:,} × {status}" for status, n in sorted(answers.items()))
    return "\n".join([
        "# Overload of the web process alone", "",
        f"By `python -m benchmarks.overload_web`: {arguments.tenants} tenants submit {arguments.jobs} jobs each over "
        f"{arguments.connections} connections each; another one works as usual.", "",
        "| the other one | requests | p50, ms of processor | p95 | p50, ms | p95 |", "|---|---|---|---|---|---|", *rows,
        "", f"- Its p95 in processor time in the flood is {ratio:.2f} times its quiet one; the bound is {BOUND:g}: "
        f"{'kept' if ratio <= BOUND else 'not kept'}.",
        f"- The flood took {took_s:.1f} s of processor time, {took:.0f} s; answers: {kinds}.", "",
    ])  # fmt: skip


if __name__ == "__main__":
    main()
