# SPDX-License-Identifier: Apache-2.0
"""A real agent removes from its machine's caches what was deleted at the platform, unless a pod uses it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mlhub.backends.agents.backend import AgentsBackend
from mlhub.clusters.models import Agent
from mlhub.jobs.models import Allocation, Attempt
from mlhub.storage.models import Blob, Holding
from mlhub.tenants.models import Project
from tests.backends.agents.machines import Machine, ended, machines, runs, wait
from tests.backends.specs import gang
from tests.cast import make_cast
from tests.jobs.builders import job

pytestmark = [pytest.mark.slow, pytest.mark.dist, pytest.mark.django_db(transaction=True)]
USED, ELSE = (UUID(f"018f0000-0000-7000-8000-0000000000{end}") for end in ("bb", "cc"))
KEPT, GONE = "a" * 64, "b" * 64


@pytest.fixture
def one(tmp_path: Path, settings: Any) -> Iterator[tuple[Machine, AgentsBackend]]:
    with machines(tmp_path, settings, names=("node-1",)) as ((machine,), backend):
        wait(lambda: Agent.objects.get().caches_clean_at is not None)
        yield machine, backend


def cached(machine: Machine, project: str, name: str) -> Path:
    """An entry as pods leave it, with its lock."""
    folder = machine.folder / "home" / "cache" / project / name
    folder.mkdir(parents=True)
    (folder / "0.bin").write_bytes(b"data")
    (folder.parent / f".{name}.lock").touch()
    return folder


def looks_again(machine: Machine) -> None:
    """Agents look as they start."""
    before = machine.said().count("agent.connected")
    machine.kill()
    machine.start()
    wait(lambda: machine.said().count("agent.connected") > before)


def test_caches_of_a_deleted_project_go_unless_a_pod_of_it_is_there_and_the_platform_learns_it(
    one: tuple[Machine, AgentsBackend], tmp_path: Path
) -> None:
    machine, backend = one
    outside = tmp_path / "outside"
    outside.mkdir()
    spec = replace(gang(), labels={"project_id": str(USED)})  # of a project that the platform does not have
    backend.launch(spec)
    wait(lambda: runs(backend, spec))
    used = cached(machine, str(USED), f"{GONE}-files")
    unused = cached(machine, str(ELSE), f"{GONE}-files")
    (unused.parent / f"{KEPT}-files").symlink_to(outside)
    foreign = machine.folder / "home" / "cache" / "lost+found"
    foreign.mkdir()
    Agent.objects.update(caches_clean_at=None)
    looks_again(machine)
    wait(lambda: not list((machine.folder / "home" / "cache").glob(f"*{ELSE}*")))
    assert (used.exists(), foreign.exists(), outside.exists()) == (True, True, True)
    assert Agent.objects.get().caches_clean_at is None
    backend.stop(spec.attempt_id, grace_s=60)
    ended(backend, spec)
    backend.stop(spec.attempt_id, grace_s=0)
    wait(lambda: not list((machine.folder / "home" / "pods").iterdir()))
    looks_again(machine)
    wait(lambda: not used.parent.exists())
    wait(lambda: Agent.objects.get().caches_clean_at is not None)


def test_what_was_made_of_deleted_data_goes_unless_a_pod_holds_it(
    one: tuple[Machine, AgentsBackend], tmp_path: Path
) -> None:
    machine, _ = one
    cast = make_cast()
    project = str(cast.project_a.pk)
    attempt = Attempt.objects.create(job=job(cast.project_a, cast.bob), number=1, n_workers=1)
    Allocation.objects.create(attempt=attempt, node="node-1", slots=[0])
    blob = Blob.objects.create(sha256=KEPT, size_bytes=4)
    Holding.objects.create(
        organisation=cast.a, project=cast.project_a, blob=blob, owner_kind="dataset_version", owner_id=ELSE
    )
    kept, unpacked, held = (
        cached(machine, project, name) for name in (f"{KEPT}.input", f"{GONE}-files", f"{GONE}.input")
    )
    outside = tmp_path / "outside"
    outside.mkdir()
    link = kept.parent / f"{GONE}-link"
    link.symlink_to(outside)
    (kept.parent / f".{link.name}.lock").symlink_to(tmp_path / "made")
    lock = os.open(kept.parent / f".{held.name}.lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_SH)  # as a pod does
    looks_again(machine)
    wait(lambda: not unpacked.exists() and not link.is_symlink())
    assert (kept.exists(), held.exists(), outside.exists()) == (True, True, True)
    assert not (tmp_path / "made").exists()
    os.close(lock)
    looks_again(machine)
    wait(lambda: not held.exists())
    assert kept.exists()
    assert Project.objects.filter(pk=project).exists()
