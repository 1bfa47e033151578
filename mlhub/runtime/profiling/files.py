# SPDX-License-Identifier: Apache-2.0
"""What a launcher and its trainer leave each other of a recording, as files of the pod. Standard library only.

The launcher writes the newest request; the trainer, or the server, a mark when it begins, a trace in torch's format,
and last its notes, which say how the recording ended. One that is killed leaves no notes, so nothing half-written is
ever taken.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mlhub.runtime.pod import Pod
from mlhub.wire.profiles import ProfileRequest


@dataclass(frozen=True)
class RecordingNotes:
    """How a recording ended in the trainer. reason: why there is no trace, else "".

    seconds: of all recorded steps together, by their parts; empty where only the trace has them. activities: what the
    worker began to do and when, in microseconds since the first recorded step.
    """

    id: str
    reason: str = ""
    note: str = ""
    first_step: int | None = None
    n_steps: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    activities: list[tuple[str, float]] = field(default_factory=list)


class RecordingFiles:
    """The files of a pod."""

    def __init__(self, pod: Pod) -> None:
        self._folder = pod.profiles

    @property
    def request_path(self) -> Path:
        return self._folder / "request.json"

    def write_request(self, request: ProfileRequest) -> None:
        self._write(self.request_path, request.to_dict())

    def read_request(self) -> ProfileRequest | None:
        """The newest request, or None."""
        try:
            return ProfileRequest.from_json(json.loads(self.request_path.read_text()))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def trace(self, recording_id: str) -> Path:
        return self._folder / f"{recording_id}.trace.json"

    def mark_begun(self, recording_id: str) -> None:
        (self._folder / f"{recording_id}.begun").touch()

    def has_begun(self, recording_id: str) -> bool:
        return (self._folder / f"{recording_id}.begun").exists()

    def write_notes(self, notes: RecordingNotes) -> None:
        self._write(self._notes(notes.id), asdict(notes))

    def read_notes(self, recording_id: str) -> RecordingNotes | None:
        """None until the trainer is done. Raises ValueError for what no trainer of ours wrote."""
        try:
            raw: dict[str, Any] = json.loads(self._notes(recording_id).read_text())
            return RecordingNotes(**raw)
        except FileNotFoundError:
            return None
        except TypeError as error:
            raise ValueError(str(error)) from error

    def remove(self, recording_id: str) -> None:
        for path in self._folder.glob(f"{recording_id}.*"):
            path.unlink(missing_ok=True)

    def _notes(self, recording_id: str) -> Path:
        return self._folder / f"{recording_id}.notes.json"

    def _write(self, path: Path, content: dict[str, Any]) -> None:
        """Whole at any moment."""
        self._folder.mkdir(exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(content))
        new.rename(path)
