# SPDX-License-Identifier: Apache-2.0
"""The examples: their commands, as examples/README.md shows them, and what each must reach."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_ROW = re.compile(
    r"^\| \[(?P<name>[a-z-]+)\]\((?P=name)/\) \| [^|]+ \| `(?P<commands>[^`]+)` \| (?P<reaches>[^|]+) \|$", re.M
)


@dataclass(frozen=True)
class Bound:
    """The last value of a metric of the job, or of the study's best trial, and how it must be."""

    metric: str
    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: float | None) -> bool:
        if value is None:
            return False
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


@dataclass(frozen=True)
class Example:
    """commands: as a person types them, from the top of the repository."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    reaches: str

    @property
    def folder(self) -> Path:
        return EXAMPLES / self.name

    @property
    def bound(self) -> Bound:
        return BOUNDS[self.name]


BOUNDS = {
    "table": Bound("eval/accuracy", at_least=0.9),
    "images": Bound("eval/accuracy", at_least=0.98),
    "text": Bound("eval/bits_per_byte", at_most=2.6),
    "torchrun": Bound("train/accuracy", at_least=0.95),
    "hugging-face": Bound("train/eval_accuracy", at_least=0.9),
    "study": Bound("eval/loss", at_most=0.3),
}


def examples() -> list[Example]:
    """In the order of the table in examples/README.md."""
    found = _ROW.finditer((EXAMPLES / "README.md").read_text())
    return [Example(row["name"], _commands(row["commands"]), row["reaches"]) for row in found]


def _commands(line: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(shlex.split(command)) for command in line.split("&&"))
