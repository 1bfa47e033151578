# SPDX-License-Identifier: Apache-2.0
"""Ships append-only files to the API, line by line numbered; the file is the buffer while the API is away."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mlhub.runtime.launcher.ingest_api import FencedError, IngestApi, IngestUnavailableError, RefusedError
from mlhub.runtime.launcher.judgement import is_forged, n_before_forged
from mlhub.wire.exits import Cause
from mlhub.wire.masking import NO_SECRETS, SecretMask, masked_report
from mlhub.wire.profiles import poll_s
from mlhub.wire.report import LOG, MAX_BATCH_LINES, MAX_LOG_LINE, REPORTS, USAGE, FailureReport, to_dict

MAX_BATCH_BYTES = 2**20
# A log that grows faster than the platform takes it: what is more than MAX_LAG_BYTES behind is left out, but for the
# newest KEPT_BYTES, and so is what has not arrived LOG_END_S after the end. A GPU is not held for them.
MAX_LAG_BYTES = 64 * 2**20
KEPT_BYTES = 2**20
LOG_END_S = 60.0
LOG_PASS_S = 1.0  # of a log that does not end, so that reports are not behind it
PERIOD_S = 0.25
USAGE_PERIOD_S = 10.0  # and longer in large gangs, each pod of which sends
USAGE_S_PER_POD = 0.25
# colours, and moves of the cursor; of a window's title or a link only what surrounds its text
CONTROL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B])")
BACK_OFF_S = (0.25, 0.5, 1.0, 2.0, 5.0)


class ForgedReportError(RefusedError):
    """The job's code wrote into the pod's reports what is none."""


class Tail:
    """A file that grows. `next`: number of the first line that the API does not have yet. period_s: at most so often
    is it sent; 0 for with every pass of the shipper."""

    def __init__(self, path: Path, stream: str, mask: SecretMask = NO_SECRETS, *, period_s: float = 0.0) -> None:
        self._mask = mask
        self.path = path
        self.stream = stream
        self.next = 0
        self._offset = 0
        self._base: tuple[int, int] = (0, 0)  # the number of a line, and where it begins: those after it are counted
        self._note = ""  # the line before that one, which is not in the file
        self._period_s, self._sent_at = period_s, time.monotonic()

    def is_due(self) -> bool:
        """Whether a period has passed since this was last asked with that answer; the next one begins then."""
        now = time.monotonic()
        if now - self._sent_at < self._period_s:
            return False
        self._sent_at = now
        return True

    def batch(self, *, is_final: bool) -> tuple[list[Any], int]:
        """Lines from `next` on, and where they end in the file. An unfinished last line counts when is_final.

        Raises RefusedError for a line that is no report, once those before it are sent.
        """
        if self.next < self._base[0]:
            return [self._note], self._offset
        if not self.path.exists():
            return [], self._offset
        with self.path.open("rb") as file:
            file.seek(self._offset)
            chunk = file.read(MAX_BATCH_BYTES)
        lines = chunk.split(b"\n")
        rest = lines.pop()
        is_final = is_final and self.stream == LOG  # half a report, of a trainer that was killed, has no meaning
        if rest and (is_final or len(chunk) == MAX_BATCH_BYTES) and not lines:
            lines, rest = [rest], b""  # one line larger than a batch is cut, or the last one has no end
            end = self._offset + len(chunk)
        elif rest and is_final and len(chunk) < MAX_BATCH_BYTES:
            lines.append(rest)
            end = self._offset + len(chunk)
        else:
            end = self._offset + len(chunk) - len(rest)
        if len(lines) > MAX_BATCH_LINES:
            lines = lines[:MAX_BATCH_LINES]
            end = self._offset + sum(len(line) + 1 for line in lines)
        return self._decoded(lines, end)

    def acknowledge(self, number: int, *, n_sent: int, end: int) -> None:
        """The API wants line `number` next."""
        if number == self.next + n_sent:
            self.next, self._offset = number, end
        else:
            self._seek(number)

    def _seek(self, number: int) -> None:
        first, offset = self._base
        with self.path.open("rb") as file:
            file.seek(offset)
            for _ in range(first, number):
                file.readline()
            self.next, self._offset = number, file.tell()

    def lag_bytes(self) -> int:
        """How much of the file was not sent yet."""
        return self.path.stat().st_size - self._offset if self.path.exists() else 0

    def skip(self) -> None:
        """Leaves out what is not sent yet but for the newest lines, and says so in a line of its own."""
        if self.lag_bytes() <= 2 * KEPT_BYTES or self.next < self._base[0]:
            return
        with self.path.open("rb") as file:
            file.seek(-KEPT_BYTES, os.SEEK_END)
            file.readline()
            offset = file.tell()
        self._note = (
            f"mlhub: {offset - self._offset:,} bytes of the log are left out here, since it grew faster than it could "
            "be sent."
        )
        self._base, self._offset = (self.next + 1, offset), offset

    def _decoded(self, lines: list[bytes], end: int) -> tuple[list[Any], int]:
        """With where the last of them ends."""
        found: list[Any] = []
        for place, line in enumerate(lines):
            try:
                found.append(self._decode(line, place))
            except RefusedError:
                if not found:
                    raise
                return found, self._offset + sum(len(sent) + 1 for sent in lines[:place])
        return found, end

    def _decode(self, line: bytes, place: int) -> Any:
        text = line.decode(errors="replace").replace("\x00", "�").rstrip("\r")
        if self.stream == LOG:
            return self._mask(_as_shown(text))[:MAX_LOG_LINE]
        message = f"Line {self.next + place} of the pod's reports is no report: {text[:100]!r}"
        if is_forged(text):
            raise ForgedReportError(message)
        try:
            return masked_report(json.loads(text), self._mask)
        except (ValueError, RecursionError) as error:  # the rest of one
            raise RefusedError(message) from error


def _as_shown(text: str) -> str:
    """What a terminal shows in the end of a line that was drawn over, as progress bars do, without colours."""
    return CONTROL_SEQUENCE.sub("", text.rpartition("\r")[2]).replace("\b", "").replace("\x1b", "")


class Shipper(threading.Thread):
    """Sends what there is, several times a second, while the pod lives.

    on_final: called once, with a reason. is_forged: the reason is a line that the job's code wrote. mask: replaces
    secrets in what is sent. usage: samples, which a platform of an earlier version refuses: the pod then goes on
    without them.
    """

    def __init__(
        self,
        api: IngestApi,
        *,
        role: str,
        index: int,
        reports: Path,
        log: Path,
        on_final: Callable[[str], None],
        mask: SecretMask = NO_SECRETS,
        usage: Path | None = None,
        n_pods: int = 1,
    ) -> None:
        super().__init__(name="shipper", daemon=True)
        self._api, self._role, self._index = api, role, index
        self._tails = [Tail(reports, REPORTS, mask), Tail(log, LOG, mask)]
        if usage is not None:
            self._tails.append(Tail(usage, USAGE, period_s=max(USAGE_PERIOD_S, n_pods * USAGE_S_PER_POD)))
        # a pod that has nothing to send asks now and then whether a profile of it is wanted
        self._poll_s = poll_s(n_pods) if api.on_profile is not None else None
        self._asked_at = time.monotonic()
        self._on_final = on_final
        self._is_ending = threading.Event()
        self._ends_log_at = float("inf")
        self._has_sent_all = False
        self.is_refused = False
        self.is_forged = False

    def run(self) -> None:
        n_failures, asked_s = 0, 0.0
        while True:
            is_final = self._is_ending.is_set()
            try:
                self._send_all(is_final=is_final)
                n_failures = 0
                if is_final:
                    self._has_sent_all = True
                    return
            except IngestUnavailableError as error:
                n_failures, asked_s = n_failures + 1, error.retry_after_s
            except (FencedError, RefusedError) as error:
                if isinstance(error, ForgedReportError):
                    self._report_forgery(str(error))
                self.is_refused = True
                self._on_final(str(error))
                return
            pause_s = max(asked_s, BACK_OFF_S[min(n_failures, len(BACK_OFF_S)) - 1]) if n_failures else PERIOD_S
            if is_final:
                time.sleep(pause_s)
            else:
                self._is_ending.wait(pause_s)

    def drain(self, *, timeout_s: float) -> bool:
        """Ships the rest. Whether all of it arrived in time: of a long rest of the log only the newest lines."""
        self._is_ending.set()
        self.join(timeout_s)
        return self._has_sent_all

    def _send_all(self, *, is_final: bool) -> None:
        for tail in list(self._tails):
            if not tail.is_due() and not is_final:
                continue
            try:
                self._send(tail, is_final=is_final)
            except RefusedError:
                if tail.stream != USAGE:
                    raise
                self._tails.remove(tail)
        if self._poll_s is not None and time.monotonic() - self._asked_at > self._poll_s:
            self._ask(self._tails[0])

    def _sent(self, tail: Tail, lines: list[Any]) -> int:
        """The number of the line that the API wants next."""
        send = partial(self._api.send_lines, role=self._role, index=self._index, stream=tail.stream, first=tail.next)
        try:
            return send(lines=lines)
        except RefusedError as error:
            n_good = n_before_forged(lines) if tail.stream == REPORTS else None
            if n_good is None:
                raise
            if n_good:  # the next batch begins with the forged one
                return send(lines=lines[:n_good])
            raise ForgedReportError(f"Line {tail.next} of the pod's reports is no report: {error}") from error

    def _report_forgery(self, message: str) -> None:
        """In place of the line, since none after it would be taken before."""
        self.is_forged = True
        report = FailureReport(at=time.time(), cause=Cause.USER_CODE, message=f"{message}. The code wrote it there.")
        tail = self._tails[0]
        for pause_s in BACK_OFF_S:
            try:
                self._api.send_lines(
                    role=self._role, index=self._index, stream=tail.stream, first=tail.next, lines=[to_dict(report)]
                )
                return
            except IngestUnavailableError:  # the exit code says it, too
                time.sleep(pause_s)
            except (FencedError, RefusedError):
                return

    def _ask(self, tail: Tail) -> None:
        """Sends no lines, for the answer's sake. A platform that refuses this is not asked again."""
        self._asked_at = time.monotonic()
        try:
            self._api.send_lines(role=self._role, index=self._index, stream=tail.stream, first=tail.next, lines=[])
        except RefusedError:
            self._poll_s = None

    def _send(self, tail: Tail, *, is_final: bool) -> None:
        """Until all is sent; while the pod lives not too much of a log at a time."""
        until = time.monotonic() + LOG_PASS_S
        while is_final or tail.stream != LOG or time.monotonic() < until:
            if tail.stream == LOG and (tail.lag_bytes() > MAX_LAG_BYTES or time.monotonic() > self._ends_log_at):
                tail.skip()
            lines, end = tail.batch(is_final=is_final)
            if not lines:
                return
            number = self._sent(tail, lines)
            self._asked_at = time.monotonic()
            if is_final and tail.stream == LOG:  # from the first lines that arrive: an API that is away costs none
                self._ends_log_at = min(self._ends_log_at, self._asked_at + LOG_END_S)
            tail.acknowledge(number, n_sent=len(lines), end=end)
