# SPDX-License-Identifier: Apache-2.0
"""Only folders of jobs that are known to have ended are removed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

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
