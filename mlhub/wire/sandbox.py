# SPDX-License-Identifier: Apache-2.0
"""One run in the sandbox as messages: what is run on which bytes within which limits, and how it ended.

The arguments are those of `python -m mlhub.runtime.inspection.inspect`. A file among them is named by its hash or given
as text, so that the same task runs on this machine or in a pod that fetches what it needs.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

VERSION = 1
MAX_ANSWER_BYTES = 4 * 2**20  # of what the program answers
MAX_PRINTED_BYTES = 64 * 2**10  # of what it printed otherwise, the end of it
MAX_PROOF_CHARACTERS = 2_000


@dataclass(frozen=True)
class BlobArgument:
    """A stored file; the program gets the path of a file with these bytes."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True)
class TextArgument:
    """The program gets the path of a file with this text."""

    text: str


Argument = str | BlobArgument | TextArgument


@dataclass(frozen=True)
class SandboxTask:
    """What one run does, and what all its processes together may use."""

    arguments: tuple[Argument, ...]
    timeout_s: float
    memory_bytes: int
    scratch_bytes: int

    @property
    def blobs(self) -> tuple[BlobArgument, ...]:
        """Every file that the run reads, once."""
        return tuple(dict.fromkeys(a for a in self.arguments if isinstance(a, BlobArgument)))

    @property
    def size_bytes(self) -> int:
        """Of all files that it reads."""
        return sum(blob.size_bytes for blob in self.blobs)

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "arguments": [a if isinstance(a, str) else asdict(a) for a in self.arguments],
            "timeout_s": self.timeout_s,
            "memory_bytes": self.memory_bytes,
            "scratch_bytes": self.scratch_bytes,
        }

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> SandboxTask:
        """Raises ValueError for another version, KeyError and TypeError for what is no task."""
        if found["version"] != VERSION:
            raise ValueError(f"The task has version {found['version']}; this program reads version {VERSION}.")
        return cls(
            tuple(_argument(one) for one in found["arguments"]),
            float(found["timeout_s"]),
            int(found["memory_bytes"]),
            int(found["scratch_bytes"]),
        )


@dataclass(frozen=True)
class SandboxOutcome:
    """How a run ended, as mlhub.runtime.sandbox.verdicts.Ended reports it; end is one of its End."""

    exit_code: int
    output: str
    printed: str  # besides its answer
    end: str
    proof: str
    is_cut: bool

    def to_json(self) -> str:
        """Within the limits: an answer that is too large is left out, and is_cut reports it."""
        output, is_cut = self.output, self.is_cut
        if len(output.encode(errors="replace")) > MAX_ANSWER_BYTES:
            output, is_cut = "", True
        printed = self.printed.encode(errors="replace")[-MAX_PRINTED_BYTES:].decode(errors="replace")
        body = {
            "version": VERSION,
            "exit_code": self.exit_code,
            "output": _plain(output),
            "printed": _plain(printed)[-MAX_PRINTED_BYTES:],
            "end": self.end,
            "proof": _plain(self.proof)[:MAX_PROOF_CHARACTERS],
            "is_cut": is_cut,
        }
        return json.dumps(body)


def _argument(found: Any) -> Argument:
    if isinstance(found, str):
        return found
    if "text" in found:
        return TextArgument(str(found["text"]))
    return BlobArgument(str(found["sha256"]), int(found["size_bytes"]))


def _plain(text: str) -> str:
    """Text that the API takes: without NUL characters and halves of surrogate pairs."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
