# SPDX-License-Identifier: Apache-2.0
"""Uploaded code runs as Jobs of the cluster: their own commands, environment and files, as processes here."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.operations import sandbox_runs
from mlhub.backends.kubernetes.specs import sandbox_jobs
from mlhub.backends.protocol import BackendUnavailableError, LaunchError, SandboxRunPhase, SandboxRunStatus
from mlhub.control.observation.sandbox_runs import tend_sandbox_runs
from mlhub.storage import sandbox_runs as rows
from mlhub.storage.inspection import Verdict, inspect
from mlhub.storage.models import Blob, SandboxRun
from mlhub.storage.sandbox_runs import SandboxUnavailableError
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import wait
from tests.backends.kubernetes.job_controller import JobController
from tests.backends.specs import SANDBOX_RUN
from tests.cast import Cast, make_cast
from tests.datasets import files
from tests.datasets.files import zipped
from tests.storage.blobs import stored

SPEC, TASK = SANDBOX_RUN, SANDBOX_RUN.task


@pytest.fixture
def controller(server: ApiServer, tmp_path: Path) -> Iterator[JobController]:
    found = JobController(server.store, tmp_path / "jobs", behave="quiet")
    yield found
    found.close()


@pytest.fixture
def backend(connect: Callable[..., KubernetesBackend], monkeypatch: pytest.MonkeyPatch) -> KubernetesBackend:
    monkeypatch.setattr(sandbox_runs, "NO_POD_AFTER_S", 0.0)
    return connect()


def of(server: ApiServer, plural: str) -> list[dict[str, Any]]:
    return [o for (kind, _, _), o in server.store.objects.items() if kind == plural]


def ended(backend: KubernetesBackend) -> SandboxRunStatus:
    def look() -> SandboxRunStatus | None:
        found = [s for s in backend.observe_sandbox_runs() if s.phase is not SandboxRunPhase.UNDER_WAY]
        return found[0] if found else None

    status: SandboxRunStatus = wait(look)
    return status


def test_a_run_has_a_token_of_its_own_and_no_secret_of_the_platform(
    server: ApiServer, controller: JobController, backend: KubernetesBackend
) -> None:
    assert backend.start_sandbox_runs([SPEC]) == {}
    assert backend.start_sandbox_runs([SPEC]) == {}
    [pod], [secret] = controller.pods(), of(server, "secrets")
    assert pod["metadata"]["namespace"] == f"mlhub-{SPEC.labels['project_id']}"
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["serviceAccountName"] == "mlhub-pods"
    assert list(secret["data"]) == ["token"]
    given = {e["name"]: e.get("value") for e in pod["spec"]["containers"][0]["env"]}
    assert "a-token" not in str(given)
    assert not any("SECRET" in name or "DATABASE" in name or "REDIS" in name or "AWS" in name for name in given)
    [job] = of(server, "jobs")
    assert job["spec"]["activeDeadlineSeconds"] == 300
    assert job["spec"]["backoffLimit"] == 0
    assert secret["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]


def test_a_run_reaches_names_and_the_ingest_api_only(
    server: ApiServer, controller: JobController, backend: KubernetesBackend
) -> None:
    backend.start_sandbox_runs([SPEC])
    [pod] = controller.pods()
    policies = {
        p["metadata"]["name"]: p["spec"]
        for p in of(server, "networkpolicies")
        if _selects(p["spec"]["podSelector"], pod["metadata"]["labels"])
    }
    assert set(policies) == {"mlhub-default-deny", "mlhub-sandbox-runs"}
    ports = [port["port"] for rule in policies["mlhub-sandbox-runs"]["egress"] for port in rule["ports"]]
    assert sorted(map(str, ports)) == ["53", "53", "http"]


@pytest.mark.parametrize(
    ("behave", "refuses", "phase", "words"),
    [
        ("image", "", SandboxRunPhase.FAILED, 'image: nowhere: Back-off pulling image "nowhere"'),
        (
            "run",
            'pods "x" is forbidden: exceeded quota: mlhub-limits',
            SandboxRunPhase.FAILED,
            "quota: .*exceeded quota",
        ),
        ("run", "violates PodSecurity", SandboxRunPhase.FAILED, "policy: .*PodSecurity"),
        ("deadline", "", SandboxRunPhase.FAILED, "deadline: .*resources: .*Insufficient memory"),
        ("oom", "", SandboxRunPhase.OUT_OF_MEMORY, "more memory than its limit"),
        ("disk", "", SandboxRunPhase.OUT_OF_DISK, "ephemeral local storage"),
    ],
)
def test_what_hinders_a_run_is_reported_in_words(
    server: ApiServer,
    backend: KubernetesBackend,
    tmp_path: Path,
    behave: str,
    refuses: str,
    phase: SandboxRunPhase,
    words: str,
) -> None:
    JobController(server.store, tmp_path, behave=behave, refuses=refuses)
    assert backend.start_sandbox_runs([SPEC]) == {}
    status = ended(backend)
    assert (status.run_id, status.phase) == (SPEC.run_id, phase)
    assert re.search(words, status.message), status.message


def test_a_run_that_is_removed_leaves_nothing(
    server: ApiServer, controller: JobController, backend: KubernetesBackend
) -> None:
    other = replace(SPEC, run_id="018f0000-0000-7000-8000-000000000002")
    backend.start_sandbox_runs([SPEC, other])
    wait(lambda: len(backend.observe_sandbox_runs()) == 2)
    backend.remove_sandbox_runs([SPEC.run_id, "unknown"])
    server.store.collect_garbage()
    assert [s.run_id for s in backend.observe_sandbox_runs()] == [other.run_id]
    left = [o for kind in ("jobs", "secrets", "pods") for o in of(server, kind)]
    assert {o["metadata"]["labels"][names.SANDBOX_RUN] for o in left} == {other.run_id}


def test_a_job_of_others_is_neither_seen_nor_removed(
    server: ApiServer, controller: JobController, backend: KubernetesBackend
) -> None:
    backend.start_sandbox_runs([SPEC])
    [own] = of(server, "jobs")
    for name, change in {
        "a-look-alike": {},
        sandbox_jobs.job_name("run-of-another"): {names.INSTALLATION: "other", names.SANDBOX_RUN: "run-of-another"},
    }.items():
        labels = {**own["metadata"]["labels"], **change}
        metadata = {"name": name, "namespace": own["metadata"]["namespace"], "labels": labels}
        server.store.create("jobs", metadata["namespace"], {**own, "metadata": metadata})
    wait(lambda: [s.run_id for s in backend.observe_sandbox_runs()] == [SPEC.run_id])
    backend.remove_sandbox_runs([SPEC.run_id, "run-of-another"])
    assert len(of(server, "jobs")) == 2


def test_a_refused_job_and_a_server_that_is_away_are_told_apart(
    server: ApiServer, controller: JobController, backend: KubernetesBackend
) -> None:
    server.refuse = lambda plural, body: "admission webhook denied the request: no" if plural == "jobs" else ""
    refused = backend.start_sandbox_runs([SPEC])[SPEC.run_id]
    assert isinstance(refused, LaunchError)
    assert "no" in str(refused)
    server.refuse = lambda plural, body: ""
    server.fail(503, times=99, path="/jobs", only="POST")
    assert isinstance(backend.start_sandbox_runs([SPEC])[SPEC.run_id], BackendUnavailableError)
    server.clear_faults()
    assert backend.start_sandbox_runs([SPEC]) == {}


class Platform:
    """A worker's side in the test's thread, and the control loop's side in another one."""

    def __init__(self, server: ApiServer, backend: KubernetesBackend, cast: Cast) -> None:
        self.server, self.backend, self.cast = server, backend, cast
        self._is_over = threading.Event()
        self._loop = threading.Thread(target=self._rounds, daemon=True)
        self._loop.start()

    def close(self) -> None:
        self._is_over.set()
        self._loop.join(60)

    def inspect(self, path: Path, *arguments: str, **limits: Any) -> Verdict:
        blob = stored(path)
        Blob.objects.get_or_create(sha256=blob.sha256, size_bytes=blob.size_bytes)
        return inspect(*arguments, "--path", blob, project=self.cast.project_a, **limits)

    def _rounds(self) -> None:
        while not self._is_over.wait(0.1):
            tend_sandbox_runs(self.backend, now=datetime.now(UTC))
        connection.close()


@pytest.fixture
def platform(
    transactional_db: None,
    live_server: Any,
    settings: Any,
    server: ApiServer,
    tmp_path: Path,
    connect: Callable[..., KubernetesBackend],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Platform]:
    monkeypatch.setattr(sandbox_runs, "NO_POD_AFTER_S", 0.0)
    settings.SANDBOX, settings.PUBLIC_URL = "jobs", live_server.url
    controller = JobController(server.store, tmp_path / "jobs")
    found = Platform(server, connect(), make_cast())
    yield found
    found.close()
    controller.close()


@pytest.mark.slow
@pytest.mark.dist
def test_uploads_are_inspected_in_jobs_that_leave_nothing_behind(platform: Platform, tmp_path: Path) -> None:
    table, package = tmp_path / "points.csv", tmp_path / "model.zip"
    table.write_bytes(files.csv(20))
    verdict = platform.inspect(table, "dataset", "--format=csv", '--options={"target": "width"}')
    assert verdict.error is None
    assert verdict.found["schema"]
    package.write_bytes(zipped({"model.py": b"import os; os._exit(3)"}))
    verdict = platform.inspect(package, "model", "--kind=package", "--entry=model")
    assert verdict.error is not None
    assert (verdict.error["code"], "exit status 3" in verdict.error["message"]) == ("ended_early", True)
    assert not SandboxRun.objects.exists()
    wait(lambda: not of(platform.server, "jobs") and not of(platform.server, "secrets"))


@pytest.mark.dist
def test_what_the_cluster_cannot_run_is_tried_again_with_its_reason(
    platform: Platform, server: ApiServer, tmp_path: Path
) -> None:
    JobController(server.store, tmp_path, behave="image")
    path = tmp_path / "points.csv"
    path.write_bytes(files.csv(20))
    with pytest.raises(SandboxUnavailableError, match="image: nowhere"):
        platform.inspect(path, "dataset", "--format=csv", "--options={}")
    JobController(server.store, tmp_path, behave="oom")
    verdict = platform.inspect(path, "dataset", "--format=csv", "--options={}")
    assert verdict.error is not None
    assert verdict.error["code"] == "out_of_memory"


OUTCOME = {
    "version": 1, "exit_code": 0, "output": '{"ok": true}', "printed": "", "end": "exited", "proof": "", "is_cut": False
}  # fmt: skip


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.fixture
def run(cast: Cast) -> SandboxRun:
    found: SandboxRun = SandboxRun.objects.create(project=cast.project_a, task=TASK.to_dict())
    return found


def asked(run: SandboxRun, token: str) -> tuple[APIClient, str]:
    client = APIClient(headers={"Authorization": f"Bearer {token}"})
    return client, f"/api/v1/ingest/sandbox-runs/{run.pk}"


@pytest.mark.slow
@pytest.mark.django_db
def test_a_run_s_token_opens_its_own_task_and_files_and_nothing_else(run: SandboxRun, cast: Cast) -> None:
    client, address = asked(run, rows.token_of(run.pk))
    assert client.get(address).json()["arguments"][0] == "dataset"
    assert client.get(f"{address}/blobs/{'cd' * 32}").status_code == 404
    other: SandboxRun = SandboxRun.objects.create(project=cast.project_b, task=TASK.to_dict())
    assert client.get(f"/api/v1/ingest/sandbox-runs/{other.pk}").status_code == 401
    assert APIClient().get(address).status_code == 401
    assert cast.client(cast.charlie).get(address).status_code == 401
    assert client.get("/api/v1/projects").status_code == 401


@pytest.mark.slow
@pytest.mark.django_db
def test_the_first_outcome_of_a_run_counts_and_ends_it(run: SandboxRun) -> None:
    client, address = asked(run, rows.token_of(run.pk))
    assert client.post(f"{address}/outcome", OUTCOME, format="json").status_code == 204
    assert client.post(f"{address}/outcome", {**OUTCOME, "exit_code": 1}, format="json").status_code == 410
    assert client.get(address).status_code == 410
    assert rows.wait_for(run).exit_code == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [
        {"exit_code": "x"}, {"exit_code": 10**9}, {"end": "well"}, {"output": "x" * (4 * 2**20 + 1)},
        {"printed": "x" * (64 * 2**10 + 1)}, {"proof": ["x"]}, {"version": 2}, {"more": 1}, {"is_cut": "perhaps"},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_an_outcome_that_is_none_is_refused(run: SandboxRun, change: dict[str, Any]) -> None:
    client, address = asked(run, rows.token_of(run.pk))
    assert client.post(f"{address}/outcome", {**OUTCOME, **change}, format="json").status_code == 422
    run.refresh_from_db()
    assert run.outcome is None


@pytest.mark.django_db
def test_a_job_that_somebody_removed_ends_its_run(
    run: SandboxRun, server: ApiServer, controller: JobController, backend: KubernetesBackend, settings: Any
) -> None:
    settings.SANDBOX = "jobs"
    now = datetime.now(UTC)
    tend_sandbox_runs(backend, now=now)
    [job] = of(server, "jobs")
    server.store.delete("jobs", job["metadata"]["namespace"], job["metadata"]["name"], None)
    wait(lambda: not backend.observe_sandbox_runs())
    tend_sandbox_runs(backend, now=now + timedelta(seconds=10))
    tend_sandbox_runs(backend, now=now + timedelta(seconds=60))
    with pytest.raises(SandboxUnavailableError, match="was removed from the cluster"):
        rows.wait_for(run)


def _selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    needed = {"Exists": True, "DoesNotExist": False}
    return all((e["key"] in labels) is needed[e["operator"]] for e in selector.get("matchExpressions", []))
