# SPDX-License-Identifier: Apache-2.0
"""What a server must not forget when it dies: a file that grows by a line before each answer.

A line that the kernel has taken survives the death of the process, if not of its machine, where the whole gang starts
anew. The first line is the state that the others go on from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAX_LINES = 200_000  # then the state is written anew: some megabytes, read in a second


class WriteAheadLog:
    """Lines of JSON. Not for several threads at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._n_lines = 0

    @property
    def is_long(self) -> bool:
        return self._n_lines >= MAX_LINES

    def begin(self, state: Any) -> None:
        """Begins a new log with the state, which replaces all entries before it."""
        new = self._path.with_suffix(".new")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        os.write(file, _line(state))
        os.rename(new, self._path)
        if self._file is not None:
            os.close(self._file)
        self._file, self._n_lines = file, 0

    def append(self, entry: Any) -> None:
        """Appends an entry; does nothing before the first begin()."""
        if self._file is not None:
            os.write(self._file, _line(entry))
            self._n_lines += 1

    def read(self) -> Iterator[Any]:
        """The state, and what came after it; a last line that is not whole was never answered."""
        with self._path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield json.loads(line)


def _line(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"
