# SPDX-License-Identifier: Apache-2.0
"""The fake backend as several processes see it: gangs outlive the process that launched them, as pods do."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

from mlhub.backends.fake import FakeBackend
from mlhub.backends.protocol import AttemptStatus, NodeStatus
from mlhub.wire.launch import AttemptId, LaunchSpec


class SharedBackend(FakeBackend):
    """Its state is in a file, read before each verb and written after it."""

    def __init__(self, nodes: Sequence[NodeStatus], file: Path) -> None:
        super().__init__(nodes)
        self._file = file

    def launch(self, spec: LaunchSpec) -> None:
        self._read()
        super().launch(spec)
        self._write()

    def stop(self, attempt_id: AttemptId, *, grace_s: float) -> None:
        self._read()
        super().stop(attempt_id, grace_s=grace_s)
        self._write()

    def observe(self) -> Sequence[AttemptStatus]:
        self._read()
        return super().observe()

    def finish(self, attempt_id: str) -> None:
        self._read()
        super().finish(attempt_id)
        self._write()

    def _read(self) -> None:
        if self._file.exists():
            self._gangs, self.launches = pickle.loads(self._file.read_bytes())

    def _write(self) -> None:
        self._file.write_bytes(pickle.dumps((self._gangs, self.launches)))
