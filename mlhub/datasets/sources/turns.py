# SPDX-License-Identifier: Apache-2.0
"""The turns in which one file is fetched: when others wait, it stops, and later goes on after the bytes that came.

Those bytes are in the store's spool, under the version's id. A file that cannot be continued safely (no strong entity
tag, or a server without ranges) is begun anew once, and then fetched to the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any, NoReturn
from uuid import UUID

from django.conf import settings

from mlhub.core.errors import UnavailableError
from mlhub.datasets.sources.downloads import Download, EarlierTurns, FoundFile
from mlhub.storage.staging import StagedBytes
from mlhub.storage.stores import blob_store
from mlhub.storage.work_queue import TurnOverError

TURN_S = 60.0
PIECE_BYTES = 16 * 2**20


class FileTurns:
    """kept: what an earlier turn of the version saved; {} = there was none. save: keeps that for the next one, and says
    whether the version is still there. others_wait: whether another fetch waits for its turn."""

    def __init__(
        self,
        version_id: UUID,
        *,
        kept: Mapping[str, Any],
        save: Callable[[dict[str, Any]], bool],
        others_wait: Callable[[], bool],
    ) -> None:
        self._id, self._kept, self._save, self._others_wait = version_id, dict(kept), save, others_wait
        self._began = time.monotonic()

    def is_over(self) -> bool:
        return time.monotonic() - self._began > TURN_S and self._others_wait()

    def earlier(self, uri: str) -> EarlierTurns:
        """What earlier turns left of the file at that address."""
        if self._kept.get("uri") != uri:
            return EarlierTurns()
        n_bytes = self._kept["n_bytes"]
        if n_bytes and blob_store().spool().size(self._id) < n_bytes:  # after a restore, or a wait of days
            return EarlierTurns(used_s=self._kept["used_s"], is_last=self._kept["is_last"])
        found = FoundFile(**self._kept["found"])
        return EarlierTurns(n_bytes, found, self._kept["used_s"], is_last=self._kept["is_last"])

    def end(self, uri: str, download: Download) -> NoReturn:
        """Keeps what came, and raises TurnOverError."""
        can_go_on = download.can_go_on
        if can_go_on:
            self._spool(download)
        self._kept = {
            "uri": uri,
            "n_bytes": download.n_bytes if can_go_on else 0,
            "found": asdict(download.found),
            "used_s": download.used_s,
            "is_last": download.was_begun_anew or not can_go_on,
        }
        if not self._save(self._kept):
            forget(self._id)
        raise TurnOverError

    @contextmanager
    def whole(self, download: Download) -> Iterator[StagedBytes]:
        """All bytes of the file, once it has come to its end."""
        if not download.n_earlier_bytes:
            yield download.staging
            return
        self._spool(download)
        with blob_store().spool().gather([self._id], limit_bytes=settings.MAX_UPLOAD_BYTES) as gathered:
            yield gathered

    def forget(self) -> None:
        """Removes what earlier turns left, once the file is held."""
        if self._kept:
            self._kept = {}
            forget(self._id)

    def _spool(self, download: Download) -> None:
        download.staging.finish()
        spool, offset = blob_store().spool(), download.n_earlier_bytes
        with download.staging.open() as file:
            while piece := file.read(PIECE_BYTES):
                spool.append(self._id, piece, offset=offset)
                offset += len(piece)


def forget(version_id: UUID) -> None:
    """Removes what turns of a fetch left in the spool."""
    with suppress(UnavailableError):  # swept in a day
        blob_store().spool().discard(version_id)
