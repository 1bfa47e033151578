# SPDX-License-Identifier: Apache-2.0
"""Fetching one file into staging: within limits, continued where a connection broke, and always the same file."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import httpx

from mlhub.core.security.destinations import AllowedInside
from mlhub.datasets.sources import site_folders
from mlhub.datasets.sources.failure import FetchError
from mlhub.datasets.sources.locations import WebAddress
from mlhub.datasets.sources.web_requests import AwayError, WebAnswer, opened
from mlhub.storage.staging import CHUNK_BYTES, IncomingBytes

MAX_BREAKS = 5  # in a row, without a byte that had not come before
REPORTED_EVERY_S = 1.0
SLOW_AFTER_S = 60.0
MIN_BYTES_PER_S = 16 * 2**10
RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
BUSY = (408, 425, 429)


@dataclass(frozen=True)
class Limits:
    """first_wait_s: before the second try after a break, twice as long before each further one."""

    max_bytes: int
    timeout_s: float
    first_wait_s: float = 1.0


@dataclass
class FoundFile:
    """What the server says of the file. is_unchanged: it still has the entity tag that was asked about."""

    etag: str = ""
    last_modified: str = ""
    revision: str = ""
    total_bytes: int | None = None
    is_unchanged: bool = False


@dataclass(frozen=True)
class EarlierTurns:
    """What earlier turns of the same fetch left. n_bytes: that came, and are kept elsewhere; found: the file that they
    are of; used_s: time that counts against the limit. is_last: it was begun anew once, and is not interrupted again.
    """

    n_bytes: int = 0
    found: FoundFile = field(default_factory=FoundFile)
    used_s: float = 0.0
    is_last: bool = False


class StoppedError(Exception):
    """Others shall have their turn; the download is as far as it says."""


class Download:
    """stage: makes an empty place for the bytes; report: called with what was found and bytes so far, once a second.

    required_etag: what the file must have; known_etag: with which it need not be sent. "" = none. is_turn_over: whether
    others shall have their turn now. was_begun_anew: the server did not go on after the earlier bytes.
    """

    def __init__(
        self,
        stage: Callable[[], IncomingBytes],
        *,
        limits: Limits,
        report: Callable[[FoundFile, int], None],
        required_etag: str = "",
        known_etag: str = "",
        earlier: EarlierTurns = EarlierTurns(),
        is_turn_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._stage, self._limits, self._report = stage, limits, report
        self._required, self._known = required_etag, known_etag
        self._is_turn_over, self._is_last = is_turn_over, earlier.is_last
        self._began = time.monotonic() - earlier.used_s
        self._speed_from = self._began if earlier.n_bytes else time.monotonic()
        self._reported_at = float("-inf")
        self.staging = stage()
        self.found = replace(earlier.found) if earlier.n_bytes else FoundFile()
        self.n_earlier_bytes = earlier.n_bytes
        self.was_begun_anew = False

    @property
    def n_bytes(self) -> int:
        """Of the file, those of earlier turns too."""
        return self.n_earlier_bytes + self.staging.size_bytes

    @property
    def used_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def can_go_on(self) -> bool:
        """Whether a later answer is known to be of the same file: a weak tag says "the same to a reader", which bytes
        of two files may be."""
        return not self.found.etag.startswith("W/") if self.found.etag else bool(self.found.last_modified)

    def from_web(self, address: WebAddress, inside: AllowedInside) -> None:
        """Raises FetchError, and StoppedError."""
        breaks, most = 0, self.n_bytes
        while True:
            try:
                self._once(address, inside)
                return
            except (httpx.TransportError, AwayError) as error:
                # bytes that came before are no progress, where the file is sent from its beginning again
                is_further = self.n_bytes > most
                breaks = 1 if is_further else breaks + 1
                most = max(most, self.n_bytes)
                if breaks > MAX_BREAKS or (breaks > 1 and self._is_slow()):
                    raise FetchError(
                        "unreachable",
                        f"The address could not be read to the end in {breaks} tries: {words_of(error)}",
                        "Check that the address can be reached from the platform, then fetch it again.",
                    ) from error
            self._check_time()
            time.sleep(min(self._limits.first_wait_s * 2 ** (breaks - 1), self._left_s()))

    def from_folder(self, uri: str) -> None:
        """Raises FetchError, and StoppedError."""
        with site_folders.opened(uri) as (file, size_bytes, etag):
            self._check_etag(etag)
            if self.n_earlier_bytes and etag != self.found.etag:
                raise _changed()
            file.seek(self.n_earlier_bytes)
            self.found = FoundFile(etag=etag, total_bytes=size_bytes)
            if self._known and _same(etag, self._known):
                self.found.is_unchanged = True
                return
            while chunk := file.read(CHUNK_BYTES):
                self._write(chunk)
            if site_folders.etag_of(file.fileno()) != etag:
                raise _changed()

    def _once(self, address: WebAddress, inside: AllowedInside) -> None:
        begin = self.n_bytes
        if begin and begin == self.found.total_bytes:
            return
        headers: dict[str, str] = {}
        if begin:
            headers["Range"] = f"bytes={begin}-"
        elif self._known:
            headers["If-None-Match"] = self._known
        with opened(address, headers, inside) as answer:
            if answer.response.status_code == 304 and self._known and not begin:
                self.found = FoundFile(etag=answer.etag or self._known, revision=answer.revision, is_unchanged=True)
                return
            check_status(answer.response)
            self._accept(answer, begin)
            for chunk in answer.response.iter_raw():  # a size would hold back what came before a break
                self._write(chunk)
        total = self.found.total_bytes
        if total is not None and self.n_bytes != total:
            raise AwayError(f"{self.n_bytes:,} of {total:,} bytes came.")

    def _accept(self, answer: WebAnswer, begin: int) -> None:
        """Settles what the file is at the first answer, and checks later ones against it."""
        headers = answer.response.headers
        modified = headers.get("Last-Modified", "")[:100]
        if headers.get("Content-Encoding", "identity") != "identity":
            raise FetchError(
                "encoded", "The server sends the file compressed, though it was asked not to.", "Use another address."
            )
        self._check_etag(answer.etag)
        if begin:
            if (answer.etag and not _same(answer.etag, self.found.etag)) or modified != self.found.last_modified:
                raise _changed()
            part = RANGE.fullmatch(headers.get("Content-Range", ""))
            if answer.response.status_code == 206 and self.can_go_on and part is not None and int(part[1]) == begin:
                return
            # the server sends all of it again, or nothing proves that the rest is of the same file
            self.staging.discard()
            self.staging = self._stage()
            if self.n_earlier_bytes:
                self.n_earlier_bytes, self.was_begun_anew, self._speed_from = 0, True, time.monotonic()
            if answer.response.status_code == 206:
                raise AwayError("The server cannot continue a file without an entity tag.")
        length = headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        self.found = FoundFile(answer.etag[:300], modified, answer.revision, total)
        self._check_size(total or 0)

    def _check_etag(self, etag: str) -> None:
        if self._required and not _same(etag, self._required):
            raise FetchError(
                "changed",
                f"The address now has the entity tag {etag or '(none)'}, not {self._required}: it is another file.",
                "Fetch it without an entity tag to get what is there now, or give the address of the earlier file.",
                field="source.etag",
            )

    def _write(self, chunk: bytes) -> None:
        self._check_size(self.n_bytes + len(chunk))
        self.staging.write(chunk)
        self._check_time()
        self._check_speed()
        now = time.monotonic()
        if now - self._reported_at >= REPORTED_EVERY_S:
            self._reported_at = now
            self._report(self.found, self.n_bytes)
            may_stop = not (self._is_last or self.was_begun_anew or self.n_bytes == self.found.total_bytes)
            if may_stop and self._is_turn_over():
                raise StoppedError

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self._limits.max_bytes:
            raise FetchError(
                "too_large",
                f"The file has more than {self._limits.max_bytes:,} bytes, which is what may be fetched now.",
                "Fetch a smaller file, delete data that is no longer needed, or ask an administrator for a larger "
                "quota or MLHUB_MAX_UPLOAD_BYTES.",
            )

    def _check_time(self) -> None:
        if self._left_s() <= 0:
            raise FetchError(
                "too_slow",
                f"It took longer than {self._limits.timeout_s:,.0f} s; {self.n_bytes:,} bytes came.",
                "Fetch a smaller file, or ask an administrator to raise MLHUB_FETCH_TIMEOUT_S.",
            )

    def _check_speed(self) -> None:
        if self._is_slow():
            raise FetchError(
                "too_slow",
                f"The server sends less than {MIN_BYTES_PER_S:,} bytes a second.",
                "Use another address of the file, or upload it.",
            )

    def _is_slow(self) -> bool:
        gone_s = time.monotonic() - self._speed_from
        return gone_s > SLOW_AFTER_S and self.n_bytes < MIN_BYTES_PER_S * gone_s

    def _left_s(self) -> float:
        return max(0.0, self._began + self._limits.timeout_s - time.monotonic())


def check_status(response: httpx.Response) -> None:
    status = response.status_code
    if status in (200, 206):
        return
    if status in BUSY or status >= 500:
        raise AwayError(f"The server answered {status} {response.reason_phrase}.")
    if status in (401, 403):
        remedy = "Name secrets of the project that let it in, or check those that are named."
        raise FetchError("not_let_in", f"The server answered {status}: it does not let the platform in.", remedy)
    if status in (404, 410):
        raise FetchError("not_found", f"The server answered {status}: there is no such file.", "Check the address.")
    raise FetchError(
        "refused_by_server", f"The server answered {status} {response.reason_phrase}.", "Check the address."
    )


def _changed() -> FetchError:
    return FetchError("changed", "The file changed while it was being fetched.", "Fetch it again.")


def _same(one: str, other: str) -> bool:
    """Whether two entity tags are the same, weak or not, quoted or not."""
    return one.removeprefix("W/").strip('"') == other.removeprefix("W/").strip('"')


def words_of(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time."
    return f"{type(error).__name__}: {error}"[:300] if isinstance(error, httpx.TransportError) else str(error)[:300]
