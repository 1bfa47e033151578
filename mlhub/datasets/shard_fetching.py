# SPDX-License-Identifier: Apache-2.0
"""The fetch of a version of many files: one shard after the other, each held once it is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.conf import settings

from mlhub.datasets import references, shards
from mlhub.datasets.models import DatasetVersion
from mlhub.datasets.sources.downloads import Download, FoundFile, Limits, StoppedError
from mlhub.datasets.sources.failure import FetchError
from mlhub.datasets.sources.listings import listed
from mlhub.datasets.sources.locations import at_revision, scheme_of
from mlhub.datasets.sources.turns import FileTurns
from mlhub.storage import work_queue
from mlhub.storage.stores import blob_store

TURN = 0.25  # of the time limit: after it, the fetch goes on when it is its turn again


class ShardFetch:
    """read: brings the file of a source into a download. room: bytes that may be stored now. report: of progress.
    turns: those of the shard that is being fetched."""

    def __init__(
        self,
        version: DatasetVersion,
        *,
        first_wait_s: float,
        secrets: Callable[[], Mapping[str, str]],
        read: Callable[[Mapping[str, Any], Download], None],
        room: Callable[[], int],
        report: Callable[[dict[str, Any], dict[str, Any]], None],
        turns: FileTurns,
    ) -> None:
        self._version, self._first_wait_s = version, first_wait_s
        self._secrets, self._read, self._room, self._report, self._turns = secrets, read, room, report, turns
        base = references.source_of(version)["refresh_of"]
        self._earlier = shards.stored_shards(DatasetVersion.objects.filter(pk=base).first() if base else None)
        self._began = time.monotonic()

    def run(self) -> bool:
        """False when the version was deleted meanwhile.

        Raises FetchError naming the shard, TurnOverError when others shall have their turn, and what storing raises.
        """
        self._list()
        for index, shard in enumerate(self._shards()):
            if shard["stored"]:
                continue
            if time.monotonic() - self._began > TURN * settings.FETCH_TIMEOUT_S > 0:
                raise work_queue.TurnOverError
            try:
                if not self._fetch(index, shard):
                    return False
            except FetchError as error:
                raise self._of_shard(error, index, shard) from error
        first = partial(blob_store().open, self._shards()[0]["stored"])
        kind = references.format_of_fetched(self._version, first)
        return shards.finish_shards(self._version, self._earlier, format=kind)

    def _shards(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = references.source_of(self._version)["shards"]
        return found

    def _list(self) -> None:
        """The files that a wildcard means are those of the first try."""
        if not self._shards():
            uris = listed(references.source_of(self._version), self._secrets())
            references.keep_source(self._version, shards=shards.shards_of_uris(uris))

    def _fetch(self, index: int, shard: dict[str, Any]) -> bool:
        earlier = self._earlier.get(shard["uri"], {})
        left_s = settings.FETCH_TIMEOUT_S - (time.monotonic() - self._began)
        download = Download(
            partial(blob_store().stage, limit_bytes=settings.MAX_UPLOAD_BYTES),
            limits=Limits(self._room(), max(0.0, left_s), self._first_wait_s),
            report=partial(self._progress, index),
            required_etag=shard["etag"] or shard["found"].get("etag", ""),
            known_etag=earlier.get("found", {}).get("etag", ""),
            earlier=self._turns.earlier(shard["uri"]),
            is_turn_over=self._turns.is_over,
        )
        try:
            self._read({**references.source_of(self._version), "uri": self._address(shard)}, download)
            facts = references.facts_of(download.found)
            facts["is_changed"] = None if not earlier else not download.found.is_unchanged
            if download.found.is_unchanged:
                return shards.keep_shard(self._version, index, facts, None, earlier)
            with self._turns.whole(download) as staging:
                references.check_digest(shard["sha256"], staging.finish().sha256)
                is_kept = shards.keep_shard(self._version, index, facts, staging, earlier)
            self._turns.forget()
            return is_kept
        except StoppedError:
            self._turns.end(shard["uri"], download)
        finally:
            download.staging.discard()

    def _address(self, shard: Mapping[str, Any]) -> str:
        """On the hub, all shards are of the commit at which the first one was found."""
        uri: str = shard["uri"]
        if scheme_of(uri) != "hf":
            return uri
        commits = [one["found"]["revision"] for one in self._shards() if one["found"].get("revision")]
        return at_revision(uri, commits[0]) if commits else uri

    def _progress(self, index: int, found: FoundFile, fetched_bytes: int) -> None:
        known = self._shards()
        stored = [one["size_bytes"] for one in known if one["stored"]]
        progress = {
            "fetched_bytes": sum(stored) + fetched_bytes,
            "total_bytes": None,
            "n_fetched": len(stored),
            "n_files": len(known),
        }
        known[index]["found"] = references.facts_of(found)
        self._report(progress, {"shards": known})

    def _of_shard(self, error: FetchError, index: int, shard: Mapping[str, Any]) -> FetchError:
        n = len(self._shards())
        is_listed = not references.source_of(self._version)["uri"]
        last = error.field.rpartition(".")[2]
        is_own = is_listed and last in ("uri", "sha256", "etag")
        return FetchError(
            error.code,
            f"Shard {index + 1} of {n}, {shard['name']}: {error.message}",
            error.remedy,
            field=f"{shards.FIELD}.{index}.{last}" if is_own else error.field,
        )
