# SPDX-License-Identifier: Apache-2.0
"""The fetch of one version, from its source to inspection or to a refusal in words."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings

from mlhub.core.errors import ConflictError, QuotaExceededError, UnavailableError
from mlhub.datasets import actions, references
from mlhub.datasets.models import DatasetVersion
from mlhub.datasets.shard_fetching import ShardFetch
from mlhub.datasets.sources.downloads import Download, FoundFile, Limits, StoppedError
from mlhub.datasets.sources.failure import FetchError
from mlhub.datasets.sources.locations import allowed_inside, scheme_of, web_address
from mlhub.datasets.sources.turns import FileTurns, forget
from mlhub.environments.secrets import MissingSecretError, required_secrets
from mlhub.events.changes import ChangeKind, report_change
from mlhub.storage import actions as storage
from mlhub.storage import work_queue
from mlhub.storage.stores import blob_store

FIRST_WAIT_S = 1.0
MAX_FETCHES = 3  # of a version, each of which broke off with the worker; those that the store ended do not count


def fetch(version: DatasetVersion) -> None:
    """FETCHING becomes INSPECTING or REFUSED. What it raises is the platform's fault, and it may be called again."""
    n_before = references.source_of(version)["n_fetches"]
    if not references.begin_fetch(version, at_most=MAX_FETCHES):
        _refuse(version, _given_up())
        return
    try:
        _fetch(version)
    except FetchError as error:
        _refuse(version, error)
    except (UnavailableError, work_queue.TurnOverError):
        # neither the store, such as a full one, is the file's fault, nor that others have their turn
        references.keep_source(version, n_fetches=min(n_before, references.source_of(version)["n_fetches"]))
        raise
    except (QuotaExceededError, ConflictError) as error:
        _refuse(version, FetchError(error.code, error.message, error.remedy))
    else:
        _forget_turns(version)


def _refuse(version: DatasetVersion, error: FetchError) -> None:
    _forget_turns(version)
    references.keep_source(version, progress=None, partial={})
    actions.refuse_version(version.pk, error=error.shown)


def _forget_turns(version: DatasetVersion) -> None:
    if references.source_of(version).get("partial"):
        forget(version.pk)


class _DeletedError(Exception):
    """The version was deleted while its file was being fetched."""


def _fetch(version: DatasetVersion) -> None:
    source = references.source_of(version)
    if "shards" in source:
        _fetch_shards(version)
        return
    # what the first try found holds for later ones: a version is of one file
    required = source["etag"] or source["found"].get("etag", "")
    known = references.earlier_etag(version) if references.earlier_files(version) else ""
    turns = _turns(version)
    download = Download(
        partial(blob_store().stage, limit_bytes=settings.MAX_UPLOAD_BYTES),
        limits=Limits(_room(version), settings.FETCH_TIMEOUT_S, FIRST_WAIT_S),
        report=partial(_report, version),
        required_etag=required,
        known_etag=known,
        earlier=turns.earlier(source["uri"]),
        is_turn_over=turns.is_over,
    )
    try:
        _read(version, source, download)
        if download.found.is_unchanged:
            references.finish_fetch(version, download.found, None)
        else:
            with turns.whole(download) as staging:
                references.check_digest(source["sha256"], staging.finish().sha256)
                references.finish_fetch(version, download.found, staging)
    except StoppedError:
        turns.end(source["uri"], download)
    except _DeletedError:
        return
    finally:
        download.staging.discard()


def _fetch_shards(version: DatasetVersion) -> None:
    def report(progress: dict[str, Any], changes: dict[str, Any]) -> None:
        if not references.keep_source(version, progress=progress, **changes):
            raise _DeletedError
        report_change(ChangeKind.QUEUED_WORK, organisation_id=version.dataset.project.organisation_id)

    with suppress(_DeletedError):
        ShardFetch(
            version,
            first_wait_s=FIRST_WAIT_S,
            secrets=partial(_secrets, version),
            read=partial(_read, version),
            room=partial(_room, version),
            report=report,
            turns=_turns(version),
        ).run()


def _turns(version: DatasetVersion) -> FileTurns:
    return FileTurns(
        UUID(str(version.pk)),
        kept=references.source_of(version).get("partial") or {},
        save=lambda kept: references.keep_source(version, partial=kept),
        others_wait=partial(work_queue.others_wait, references.FETCH, UUID(str(version.pk))),
    )


def _read(version: DatasetVersion, source: Mapping[str, Any], download: Download) -> None:
    if scheme_of(source["uri"]) == "file":
        download.from_folder(source["uri"])
        return
    download.from_web(web_address(source, _secrets(version)), allowed_inside())


def _secrets(version: DatasetVersion) -> dict[str, str]:
    """By purpose. Raises FetchError when one was removed, or no key decrypts it."""
    names: dict[str, str] = references.source_of(version)["secrets"]
    try:
        values = required_secrets(version.dataset.project_id, list(names.values()))
    except MissingSecretError as error:
        remedy = "Set it again, then refresh the version."
        raise FetchError("no_secret", str(error), remedy, field="source.secrets") from error
    return {purpose: values[name] for purpose, name in names.items()}


def _report(version: DatasetVersion, found: FoundFile, fetched_bytes: int) -> None:
    progress = {"fetched_bytes": fetched_bytes, "total_bytes": found.total_bytes}
    if not references.keep_source(version, progress=progress, found=references.facts_of(found)):
        raise _DeletedError
    report_change(ChangeKind.QUEUED_WORK, organisation_id=version.dataset.project.organisation_id)


def _room(version: DatasetVersion) -> int:
    """Bytes that the file may have; what waits in the spool for other fetches' next turns is taken already."""
    left = storage.bytes_left_for(version.dataset.project, version.created_by)
    most: int = settings.MAX_UPLOAD_BYTES
    if left is None:
        return most
    others = DatasetVersion.objects.partly_fetched(version.dataset.project.organisation).exclude(pk=version.pk)
    left -= sum(others.values_list("source__partial__n_bytes", flat=True))
    return max(0, min(left, most))


def _given_up() -> FetchError:
    return FetchError(
        "fetch_failed",
        f"MLHub could not fetch this file: {MAX_FETCHES} tries broke off.",
        "Refresh the version; if that does not help, ask an administrator to read the worker's log.",
    )
