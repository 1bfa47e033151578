# SPDX-License-Identifier: Apache-2.0
"""Celery's part of studies: each is advanced every few seconds, and when a person changed one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any
from uuid import UUID

import structlog
from celery import shared_task

from mlhub.core.locks import work_lock
from mlhub.experiments.advance import advance_study
from mlhub.experiments.models import Study
from mlhub.experiments.trial_jobs import note_resumed_jobs

logger = structlog.stdlib.get_logger(__name__)


@shared_task
def advance_studies() -> int:
    """Returns how many were advanced. One that cannot be, for a fault of the platform, does not keep the others."""
    n = 0
    note_resumed_jobs()
    for study_id in in_turn(Study.objects.to_advance().values_list("project__organisation", "id")):
        with work_lock(f"study:{study_id}") as is_mine:
            if not is_mine:
                continue
            try:
                advance_study(study_id)
                n += 1
            except Exception:
                logger.exception("study.not_advanced", study=str(study_id))
    return n


def in_turn(rows: Iterable[tuple[Any, UUID]]) -> list[UUID]:
    """Ids of (organisation, id): the first of each organisation, then the second of each, so that none waits for all
    studies of another."""
    by_owner: dict[Any, list[UUID]] = {}
    for owner, study_id in rows:
        by_owner.setdefault(owner, []).append(study_id)
    return [study_id for turn in zip_longest(*by_owner.values()) for study_id in turn if study_id is not None]
