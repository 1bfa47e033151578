# SPDX-License-Identifier: Apache-2.0
"""MLHub's pages beside those of MLflow's own UI and server, of the same runs, in one Chromium and in turns.

python -m benchmarks.dashboard_mlflow --mlflow PYTHON [--runs 10000] [--metrics 1000] [--points 1000000] [--rounds 3]
                                      [--page FILE]

--mlflow: the Python of an environment outside of this one with the whole `mlflow`, whose wheel has the UI:
    uv venv FOLDER && uv pip install --python FOLDER/bin/python mlflow
Both have --runs runs of 4 metrics, one run with --metrics metrics of 200 points, one with a metric of --points points,
and MLHub's list of jobs as many jobs. They are stored by SQL, not logged by either API. Content: what the page is
for, such as the first run's name in the list or the first curve, from the beginning of the navigation. Each page is
visited without the browser's cache and then with it. The dashboard must be built (make frontend).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.dashboard import PAINT, PATIENCE_MS, fill, sign_in, stored
from benchmarks.dashboard_mlflow_page import page_of
from benchmarks.dashboard_runs import COMPARED, FilledRuns, RunShape, store_in_mlflow
from benchmarks.ingest_sessions import own_server
from benchmarks.process_times import processes_of, stat_of
from tests.e2e.chromium import ARGUMENTS, CHROMIUM
from tests.platform import RunningPlatform, running

MLHUB, MLFLOW = "MLHub", "MLflow"
CURVES = 10  # as many runs as MLflow's charts show unasked
QUIET_S, MOST_S, IDLE_S = 1.5, 45.0, 15.0
PLOT = ".js-plotly-plot .scatterlayer .trace"
CANVAS = "figure canvas"


@dataclass(frozen=True)
class ComparedPage:
    """An address of each, and what of its page is waited for: a selector of CSS, or text="..." of something seen."""

    name: str
    mlhub: tuple[str, str]
    mlflow: tuple[str, str]


@dataclass
class PageVisits:
    """What was measured of one page; a value a visit. api_bytes: those of answers that are data."""

    paint_ms: list[float] = field(default_factory=list)
    content_ms: list[float] = field(default_factory=list)
    all_bytes: list[float] = field(default_factory=list)
    api_bytes: list[float] = field(default_factory=list)
    processor_ms: list[float] = field(default_factory=list)


@dataclass
class VisitedServer:
    """idle: its processor time in seconds a second while nobody visits it. memory: before and after the visits."""

    context: Any
    processes: Callable[[], list[int]]
    idle: float = 0.0
    memory: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class ComparedVersions:
    mlflow: str
    sqlite: str
    chromium: str


@dataclass(frozen=True)
class ComparedDashboards:
    """visits: by page, whether the browser's cache was on, and server."""

    visits: dict[tuple[str, bool, str], PageVisits]
    servers: dict[str, VisitedServer]
    versions: ComparedVersions
    filled_s: dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard_mlflow")
    parser.add_argument("--mlflow", type=Path, required=True, help="Python of an environment with the whole mlflow")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--metrics", type=int, default=1000)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=Path, help="file to write the results to")
    given = parser.parse_args(arguments)
    if CHROMIUM is None:
        parser.error("There is no Chromium; run: make browser")
    if given.runs < COMPARED:
        parser.error(f"--runs: at least {COMPARED}, which are compared.")
    measured = measure(given)
    text = page_of(measured, given=given, load=os.getloadavg()[0], when=datetime.now(UTC))
    print(text)
    if given.page:
        given.page.write_text(text)
    return 0


def measure(given: argparse.Namespace) -> ComparedDashboards:
    shape = RunShape(given.runs, given.metrics, given.points)
    with tempfile.TemporaryDirectory(prefix="mlhub-beside-") as folder, contextlib.ExitStack() as stack:
        place = Path(folder) / "platform"
        place.mkdir()
        platform = stack.enter_context(running(place))
        platform.person("root")  # without an administrator, the page to sign in asks for the first one
        own = stack.enter_context(own_server(given.mlflow, Path(folder)))
        began = time.monotonic()
        job = fill(platform, given.runs, share=1.0, points=given.points, lines=0).long
        ours = store_runs(platform, given)
        between = time.monotonic()
        theirs = store_in_mlflow(Path(folder) / "mlflow.db", shape, experiment=0)
        filled_s = {MLHUB: between - began, MLFLOW: time.monotonic() - between}
        print(f"filled: {filled_s}", file=sys.stderr)
        browser = stack.enter_context(started_browser())
        servers = {
            MLHUB: VisitedServer(context(browser, platform.url), lambda: processes_of(platform)),
            MLFLOW: VisitedServer(context(browser, own.url), own.processes),
        }
        sign_in(servers[MLHUB].context, f"person{given.runs}")
        versions = ComparedVersions(text_of(f"{own.url}/version"), sqlite_of(given.mlflow), browser.version)
        pages = pages_of(job, ours, theirs)
        visits = visit_all(pages, servers, n_rounds=given.rounds)
    return ComparedDashboards(visits, servers, versions, filled_s)


def store_runs(platform: RunningPlatform, given: argparse.Namespace) -> FilledRuns:
    amounts = {"runs": given.runs, "metrics": given.metrics, "points": given.points}
    printed = stored(platform, "benchmarks.dashboard_runs", given.runs, amounts)
    return FilledRuns(**json.loads(printed.splitlines()[-1]))


def pages_of(job: str, ours: FilledRuns, theirs: FilledRuns) -> list[ComparedPage]:
    experiment = "/#/experiments/0/runs"
    listed = (experiment, f'text="{theirs.newest}"')
    many = (f"{experiment}/{theirs.many}/model-metrics", PLOT)
    compared = f'/#/compare-runs?runs={json.dumps(theirs.compared)}&experiments=["0"]'
    beside = f"/compare?runs={','.join(ours.compared)}"
    few = f"/compare?runs={','.join(ours.compared[-CURVES:])}"
    return [
        ComparedPage("List of runs", ("/runs", f'text="{ours.newest}"'), listed),
        ComparedPage("List of jobs, of runs", ("/jobs", 'text="long-job"'), listed),
        ComparedPage("Run with many metrics", (f"/runs/{ours.many}", CANVAS), many),
        ComparedPage("Job, run with many metrics", (f"/jobs/{job}/metrics", CANVAS), many),
        ComparedPage(
            "The long metric",
            (f"/runs/{ours.long}", CANVAS),
            (f"{experiment}/{theirs.long}/model-metrics", PLOT),
        ),
        ComparedPage(
            f"Table of {COMPARED} compared runs",
            (beside, f'text="{ours.oldest}"'),
            (compared, f'text="{theirs.oldest}"'),
        ),
        ComparedPage(f"Curves of {CURVES} runs", (few, CANVAS), (f"{experiment}?compareRunsMode=CHART", PLOT)),
    ]


@contextlib.contextmanager
def started_browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        yield browser
        browser.close()


def context(browser: Any, url: str) -> Any:
    made = browser.new_context(base_url=url, viewport={"width": 1440, "height": 900})
    made.set_default_timeout(PATIENCE_MS)
    return made


def visit_all(
    pages: Sequence[ComparedPage], servers: dict[str, VisitedServer], *, n_rounds: int
) -> dict[tuple[str, bool, str], PageVisits]:
    visits: dict[tuple[str, bool, str], PageVisits] = {}
    for page in pages:  # once unmeasured: what a server loads at its first request is not the page's
        for name, server in servers.items():
            visit(server, page.mlhub if name == MLHUB else page.mlflow, PageVisits(), is_cached=True)
            print(f"{page.name} of {name} can be visited", file=sys.stderr)
    before = {name: memory_of(server) for name, server in servers.items()}
    for server in servers.values():
        spent = processor_s(server.processes())
        time.sleep(IDLE_S)
        server.idle = (processor_s(server.processes()) - spent) / IDLE_S
    for _ in range(n_rounds):
        for page in pages:
            for is_cached in (False, True):
                for name, server in servers.items():
                    found = visits.setdefault((page.name, is_cached, name), PageVisits())
                    visit(server, page.mlhub if name == MLHUB else page.mlflow, found, is_cached=is_cached)
            print(f"{page.name} was visited", file=sys.stderr)
    for name, server in servers.items():
        server.memory = (before[name], memory_of(server))
    return visits


def visit(server: VisitedServer, page_of_it: tuple[str, str], found: PageVisits, *, is_cached: bool) -> None:
    """Opens the page anew, waits for its content and until it is quiet, and adds what was measured."""
    address, content = page_of_it
    page = server.context.new_page()
    session = server.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": not is_cached})
    traffic = PageTraffic(session)
    spent, began = processor_s(server.processes()), time.monotonic()
    page.goto(address, wait_until="commit")
    page.locator(content).first.wait_for()
    found.content_ms.append(1000 * (time.monotonic() - began))
    while time.monotonic() - began < MOST_S and not traffic.is_quiet():
        page.wait_for_timeout(100)
    if traffic.under_way():
        print(f"{address[:80]} was not quiet after {MOST_S:.0f} s: {traffic.under_way()}", file=sys.stderr)
    took = time.monotonic() - began
    found.processor_ms.append(1000 * (processor_s(server.processes()) - spent - server.idle * took))
    found.paint_ms.append(page.evaluate(PAINT))
    found.all_bytes.append(traffic.n_bytes)
    found.api_bytes.append(traffic.n_api_bytes)
    page.close()


class PageTraffic:
    """Bytes that came over the network, compressed as they came, and whether anything is still under way."""

    def __init__(self, session: Any) -> None:
        self.n_bytes = self.n_api_bytes = 0
        self._under_way: dict[str, str] = {}  # addresses by the request's id
        self._last = time.monotonic()
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.dataReceived", self._received)
        session.on("Network.responseReceived", self._answered)
        session.on("Network.loadingFinished", self._ended)
        session.on("Network.loadingFailed", self._ended)

    def is_quiet(self) -> bool:
        return not self._under_way and time.monotonic() - self._last > QUIET_S

    def under_way(self) -> list[str]:
        return list(self._under_way.values())

    def _sent(self, event: dict[str, Any]) -> None:
        url = event["request"]["url"]
        has_end = "/stream" not in url and not url.endswith(".worker.js")  # neither is reported as ended
        if url.startswith("http") and has_end:
            self._under_way[event["requestId"]] = url
            self._last = time.monotonic()

    def _received(self, event: dict[str, Any]) -> None:
        self._add(event["requestId"], event["encodedDataLength"])

    def _answered(self, event: dict[str, Any]) -> None:
        self._add(event["requestId"], event["response"]["encodedDataLength"])

    def _ended(self, event: dict[str, Any]) -> None:
        self._under_way.pop(event["requestId"], None)
        self._last = time.monotonic()

    def _add(self, request: str, n_bytes: int) -> None:
        self.n_bytes += n_bytes
        if is_data(self._under_way.get(request, "")):
            self.n_api_bytes += n_bytes


def is_data(url: str) -> bool:
    return "/api/" in url or "/ajax-api/" in url or url.endswith("/graphql")


def processor_s(pids: Sequence[int]) -> float:
    """What these processes have taken of processors so far, with those of their children that have ended."""
    ticks = sum(int(ticks) for pid in pids if (fields := stat_of(pid)) for ticks in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_of(server: VisitedServer) -> float:
    """Bytes of the processes that answer and store; what several share counts once."""
    return sum(shared_out_bytes(pid) for pid in server.processes())


def shared_out_bytes(pid: int) -> int:
    """0 of a process that has just ended."""
    try:
        found = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(found.partition("\nPss:")[2].split()[0]) * 1024


def text_of(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode()).strip()


def sqlite_of(python: Path) -> str:
    show = [str(python), "-c", "import sqlite3; print(sqlite3.sqlite_version)"]
    return subprocess.run(show, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
