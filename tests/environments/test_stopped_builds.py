# SPDX-License-Identifier: Apache-2.0
"""A build is stopped while it waits, resolves, packs or ends; an environment that no code requires is deleted."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connections

from mlhub.environments import actions, archive
from mlhub.environments.models import PythonEnvironment
from mlhub.environments.tasks import build_environment
from mlhub.events.models import Event
from mlhub.jobs import tasks as job_tasks
from mlhub.jobs.models import Job
from mlhub.registry import tasks
from mlhub.registry.models import ModelVersion
from mlhub.storage.actions import used_bytes
from mlhub.storage.models import Holding, WorkItem
from mlhub.storage.tasks import work_on_next
from tests.cast import make_cast
from tests.environments.test_code_that_requires_packages import LIGHT, settled, uploaded
from tests.environments.test_jobs_that_wait import platform_changes, script_job

pytestmark = pytest.mark.slow
FILES = {"model.py": LIGHT, "requirements.txt": b"greeting\n"}


def waiting(cast, **given) -> tuple[ModelVersion, str]:
    """A version whose build is queued, and the address of its environment."""
    version = uploaded(cast, FILES, **given)
    tasks.validate_version(version)
    row = ModelVersion.objects.get(pk=version)
    return row, f"/api/v1/environments/{row.environment_id}"


@contextmanager
def silent_index(settings) -> Iterator[socket.socket]:
    """An index that takes connections and never answers: uv resolves until it is ended."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.PACKAGE_INDEX_URL = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        settings.WHEELHOUSE = ""
        yield silent


@contextmanager
def under_way(build) -> Iterator[threading.Thread]:
    """Another worker, which builds."""

    def work() -> None:
        try:
            build()
        finally:
            connections.close_all()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield worker
    finally:
        worker.join(60)
        assert not worker.is_alive()


def until(condition, what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def installers(folder: Path) -> list[str]:
    """The installers that run in a folder of builds."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words and " pip install " in words:
            found.append(words)
    return found


def test_a_build_that_waits_is_stopped_and_what_waits_for_it_ends_with_that_cause(cast, wheelhouse):
    version, address = waiting(cast)
    bob = cast.client(cast.bob)
    answer = bob.post(f"{address}/stop")
    assert answer.status_code == 200, answer.json()
    stopped = answer.json()
    assert (stopped["state"], stopped["error"]["code"]) == ("failed", "stopped")
    assert stopped["error"]["message"] == "The build of its packages was stopped by bob."
    assert "built anew" in stopped["error"]["remedy"]
    assert not WorkItem.objects.filter(task=actions.BUILD).exists()
    build_environment(str(version.environment_id))
    assert PythonEnvironment.objects.get().state == "failed", "a message that was under way builds nothing"
    tasks.continue_with_environment(str(version.environment_id))
    tasks.validate_version(str(version.pk))
    version.refresh_from_db()
    assert (version.state, version.error["code"]) == ("refused", "stopped")
    assert "stopped by bob" in version.error["message"]
    assert bob.post(f"{address}/stop").json() == bob.get(address).json(), "stopped once more it changes nothing"
    assert Event.objects.filter(kind="environment.stopped", actor=cast.bob).count() == 1


def test_a_stopped_environment_is_built_for_the_next_upload_and_on_request(cast, wheelhouse):
    _, address = waiting(cast)
    bob = cast.client(cast.bob)
    bob.post(f"{address}/stop")
    assert bob.post(f"{address}/build").json()["state"] == "building"
    work = WorkItem.objects.get(task=actions.BUILD)
    assert work.started_at is None
    bob.post(f"{address}/stop")
    assert settled(uploaded(cast, FILES, name="n")).state == "ready"
    ended = bob.post(f"{address}/stop")
    assert (ended.status_code, ended.json()["code"]) == (409, "ended")
    assert "has succeeded already" in ended.json()["detail"]
    assert bob.post(f"{address}/build").status_code == 409


@pytest.mark.django_db(transaction=True)
def test_a_build_that_resolves_is_stopped_within_seconds_and_its_processes_are_gone(wheelhouse, settings):
    cast = make_cast()
    builds = settings.ENVIRONMENT_ROOT / "builds"
    with silent_index(settings):
        version, address = waiting(cast)
        with under_way(lambda: build_environment(str(version.environment_id))) as worker:
            until(lambda: installers(builds), "no installer has started")
            assert cast.client(cast.bob).post(f"{address}/stop").status_code == 200
            worker.join(20)
            assert not worker.is_alive(), "the worker is free"
            assert installers(builds) == []
    assert list(builds.iterdir()) == []
    found = PythonEnvironment.objects.get()
    assert (found.state, found.error["code"], found.layer) == ("failed", "stopped", None)


@pytest.mark.django_db(transaction=True)
def test_one_that_is_requested_again_while_its_worker_leaves_is_built_by_a_later_try(wheelhouse, settings):
    cast = make_cast()
    with silent_index(settings):
        version, address = waiting(cast)
        WorkItem.objects.exclude(task=actions.BUILD).delete()
        with under_way(work_on_next):
            until(lambda: installers(settings.ENVIRONMENT_ROOT / "builds"), "no installer has started")
            bob = cast.client(cast.bob)
            assert bob.post(f"{address}/stop").json()["state"] == "failed"
            assert bob.post(f"{address}/build").json()["state"] == "building"
    found = PythonEnvironment.objects.get()
    assert (found.state, found.n_builds, found.log) == ("building", 0, ""), "the first try wrote nothing of its own"
    assert WorkItem.objects.get(task=actions.BUILD, ended_at=None).started_at is None
    WorkItem.objects.exclude(task=actions.BUILD).delete()
    WorkItem.objects.update(not_before=None)
    settings.PACKAGE_INDEX_URL, settings.WHEELHOUSE = "", str(wheelhouse)
    work_on_next()
    assert PythonEnvironment.objects.get(pk=version.environment_id).state == "ready"


def test_one_that_is_stopped_while_its_layer_is_packed_or_stored_stores_nothing(cast, wheelhouse, monkeypatch):
    """At the last moment, too: what is stored and not yet held goes with the transaction."""
    version, address = waiting(cast)
    pack = archive.pack

    def stopped_meanwhile(*arguments, **options):
        pack(*arguments, **options)
        assert cast.client(cast.bob).post(f"{address}/stop").status_code == 200

    monkeypatch.setattr(actions, "pack", stopped_meanwhile)
    before = used_bytes(cast.a)
    build_environment(str(version.environment_id))
    found = PythonEnvironment.objects.get()
    assert (found.state, found.error["code"], found.size_bytes) == ("failed", "stopped", 0)
    assert used_bytes(cast.a) == before
    assert not Holding.objects.filter(owner_kind="environment").exists()


def test_packing_notices_that_it_is_not_wanted(cast, wheelhouse, monkeypatch):
    version, address = waiting(cast)
    monkeypatch.setattr(actions, "LOOKS_EVERY_S", 0.0)
    packages_in = archive.packages_in

    def stopped_before(folder):
        assert cast.client(cast.bob).post(f"{address}/stop").status_code == 200
        return packages_in(folder)

    monkeypatch.setattr(actions, "packages_in", stopped_before)
    stored = []
    monkeypatch.setattr(actions, "copy_into", lambda *_: stored.append(1))
    build_environment(str(version.environment_id))
    assert (PythonEnvironment.objects.get().error["code"], stored) == ("stopped", [])


def test_a_job_that_waits_for_a_build_that_is_stopped_fails_with_that_cause(cast, wheelhouse, monkeypatch):
    pending, _ = script_job(cast)
    platform_changes(monkeypatch)
    job_tasks.hand_off_job(str(pending.pk))
    renewed = PythonEnvironment.objects.get(state="building")
    assert cast.client(cast.alice).post(f"/api/v1/environments/{renewed.pk}/stop").status_code == 200
    assert job_tasks.continue_with_environment(str(renewed.pk)) == 1
    job_tasks.hand_off_job(str(pending.pk))
    failed = Job.objects.get(pk=pending.pk)
    assert failed.state == "failed"
    assert "stopped by alice" in failed.failure["message"]


def test_an_environment_is_deleted_once_no_code_requires_it_and_its_bytes_are_released(cast, wheelhouse):
    version = settled(uploaded(cast, FILES))
    bob, address = cast.client(cast.bob), f"/api/v1/environments/{version.environment_id}"
    refused = bob.delete(address)
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    assert "require this environment: 1, the newest m v1." in refused.json()["detail"]
    assert refused.json()["versions"] == [{"id": str(version.pk), "name": "m v1"}]
    assert refused.json()["remedy"]
    size, before = version.environment.size_bytes, used_bytes(cast.a)
    assert bob.delete(f"/api/v1/models/{version.model_id}").status_code == 204
    package = before - used_bytes(cast.a)
    assert bob.delete(address).status_code == 204
    assert used_bytes(cast.a) == before - package - size
    assert bob.get(address).status_code == bob.delete(address).status_code == 404
    event = Event.objects.get(kind="environment.deleted")
    assert (event.actor, event.facts["size_bytes"]) == (cast.bob, size)


def test_the_refusal_counts_the_jobs_of_the_code_that_requires_it(cast, wheelhouse):
    _, version = script_job(cast)
    refused = cast.client(cast.bob).delete(f"/api/v1/environments/{version.environment_id}")
    assert refused.status_code == 409
    assert (refused.json()["n_versions"], refused.json()["n_jobs"]) == (1, 1)
    assert "Their jobs: 1." in refused.json()["detail"]


def test_one_that_failed_is_deleted_though_refused_code_named_it(cast, wheelhouse):
    version, address = waiting(cast)
    bob = cast.client(cast.bob)
    building = bob.delete(address)
    assert (building.status_code, building.json()["code"]) == (409, "being_built")
    bob.post(f"{address}/stop")
    assert bob.delete(address).status_code == 409, "the version waits for it until it is refused"
    tasks.validate_version(str(version.pk))
    assert bob.delete(address).status_code == 204
    version.refresh_from_db()
    assert (version.state, version.environment, version.error["code"]) == ("refused", None, "stopped")
    assert bob.get(f"/api/v1/model-versions/{version.pk}").json()["environment"] is None


def test_viewers_may_not_and_strangers_do_not_see_it(cast, wheelhouse):
    version, address = waiting(cast)
    verbs = [("post", f"{address}/stop"), ("post", f"{address}/build"), ("delete", address)]
    answers = {
        user.username: [getattr(cast.client(user), verb)(path).status_code for verb, path in verbs]
        for user in (cast.victor, cast.charlie)
    }
    assert answers == {"victor": [403, 403, 403], "charlie": [404, 404, 404]}
    assert PythonEnvironment.objects.get(pk=version.environment_id).state == "building"
