# SPDX-License-Identifier: Apache-2.0
"""Lists the checkpoints of a script as they appear in its folders, however it writes them.

Those of mlhub.runtime.checkpoint() are in script/; a script that knows nothing of MLHub writes them into its output
folder, where they are recognised by their names (checkpoint-500, epoch_3.pt, last.pth). Standard library only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from mlhub.runtime.reporting import Reporter
from mlhub.runtime.scripts.outputs import LINK
from mlhub.runtime.scripts.working_checkpoints import (
    SETTLED_S,
    WriteStamp,
    checkpoints_below,
    entries,
    write_stamp,
)
from mlhub.wire.report import MAX_CHECKPOINTS, CheckpointReport

OWN = "script"
# epoch=2-step=96.ckpt is of step 96, epoch_01.weights.h5 of step 1
_WORDS = ("step", "checkpoint|ckpt", "iter", "epoch")
_STEPS = [re.compile(rf"(?:{word})s?[-_=]?(\d+)", re.IGNORECASE) for word in _WORDS]
_NUMBER = re.compile(r"(\d+)(?!.*\d)")


class CheckpointListing:
    """Remembers what it reported; a checkpoint that was written anew is reported anew."""

    def __init__(self, root: Path, reporter: Reporter) -> None:
        """root: the job's folder of checkpoints. What earlier attempts left there is known already."""
        self._root, self._reporter = root, reporter
        self._known = {path: write_stamp(path) for path in self._found()}

    def look(self, *, is_final: bool = False) -> None:
        """is_final: nothing is written any more."""
        found = sorted(self._found())[:MAX_CHECKPOINTS]
        names = [self._name(path) for path in found]
        for path in found:
            written = write_stamp(path)
            is_settled = is_final or time.time() - written[0] >= SETTLED_S
            if is_settled and written[1] and self._known.get(path) != written:
                self._known[path] = written
                self._report(path, written, names)
        gone = [path for path in self._known if path not in found]
        for path in gone:
            del self._known[path]

    def _report(self, path: Path, written: WriteStamp, names: list[str]) -> None:
        found = next((match for pattern in (*_STEPS, _NUMBER) if (match := pattern.search(path.name))), None)
        step = int(found[1][:15]) if found else 0
        self._reporter.send(
            CheckpointReport(written[0], step, self._name(path), written[1], write_s=0.0, stall_s=0.0, present=names)
        )

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _found(self) -> Iterator[Path]:
        own = self._root / OWN
        yield from (path for path in entries(own) if not path.name.startswith("."))
        yield from checkpoints_below(self._root / LINK)
