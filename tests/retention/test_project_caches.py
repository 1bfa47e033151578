# SPDX-License-Identifier: Apache-2.0
"""What pods prepared of a project's data is removed once the project is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from mlhub.retention import project_caches, tasks
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.readers import prepared as prepared_readers
from mlhub.storage.models import Blob, Holding
from mlhub.tenants.models import Project
from tests.cast import make_cast
from tests.datasets import files
from tests.datasets.test_uploads import upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(settings: Any) -> Path:
    """Where the local backend's pods have their caches (mlhub.agent.enclosures.py)."""
    found: Path = settings.PROJECT_CACHE_ROOT
    return found


def prepared(root: Path, project_id: UUID) -> Path:
    folder = root / str(project_id) / f"{'a' * 64}-files"
    folder.mkdir(parents=True)
    (folder / "0.png").write_bytes(b"a picture")
    return folder


def test_the_caches_of_deleted_projects_go_and_all_others_stay(root: Path) -> None:
    cast = make_cast()
    blob = Blob.objects.create(sha256="a" * 64, size_bytes=9)
    Holding.objects.create(
        organisation=cast.a, project=cast.project_a, blob=blob, owner_kind="dataset_version", owner_id=uuid4()
    )
    kept, gone = prepared(root, cast.project_a.pk), prepared(root, uuid4())
    (root / "lost+found").mkdir()
    assert tasks.remove_expired()["project_caches"] == 1
    assert (kept.exists(), gone.parent.exists(), (root / "lost+found").exists()) == (True, False, True)
    assert "project_caches" not in tasks.remove_expired()


def test_what_was_prepared_of_deleted_data_goes_and_what_a_pod_uses_stays(root: Path) -> None:
    cast = make_cast()
    bob, folder = cast.client(cast.bob), root / str(cast.project_a.pk)
    made = [upload(bob, cast.project_a, name=name, content=files.csv(n)).json() for name, n in (("a", 8), ("b", 9))]
    kept, gone = (one["latest_version"]["files"][0]["sha256"] for one in made)
    for name in (f"{kept}-files", f"{gone}-files"):
        (folder / name).mkdir(parents=True)
    cache = NodeCache(folder)
    cache.get(prepared_readers.key(gone, {"n_examples": 9}), lambda _folder: None)
    assert project_caches.sweep_caches() == 0
    assert bob.delete(f"/api/v1/datasets/{made[1]['id']}").status_code == 204
    assert project_caches.sweep_caches() == 1
    there = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert there == {f"{kept}-files", prepared_readers.key(gone, {"n_examples": 9})}
    cache.close()
    assert project_caches.sweep_caches() == 1
    assert [path.name for path in folder.iterdir() if not path.name.startswith(".")] == [f"{kept}-files"]


def test_a_link_that_a_pod_left_leads_nowhere(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (prepared(root, uuid4()) / "link").symlink_to(outside)
    root.joinpath(str(uuid4())).symlink_to(outside)
    assert project_caches.sweep_caches() >= 1
    assert outside.exists()


def test_after_a_restore_and_before_any_pod_nothing_is_removed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert project_caches.sweep_caches() == 0
    newer = prepared(root, uuid4())
    monkeypatch.setattr(project_caches, "is_restored_lately", lambda _now: True)
    assert project_caches.sweep_caches() == 0
    assert newer.exists()
    assert not Project.objects.exists()
