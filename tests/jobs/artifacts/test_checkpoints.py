# SPDX-License-Identifier: Apache-2.0
"""Only folders of jobs that are known to have ended are removed."""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from mlhub.jobs.artifacts import checkpoint_files
from mlhub.jobs.models import Job
from mlhub.jobs.tasks import collect_checkpoints
from tests.cast import make_cast
from tests.jobs import builders

pytestmark = pytest.mark.django_db


def test_only_checkpoints_of_jobs_that_ended_long_ago_are_removed(settings: Any) -> None:
    cast, root = make_cast(), Path(settings.CHECKPOINT_ROOT)
    old, recent, running = (builders.job(cast.project_a, cast.bob, name=name) for name in ("old", "recent", "running"))
    now = timezone.now()
    Job.objects.filter(pk=old.pk).update(state="succeeded", finished_at=now - timedelta(days=2))
    Job.objects.filter(pk=recent.pk).update(state="failed", finished_at=now - timedelta(minutes=5))
    unknown = uuid4()  # submitted after the backup from which the database was restored
    for name in (old.pk, recent.pk, running.pk, unknown, "not-a-job"):
        (root / str(name) / "step-10").mkdir(parents=True)
    assert collect_checkpoints() == 1
    assert {path.name for path in root.iterdir()} == {str(recent.pk), str(running.pk), str(unknown), "not-a-job"}
    settings.KEPT_DAYS = {**settings.KEPT_DAYS, "checkpoints": 0.0}  # for good
    Job.objects.filter(pk=recent.pk).update(finished_at=now - timedelta(days=2))
    assert collect_checkpoints() == 0


def test_folders_that_a_pod_nested_a_thousand_deep_are_removed_as_all_others(settings: Any) -> None:
    """shutil.rmtree would go down by recursion, fail, and with it the collection of everybody's checkpoints."""
    cast, root = make_cast(), Path(settings.CHECKPOINT_ROOT)
    long_ago = timezone.now() - timedelta(days=30)
    jobs = [builders.job(cast.project_a, cast.bob, state="succeeded", finished_at=long_ago) for _ in range(3)]
    for one in jobs:
        (root / str(one.pk)).mkdir(parents=True)
    nest(root / str(jobs[1].pk), levels=1200)
    nest(root / str(jobs[2].pk), levels=2500)  # its path is longer than any that can be named
    preview = cast.client(cast.bob).get(f"/api/v1/jobs/{jobs[1].pk}/deletion")
    assert preview.status_code == 200
    assert collect_checkpoints() == 3
    assert not list(root.iterdir())


def nest(folder: Path, *, levels: int) -> None:
    inner = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=inner)
        outer, inner = inner, os.open("d", os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)


def test_a_job_that_is_resumed_while_others_checkpoints_are_removed_keeps_its_own(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast, root = make_cast(), Path(settings.CHECKPOINT_ROOT)
    long_ago = timezone.now() - timedelta(days=30)
    jobs = [builders.job(cast.project_a, cast.bob, state="failed", finished_at=long_ago) for _ in range(2)]
    for one in jobs:
        (root / str(one.pk) / "step-10").mkdir(parents=True)
    settings.KEPT_DAYS = {**settings.KEPT_DAYS, "failed_checkpoints": 1.0}
    remove_but = checkpoint_files.remove_but

    def remove_while_another_is_resumed(folder: Path, kept: Collection[str]) -> bool:
        Job.objects.exclude(pk=folder.name).update(state="queued", finished_at=None)
        return remove_but(folder, kept)

    monkeypatch.setattr(checkpoint_files, "remove_but", remove_while_another_is_resumed)
    assert collect_checkpoints() == 1
    kept = Job.objects.get(state="queued")
    assert [path.name for path in root.iterdir()] == [str(kept.pk)]
