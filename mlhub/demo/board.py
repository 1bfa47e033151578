# SPDX-License-Identifier: Apache-2.0
"""What the terminal shows: a bar for each job while it runs, and the table at the end."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from mlhub.demo.client import Person

ENDED = ("succeeded", "failed", "cancelled")


def watch(console: Console, jobs: list[tuple[Person, str]], *, seconds: float) -> list[dict[str, Any]]:
    """Follows the jobs until all have ended; returns them. Prints a line at every change of state or reason.

    Raises TimeoutError when they take longer than `seconds`.
    """
    progress = Progress(TextColumn("{task.description:<22}"), BarColumn(40), TextColumn("{task.fields[note]}"))
    bars: dict[str, TaskID] = {}
    said: dict[str, tuple[str, str]] = {}
    ended: dict[str, dict[str, Any]] = {}
    until = time.monotonic() + seconds
    with Live(progress, console=console, refresh_per_second=4, transient=True) as live:
        while True:
            shown = [ended.get(job_id) or person.get(f"/jobs/{job_id}") for person, job_id in jobs]
            ended = {job["id"]: job for job in shown if job["state"] in ENDED}
            for job in shown:
                if job["id"] not in bars:
                    bars[job["id"]] = progress.add_task(job["name"], total=1.0, note="")
                progress.update(bars[job["id"]], completed=job["progress"], note=_note(job))
                news = (job["state"], job["reason"])
                if said.get(job["id"]) != news:
                    said[job["id"]] = news
                    live.console.print(f"  {job['name']:<22} [bold]{job['state']:<9}[/] {_why(job)}", highlight=False)
            if len(ended) == len(shown):
                return shown
            if time.monotonic() > until:
                raise TimeoutError(f"the jobs did not end within {seconds:.0f} s")
            time.sleep(1)


def table(jobs: list[dict[str, Any]]) -> Table:
    """One row a job: what MLHub chose, how long it took, how good it is, and how well the finish was predicted."""
    out = Table(title="What MLHub did", title_justify="left")
    for column in ("job", "organisation", "mode", "workers + servers", "waited", "trained", "JCT", "held-out accuracy"):
        out.add_column(column)
    out.add_column("predicted finish")
    out.add_column("real finish")
    for job in jobs:
        attempt = job["attempts"][-1] if job["attempts"] else None
        accuracy = accuracy_of(job)
        out.add_row(
            job["name"],
            job["project"]["organisation"]["name"],
            attempt["mode"].replace("_", "-") if attempt else "–",
            f"{attempt['n_workers']} + {attempt['n_servers']}" if attempt else "–",
            _seconds(job["waited_s"]),
            _seconds(job["trained_s"]),
            _seconds(job["jct_s"]),
            f"{accuracy:.3f} (≥ {job['target_value']:g})" if accuracy is not None else "–",
            _clock(job["first_predicted_finish_at"]),
            _clock(job["finished_at"]),
        )
    return out


def accuracy_of(job: dict[str, Any]) -> float | None:
    """The final value of the metric that the job named."""
    value = job["result_metrics"].get(job["target_metric"])
    return float(value) if value is not None else None


def _why(job: dict[str, Any]) -> str:
    if job["failure"]:
        return f"{job['failure']['message']} {job['failure']['remedy']}"
    attempt = job["current_attempt"]
    if job["state"] in ("starting", "running") and attempt:
        servers = f" + {attempt['n_servers']} servers" if attempt["n_servers"] else ""
        return f"{attempt['mode'].replace('_', '-')}, {attempt['n_workers']} workers{servers}"
    if job["state"] == "queued" and job["explanations"]:
        return str(job["explanations"][0]["sentence"])
    return str(job["reason"]).replace("_", " ")


def _note(job: dict[str, Any]) -> str:
    if job["state"] == "running" and job["steps_total"]:
        ends = f", ends {_clock(job['predicted_finish_at'])}" if job["predicted_finish_at"] else ""
        return f"{job['steps_done']}/{job['steps_total']} steps{ends}"
    if job["state"] == "queued":
        return f"waits: {_why(job)}"
    return str(job["state"])


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} s"


def _clock(value: str | None) -> str:
    return "–" if value is None else datetime.fromisoformat(value).astimezone().strftime("%H:%M:%S")
