# SPDX-License-Identifier: Apache-2.0
"""Whether this machine has the folder of checkpoints that all machines of the cluster share.

A file server that hangs also hangs who asks it: a thread looks, and the agent goes on without its answer.
"""

from __future__ import annotations

import getpass
import json
import os
import threading
import time
from dataclasses import asdict
from pathlib import Path

from mlhub.backends.agents.messages import CheckpointFolder, proofs_in

LOOK_EVERY_S = 10.0
ANSWER_WITHIN_S = 20.0


class SharedFolder:
    """known: a file in which the folder is kept, for the next start. name: of the agent."""

    def __init__(self, known: Path, name: str) -> None:
        self._known, self._name = known, name
        self._folder = _read(known)
        self._problem = "" if self._folder is None else problem_of(self._folder, name)
        self._looked_at = time.monotonic()
        self._thread: threading.Thread | None = None

    @property
    def problem(self) -> str:
        """Why no pod may start here; "" = none. Does not wait."""
        if self._folder is None:
            return "The agent is starting."
        now = time.monotonic()
        if self._thread is not None and self._thread.is_alive():
            if now - self._looked_at > ANSWER_WITHIN_S:
                return f"The folder of checkpoints {self._folder.path} does not answer: see to its file server."
        elif now - self._looked_at > LOOK_EVERY_S:
            self._looked_at = now
            self._thread = threading.Thread(target=self._look, args=(self._folder,), daemon=True)
            self._thread.start()
        return self._problem

    def follow(self, folder: CheckpointFolder) -> None:
        """Looks at once at a folder that is another one than before. Raises OSError."""
        if folder != self._folder:
            self._known.write_text(json.dumps(asdict(folder)))
            self._folder = folder
            self._look(folder)

    def _look(self, folder: CheckpointFolder) -> None:
        self._problem = problem_of(folder, self._name)


def problem_of(folder: CheckpointFolder, name: str) -> str:
    """Why the folder is not the one that the platform has; "" = it is, and can be written to."""
    path = Path(folder.path)
    remedy = (
        f"Mount the platform's folder at the same path on {name}, such as by NFS, or share another one and give it to "
        "the platform as MLHUB_CHECKPOINT_ROOT."
    )
    try:
        content = (path / folder.marker).read_text()
    except PermissionError:
        return f"The folder of checkpoints {path} cannot be read by {_user()}. Run the agent as who may."
    except OSError as error:
        if not path.is_dir():
            return f"The folder of checkpoints {path} is not there. {remedy}"
        return f"The folder of checkpoints {path} is not the platform's ({folder.marker}: {error.strerror}). {remedy}"
    if content != folder.content:
        return f"The folder of checkpoints {path} is of another installation of MLHub. {remedy}"
    proof = proofs_in(folder) / name
    try:
        proof.write_text(folder.content)
        proof.unlink()
    except OSError as error:
        return (
            f"What the platform makes in the folder of checkpoints {path} cannot be written by {_user()} "
            f"({error.strerror}). Run the agent as the platform's user, or mount the folder so that it may."
        )
    return ""


def home_problem(home: Path, error: OSError) -> str:
    """Why no pod may start while the agent cannot write its own folder."""
    return f"The agent's folder {home} cannot be written ({error.strerror or error}): make room there."


def _user() -> str:
    return f"the user {getpass.getuser()}" if os.geteuid() else "root"


def _read(known: Path) -> CheckpointFolder | None:
    try:
        return CheckpointFolder(**json.loads(known.read_text()))
    except (OSError, ValueError, TypeError):
        return None
