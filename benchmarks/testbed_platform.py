# SPDX-License-Identifier: Apache-2.0
"""A whole platform on virtual nodes, for one benchmark: started in an empty folder, used by its REST API, stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pydoc_data import topics
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.virtual_nodes import VirtualCluster
from mlhub.demo import material
from mlhub.demo.client import Person
from mlhub.demo.people import logins
from mlhub.embedded.home import Home
from mlhub.runtime.fingerprint import runtime_fingerprint

START_S = 180.0
STOP_S = 90.0
POLL_S = 4.0
ENDED = ("succeeded", "failed", "cancelled")
N_CHARACTERS = 120_000


def _prose() -> tuple[str, bytes]:
    """Python's own reference, which every Python brings along."""
    return "prose.txt", "\n\n".join(topics.topics[name] for name in sorted(topics.topics))[:N_CHARACTERS].encode()


DATASETS: Mapping[str, Callable[[], tuple[str, bytes]]] = {
    "mnist": lambda: ("mnist-5k.npz", material.mnist_5k()),
    "prose": _prose,
}


@dataclass(frozen=True)
class SubmittedJob:
    """A job to submit. guess: workers that a person might ask for, where the policy needs it.

    organisation: of the two, by number. gpu_types: that it may use; none = any. most_workers: of an elastic job; None =
    as many as the platform allows.
    """

    at_s: float
    name: str
    model: str
    epochs: int
    guess: int
    batch_size: int = 64
    hyperparameters: Mapping[str, Any] | None = None
    mode: str | None = None
    dataset: str = "mnist"
    organisation: int = 0
    gpu_types: tuple[str, ...] = ()
    most_workers: int | None = None


class PlatformOnNodes:
    """Everything as users do it, but for the policy: that is the administrator's. There are two organisations."""

    def __init__(self, url: str, home: Path) -> None:
        maria, jonas, admin = (Person(url, login.username, login.password) for login in logins(home))
        self._people, self._admin = (maria, jonas), admin
        self._owner: dict[str, Person] = {}
        self._datasets: dict[tuple[str, str], str] = {}
        for person in self._people:
            if person.named("/projects", "testbed") is None:
                person.post("/projects", organisation=person.organisation["id"], name="testbed")
        self._models: dict[str, str] = {m["name"]: m["id"] for m in maria.get("/models", limit=200)["results"]}

    @property
    def person(self) -> Person:
        """Returns the user who submits the jobs, where there is one only."""
        return self._people[0]

    @property
    def admin(self) -> Person:
        """Returns the platform's administrator."""
        return self._admin

    def submit(self, submission: SubmittedJob) -> str:
        """Submits the job with exactly the workers of its guess; returns its id."""
        return self._submit(submission, is_elastic=False)

    def try_out(self, trace: Sequence[SubmittedJob]) -> None:
        """Submits the jobs, and takes each back once its dry run has passed. Raises RuntimeError if one does not."""
        ids = [self._submit(submission, is_elastic=True) for submission in trace]
        for job_id in ids:
            while (job := self._owner[job_id].get(f"/jobs/{job_id}"))["preflight"] == "pending":
                time.sleep(0.5)
            if job["preflight"] != "passed":
                raise RuntimeError(f"{job['name']} was refused: {job['failure']}")
        for job_id in ids:
            self._owner[job_id].post(f"/jobs/{job_id}/cancel")

    def choose_policy(self, name: str, parameters: Mapping[str, Any]) -> None:
        self._admin.patch("/scheduler/settings", policy=name, parameters=dict(parameters))

    def run(self, trace: Sequence[SubmittedJob], *, is_elastic: bool, seconds: float) -> list[dict[str, Any]]:
        """The jobs as the API shows them once all have ended, in the trace's order. Raises TimeoutError."""
        began = time.monotonic()
        ids = []
        for submission in sorted(trace, key=lambda one: one.at_s):
            time.sleep(max(0.0, submission.at_s - (time.monotonic() - began)))
            ids.append(self._submit(submission, is_elastic=is_elastic))
        open_ids, ended = set(ids), dict[str, dict[str, Any]]()
        while True:
            ended |= {job_id: self._owner[job_id].get(f"/jobs/{job_id}") for job_id in ids if job_id in open_ids}
            open_ids = {job_id for job_id in ids if ended[job_id]["state"] not in ENDED}
            if not open_ids:
                return [ended[job_id] for job_id in ids]
            if time.monotonic() - began > seconds:
                waiting = ", ".join(f"{ended[job_id]['name']} is {ended[job_id]['state']}" for job_id in open_ids)
                raise TimeoutError(f"not all jobs ended within {seconds:.0f} s: {waiting}")
            time.sleep(POLL_S)  # each look costs the web server some 40 ms of a processor

    def get(self, job_id: str, part: str) -> Any:
        """Returns a part of the job, as its owner sees it."""
        return self._owner[job_id].get(f"/jobs/{job_id}/{part}")

    def _dataset(self, person: Person, name: str) -> str:
        if (person.username, name) not in self._datasets:
            data = person.named("/datasets", name)
            if data is None:
                filename, content = DATASETS[name]()
                project = person.named("/projects", "testbed")
                assert project is not None
                data = person.upload("/datasets", filename, content, name=name, project=project["id"])
            self._datasets[person.username, name] = person.wait_ready(f"/datasets/{data['id']}")["id"]
        return self._datasets[person.username, name]

    def _submit(self, submission: SubmittedJob, *, is_elastic: bool) -> str:
        sizes: dict[str, Any] = {"min_workers": submission.guess, "max_workers": submission.guess}
        if is_elastic:
            sizes = {"min_workers": 1, "max_workers": submission.most_workers} if submission.most_workers else {}
        mode = {"mode": submission.mode} if submission.mode else {}
        types = {"resources": {"gpu_types": list(submission.gpu_types)}} if submission.gpu_types else {}
        person = self._people[submission.organisation]
        job = person.post(
            "/jobs",
            name=submission.name,
            dataset=self._dataset(person, submission.dataset),
            model=self._models[submission.model],
            epochs=submission.epochs,
            batch_size=submission.batch_size,
            hyperparameters=dict(submission.hyperparameters or {}),
            **sizes,
            **mode,
            **types,
        )
        self._owner[str(job["id"])] = person
        return str(job["id"])


class PlatformFolder:
    """A folder for a platform on virtual nodes, with all that jobs need besides a scheduler: datasets, and dry runs.

    Each run starts from a copy of what was prepared once, so that no run knows what another one learnt.
    """

    def __init__(self, folder: Path, cluster: VirtualCluster) -> None:
        self._folder, self._cluster = folder, cluster
        self._home, self._prepared, self._code = folder / "home", folder / "prepared", folder / "prepared.code"
        folder.chmod(0o755)  # the database runs as a user of its own
        (folder / "cluster.yaml").write_text(cluster.as_yaml())

    @property
    def is_prepared(self) -> bool:
        """Whether a platform is there whose dry runs count for the present code: else each run makes them anew."""
        return self._prepared.exists() and self._code.exists() and self._code.read_text() == runtime_fingerprint()

    def prepare(self, trace: Sequence[SubmittedJob]) -> None:
        """Uploads the datasets, and has a job of each kind and organisation tried out while no node is up."""
        for earlier in (self._home, self._prepared):
            shutil.rmtree(earlier, ignore_errors=True)
        down = [self._home / "nodes" / f"{node.name}.down" for node in self._cluster.nodes]
        (self._home / "nodes").mkdir(parents=True)
        for file in down:
            file.touch()
        with self._platform() as platform:
            platform.try_out(trace)
        for file in down:
            file.unlink()
        self._home.rename(self._prepared)
        self._code.write_text(runtime_fingerprint())

    @contextlib.contextmanager
    def run(self) -> Iterator[PlatformOnNodes]:
        """A platform as it was prepared. Raises RuntimeError with its last words if it does not come up."""
        shutil.rmtree(self._home, ignore_errors=True)
        if self._prepared.exists():
            subprocess.run(["cp", "-a", str(self._prepared), str(self._home)], check=True)
        with self._platform() as platform:
            yield platform

    @contextlib.contextmanager
    def _platform(self) -> Iterator[PlatformOnNodes]:
        home = Home(self._home)
        environment = {
            **os.environ,
            "MLHUB_HOME": str(home.path),
            "MLHUB_HOST": self._cluster.gateway,
            "MLHUB_CLUSTER_FILE": str(self._folder / "cluster.yaml"),
        }
        log = self._folder / "platform.log"
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


@contextlib.contextmanager
def platform_on(cluster: VirtualCluster) -> Iterator[PlatformOnNodes]:
    """A platform in an empty folder. Raises RuntimeError with its last words if it does not come up."""
    with TemporaryDirectory(prefix="mlhub-testbed-") as folder, PlatformFolder(Path(folder), cluster).run() as platform:
        yield platform


def _wait_until_up(process: subprocess.Popen[bytes], home: Home, log: Path) -> str:
    until = time.monotonic() + START_S
    while "platform is up" not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"the platform did not come up: {log.read_text(errors='replace')[-1500:]}")
        time.sleep(0.2)
    known = home.platform()
    assert known is not None
    return known.url
