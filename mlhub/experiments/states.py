# SPDX-License-Identifier: Apache-2.0
"""The states of a study. One that is completed runs again when its budget is raised; other ended ones never do."""

from __future__ import annotations

from enum import StrEnum


class StudyState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  # by a person: its jobs are paused, too
    COMPLETED = "completed"  # its trials or its budget are used up
    STOPPED = "stopped"  # by a person
    FAILED = "failed"  # it cannot give a result


ENDED_STUDIES = (StudyState.COMPLETED, StudyState.STOPPED, StudyState.FAILED)
