# SPDX-License-Identifier: Apache-2.0
"""How fast the dashboard is with much data: in Chromium, against the same pages of an empty organisation.

python -m benchmarks.dashboard [--sizes 10 100 1000 10000] [--points 1000000] [--lines 200000] [--rounds 3]
                               [--page FILE]

For each size, an organisation has that many jobs, one of which has size / 10 metrics of 200 points, and the share of
--points in one metric and of --lines of a log that the size is of the largest one. The platform is the embedded one;
the dashboard must be built (make frontend). The pages of all organisations take turns, so that ratios hold on a loaded
machine. First paint: Chromium's first-contentful-paint, new each time, without its cache. Tasks: those of the page's
main thread while it is scrolled, from Chromium's trace, with the time that each took and the processor time of it: the
rest it waited, where browser, server and database share few processors. Responses: the largest body of the API, not
compressed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.dashboard_page import page_of
from tests.e2e.chromium import ARGUMENTS, CHROMIUM
from tests.platform import PASSWORD, ROOT, RunningPlatform, running

PATIENCE_MS = 120_000
SETTLED_MS = 1_500
SCROLLS, SCROLL_PX, SCROLL_MS = 12, 700, 120
PAGES = {
    "Home": "/",
    "Jobs": "/jobs",
    "Job": "/jobs/{job}",
    "Job, Metrics": "/jobs/{job}/metrics",
    "Job, Logs": "/jobs/{job}/logs",
    "New job": "/jobs/new",
    "Datasets": "/datasets",
    "Models": "/models",
    "Queue": "/queue",
    "Cluster": "/cluster",
    "Timeline": "/cluster/timeline",
    "Scheduler": "/scheduler",
    "Usage": "/usage",
    "Runs": "/runs",
    "Studies": "/studies",
    "Compare": "/compare#jobs={compared}",
}
MAIN_THREAD, TASK = "CrRendererMain", "ThreadControllerImpl::RunTask"  # names of Chromium's trace
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


@dataclass(frozen=True)
class FilledJobs:
    """Ids: long is the job of the long metric and log; compared are those of Compare, separated by commas."""

    long: str
    compared: str


@dataclass
class Visits:
    """What was measured of one page in one organisation; each list has a value a visit."""

    paint_ms: list[float] = field(default_factory=list)
    tasks_ms: list[float] = field(default_factory=list)  # the longest of each visit while it was scrolled
    tasks_cpu_ms: list[float] = field(default_factory=list)  # the most processor time of a task of each visit
    heap_bytes: list[float] = field(default_factory=list)
    response_bytes: int = 0
    response_path: str = ""

    def paint(self) -> float:
        return statistics.median(self.paint_ms)


@dataclass
class DashboardVisits:
    """visits: by organisation and page. server_bytes: resident memory of the web process before and after them."""

    visits: dict[int, dict[str, Visits]]
    server_bytes: tuple[int, int]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000, 10_000])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=Path, help="file to write the results to")
    given = parser.parse_args(arguments)
    if CHROMIUM is None:
        parser.error("There is no Chromium; run: make browser")
    with tempfile.TemporaryDirectory(prefix="mlhub-dashboard-") as folder, running(Path(folder)) as platform:
        platform.person("root")  # without an administrator, the page to sign in asks for the first one
        sizes = [0, *sorted(given.sizes)]
        jobs = {n: fill(platform, n, share=n / sizes[-1], points=given.points, lines=given.lines) for n in sizes}
        measured = measure(platform, jobs, n_rounds=given.rounds)
    text = page_of(measured, sizes=sizes, given=given, load=os.getloadavg()[0], when=datetime.now(UTC))
    print(text)
    if given.page:
        given.page.write_text(text)
    return 0


def fill(platform: RunningPlatform, size: int, *, share: float, points: int, lines: int) -> FilledJobs:
    """Makes an organisation of this size, and its person."""
    platform.person(f"person{size}", organisation=f"Size {size}")
    amounts = {"jobs": size, "metrics": size // 10, "points": round(points * share), "lines": round(lines * share)}
    compared, long = stored(platform, "benchmarks.dashboard_data", size, amounts).splitlines()
    return FilledJobs(long, compared)


def stored(platform: RunningPlatform, module: str, size: int, amounts: Mapping[str, int]) -> str:
    """Lets the module store so much in the organisation of this size; returns what it printed."""
    options = [text for name, n in amounts.items() for text in (f"--{name}", str(n))]
    command = [sys.executable, "-m", module, "--organisation", f"Size {size}", *options]
    done = subprocess.run(command, cwd=ROOT, env=platform.environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def measure(platform: RunningPlatform, jobs: dict[int, FilledJobs], *, n_rounds: int) -> DashboardVisits:
    visits: dict[int, dict[str, Visits]] = {size: {name: Visits() for name in PAGES} for size in jobs}
    with browsers(platform, jobs) as contexts:
        before = resident_bytes(platform.pids()["web"])
        for _ in range(n_rounds):
            for name, address in PAGES.items():
                for size, job in jobs.items():
                    visit(contexts[size], address.format(job=job.long, compared=job.compared), visits[size][name])
                print(f"{name} was visited", file=sys.stderr)
        after = resident_bytes(platform.pids()["web"])
    return DashboardVisits(visits, (before, after))


@contextmanager
def browsers(platform: RunningPlatform, jobs: dict[int, FilledJobs]) -> Iterator[dict[int, Any]]:
    """A browser context for each organisation, signed in."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        contexts = {}
        for size in jobs:
            contexts[size] = browser.new_context(base_url=platform.url, viewport={"width": 1440, "height": 900})
            contexts[size].set_default_timeout(PATIENCE_MS)
            sign_in(contexts[size], f"person{size}")
        yield contexts
        browser.close()


def sign_in(context: Any, name: str) -> None:
    page = context.new_page()
    page.goto("/sign-in")
    page.get_by_label("User name").fill(name)
    page.get_by_role("textbox", name="Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("navigation", name="Main").wait_for()
    page.close()


def visit(context: Any, address: str, found: Visits) -> None:
    """Opens the page anew, waits until it is quiet, scrolls it to its end, and adds what was measured."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    session.send("Performance.enable")
    page.on("response", lambda response: _weigh(response, found))
    page.goto(address)
    page.get_by_role("heading", level=1).wait_for()
    page.wait_for_timeout(SETTLED_MS)  # not wait_for_function: the page forbids scripts that are made of text
    found.paint_ms.append(page.evaluate(PAINT))
    context.browser.start_tracing(page=page, categories=["toplevel"])
    page.mouse.move(800, 500)
    for _ in range(SCROLLS):
        page.mouse.wheel(0, SCROLL_PX)
        page.wait_for_timeout(SCROLL_MS)
    took_ms, cpu_ms = longest_task(json.loads(context.browser.stop_tracing()))
    found.tasks_ms.append(took_ms)
    found.tasks_cpu_ms.append(cpu_ms)
    metrics = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
    found.heap_bytes.append(metrics["JSHeapUsedSize"])
    page.close()


def longest_task(trace: Mapping[str, Any]) -> tuple[float, float]:
    """The milliseconds that the longest task of a page's main thread took, and the most processor time of one."""
    events = trace["traceEvents"]
    named = [event for event in events if event["name"] == "thread_name"]
    main = {(event["pid"], event["tid"]) for event in named if event["args"]["name"] == MAIN_THREAD}
    tasks = [event for event in events if event["name"] == TASK and (event["pid"], event["tid"]) in main]
    longest, most = (max(task.get(unit, 0) for task in tasks) / 1000 for unit in ("dur", "tdur"))
    return longest, most


def _weigh(response: Any, found: Visits) -> None:
    """Keeps the largest answer of the API; streams have no end to wait for."""
    path = response.url.partition("/api/v1")[2]
    if not path or "stream" in path:
        return
    n_bytes = len(response.body())
    if n_bytes > found.response_bytes:
        found.response_bytes, found.response_path = n_bytes, path.partition("?")[0]


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


if __name__ == "__main__":
    sys.exit(main())
