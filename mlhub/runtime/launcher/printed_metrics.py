# SPDX-License-Identifier: Apache-2.0
"""Reads metrics from what a script prints: `step=10 loss=0.5`, or an object of JSON in a line. Pure, but for a file.

A line of pairs counts when it names a step or an epoch, or consists of pairs alone; so neither a list of settings in
brackets nor a sentence with one "=" in it becomes a curve. Lines of other forms are those of frameworks and tutorials.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlhub.runtime.scripts.lines.epochs import EpochProgress
from mlhub.runtime.scripts.lines.frameworks import FrameworkLines
from mlhub.runtime.scripts.lines.tutorials import TutorialLines
from mlhub.wire.masking import NO_SECRETS, SecretMask
from mlhub.wire.report import MAX_STEP

PrintedValues = dict[str, float]
STEPS = ("step", "global_step", "iteration", "iter")
EPOCH = "epoch"
MAX_LINE = 4096  # characters; what is longer is no line of metrics
MAX_READ_BYTES = 2**22  # at one look
_PAIR = re.compile(r"([A-Za-z_][\w./-]{0,200})=([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf|nan)%?(?=[\s,;|]|$)")
_CALL = re.compile(r"\w\(")  # Namespace(step=1, ...)
_BETWEEN = re.compile(r"[\s,;|]*")
_LINE_END = re.compile(rb"[\r\n]")


@dataclass
class PrintedMetrics:
    """Remembers the step between lines: a line without one belongs to the last that was named. progress: is kept up to
    date."""

    progress: EpochProgress = field(default_factory=EpochProgress)
    _last_step: int | None = None
    _n_seen: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def read(self, line: str) -> tuple[int, PrintedValues] | None:
        """The step of a line and its values by name; None for a line without metrics.

        Where no step was ever named, the values of a name are numbered from 1.
        """
        found = _json(line) if line.lstrip().startswith("{") else _pairs(line)
        if found is None:
            return None
        named = next((name for name in (*STEPS, EPOCH) if name in found), None)
        if named is not None:
            value = found[named]
            if not 0 <= value <= MAX_STEP:  # which no NaN is either
                return None
            self._last_step = int(value)
        if EPOCH in found:  # a line with a step, too, is of the middle of an epoch
            self.progress.enter(found[EPOCH], part=1.0 if named == EPOCH else 0.0)
        values = {name: value for name, value in found.items() if name not in (*STEPS, EPOCH)}
        if not values:
            return None
        return self._step_of(values), values

    def _step_of(self, values: PrintedValues) -> int:
        if self._last_step is not None:
            return self._last_step
        for name in values:
            self._n_seen[name] += 1
        return max(self._n_seen[name] for name in values)


class PrintedFile:
    """The lines that are new in a log, as a script's bytes arrive. progress: where training is, by all of them."""

    def __init__(self, path: Path, mask: SecretMask = NO_SECRETS) -> None:
        self._mask = mask
        self._path, self._offset = path, path.stat().st_size if path.exists() else 0
        self.progress = EpochProgress()
        self._parser, self._frameworks = PrintedMetrics(self.progress), FrameworkLines(self.progress)
        self._others = TutorialLines(self.progress)

    def new(self, *, is_final: bool = False) -> list[tuple[int, PrintedValues]]:
        """Steps and values since the last call. An unfinished line counts when is_final."""
        found: list[tuple[int, PrintedValues]] = []
        for raw in self._lines(is_final=is_final):
            if len(raw) > MAX_LINE:
                continue
            line = self._mask.of_metrics(raw.decode(errors="replace"))
            found += self._frameworks.read(line)
            if (read := self._parser.read(line) or self._others.read(line)) is not None:
                found.append(read)
        return found + (self._frameworks.end() if is_final else [])

    def _lines(self, *, is_final: bool) -> list[bytes]:
        lines: list[bytes] = []
        if not self._path.exists():
            return lines
        with self._path.open("rb") as file:
            file.seek(self._offset)
            while chunk := file.read(MAX_READ_BYTES):
                *whole, rest = _LINE_END.split(chunk)
                is_end = len(chunk) < MAX_READ_BYTES
                if (is_end and is_final) or (not is_end and not whole):  # the last line has no end, or is too long
                    whole, rest = [*whole, rest], b""
                lines += whole
                self._offset += len(chunk) - len(rest)
                if is_end:
                    break
                file.seek(self._offset)
        return lines


def _pairs(line: str) -> PrintedValues | None:
    """name=number, as often as there are some; None when they are not what the line is about."""
    if "=" not in line:
        return None
    values = {match[1]: float(match[2]) for match in _PAIR.finditer(line)}
    is_about_a_step = any(name in values for name in (*STEPS, EPOCH)) and not _CALL.search(line)
    is_nothing_else = _BETWEEN.fullmatch(_PAIR.sub("", line)) is not None
    return values if values and (is_about_a_step or is_nothing_else) else None


def _json(line: str) -> PrintedValues | None:
    """The numbers of an object; none of what is nested too deep, or of an object with a number that no float holds."""
    try:
        found: Any = json.loads(line)
        if not isinstance(found, dict):
            return None
        numbers = {k: float(v) for k, v in found.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    except (ValueError, RecursionError, OverflowError):
        return None
    return numbers or None
