# SPDX-License-Identifier: Apache-2.0
"""The states of a study. One that is completed runs again when its budget is raised; other ended ones never do."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class StudyState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  # by a person: its jobs are paused, too
    COMPLETED = "completed"  # its trials or its budget are used up
    STOPPED = "stopped"  # by a person
    FAILED = "failed"  # it cannot give a result


# of a sentence whose subject is the study
_PREDICATES: Mapping[StudyState, str] = {
    StudyState.RUNNING: "is running",
    StudyState.PAUSED: "is paused",
    StudyState.COMPLETED: "is completed",
    StudyState.STOPPED: "was stopped",
    StudyState.FAILED: "failed",
}


def predicate(state: str) -> str:
    """What a sentence says of a study in the state: "is running", "failed"."""
    return _PREDICATES[StudyState(state)]


ENDED_STUDIES = (StudyState.COMPLETED, StudyState.STOPPED, StudyState.FAILED)
