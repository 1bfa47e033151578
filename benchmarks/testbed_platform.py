# SPDX-License-Identifier: Apache-2.0
"""A whole platform on virtual nodes, for one benchmark: started in an empty folder, used by its REST API, stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.virtual_nodes import VirtualCluster
from mlhub.demo import material
from mlhub.demo.client import Person
from mlhub.demo.people import logins
from mlhub.embedded.home import Home

START_S = 180.0
STOP_S = 90.0
ENDED = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True)
class SubmittedJob:
    """A job of the testbed's trace. guess: workers that a person might ask for, where the policy needs it."""

    at_s: float
    name: str
    model: str
    epochs: int
    guess: int
    batch_size: int = 64
    hyperparameters: Mapping[str, Any] | None = None
    mode: str | None = None


class PlatformOnNodes:
    """Everything as a user does it, but for the policy: that is the administrator's."""

    def __init__(self, url: str, home: Path) -> None:
        maria, _, admin = (Person(url, login.username, login.password) for login in logins(home))
        self._person, self._admin = maria, admin
        project = maria.post("/projects", organisation=maria.organisation["id"], name="testbed")
        data = maria.upload("/datasets", "mnist-5k.npz", material.mnist_5k(), name="mnist-5k", project=project["id"])
        self._dataset = maria.wait_ready(f"/datasets/{data['id']}")
        self._models: dict[str, str] = {m["name"]: m["id"] for m in maria.get("/models", limit=200)["results"]}

    @property
    def person(self) -> Person:
        """Returns the user who submits the jobs."""
        return self._person

    def submit(self, submission: SubmittedJob) -> str:
        """Submits the job with exactly the workers of its guess; returns its id."""
        return self._submit(submission, is_elastic=False)

    def choose_policy(self, name: str, parameters: Mapping[str, Any]) -> None:
        self._admin.patch("/scheduler/settings", policy=name, parameters=dict(parameters))

    def run(self, trace: Sequence[SubmittedJob], *, is_elastic: bool, seconds: float) -> list[dict[str, Any]]:
        """The jobs as the API shows them once all have ended, in the trace's order. Raises TimeoutError."""
        began = time.monotonic()
        ids = []
        for submission in sorted(trace, key=lambda one: one.at_s):
            time.sleep(max(0.0, submission.at_s - (time.monotonic() - began)))
            ids.append(self._submit(submission, is_elastic=is_elastic))
        while True:
            jobs = [self._person.get(f"/jobs/{job_id}") for job_id in ids]
            if all(job["state"] in ENDED for job in jobs):
                return jobs
            if time.monotonic() - began > seconds:
                waiting = ", ".join(f"{job['name']} is {job['state']}" for job in jobs if job["state"] not in ENDED)
                raise TimeoutError(f"not all jobs ended within {seconds:.0f} s: {waiting}")
            time.sleep(1.0)

    def _submit(self, submission: SubmittedJob, *, is_elastic: bool) -> str:
        sizes = {} if is_elastic else {"min_workers": submission.guess, "max_workers": submission.guess}
        mode = {"mode": submission.mode} if submission.mode else {}
        job = self._person.post(
            "/jobs",
            name=submission.name,
            dataset=self._dataset["id"],
            model=self._models[submission.model],
            epochs=submission.epochs,
            batch_size=submission.batch_size,
            hyperparameters=dict(submission.hyperparameters or {}),
            **sizes,
            **mode,
        )
        return str(job["id"])


@contextlib.contextmanager
def platform_on(cluster: VirtualCluster) -> Iterator[PlatformOnNodes]:
    """Raises RuntimeError with the platform's last words if it does not come up."""
    with TemporaryDirectory(prefix="mlhub-testbed-") as folder:
        path = Path(folder)
        (path / "cluster.yaml").write_text(cluster.as_yaml())
        path.chmod(0o755)  # the database runs as a user of its own
        home = Home(path / "home")
        environment = {
            **os.environ,
            "MLHUB_HOME": str(home.path),
            "MLHUB_HOST": cluster.gateway,
            "MLHUB_CLUSTER_FILE": str(path / "cluster.yaml"),
        }
        log = path / "platform.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "mlhub.embedded", "up"], env=environment, stdout=output, stderr=output
            )
        before = dict(os.environ)
        try:
            url = _wait_until_up(process, home, log)
            known = home.platform()
            assert known is not None
            os.environ |= home.environment(url=url, database_url=known.database_url, redis_url=known.redis_url)
            yield PlatformOnNodes(url, home.path)
        finally:
            os.environ.clear()
            os.environ.update(before)
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_S)


def _wait_until_up(process: subprocess.Popen[bytes], home: Home, log: Path) -> str:
    until = time.monotonic() + START_S
    while "platform is up" not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"the platform did not come up: {log.read_text(errors='replace')[-1500:]}")
        time.sleep(0.2)
    known = home.platform()
    assert known is not None
    return known.url
