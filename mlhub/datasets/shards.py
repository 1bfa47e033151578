# SPDX-License-Identifier: Apache-2.0
"""Versions of many files by reference: which addresses a request means, and what a version keeps of each shard.

A version's source then has `shards`: {uri, name, sha256 and etag (what it must be), found (as of a single file),
size_bytes and stored (its SHA-256; "" until it is fetched)}. Empty: a wildcard's files are not listed yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction

from mlhub.core.errors import InvalidInputError
from mlhub.datasets import actions
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.datasets.sources import patterns
from mlhub.datasets.sources.locations import check_source, scheme_of
from mlhub.storage import actions as storage
from mlhub.storage.stores import StagedBytes
from mlhub.wire.formats import SHARDED

PINS = ("sha256", "etag")
FIELD = "source.shards"


def asked_shards(source: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The shards that a request names, checked; None for a single file. Raises InvalidInputError naming the field."""
    uri, given = source.get("uri") or "", source.get("shards") or []
    if bool(uri) == bool(given):
        raise InvalidInputError(
            "Give either uri or shards.",
            field="source.uri",
            remedy="An address or a pattern is the uri; addresses that no pattern describes are the shards.",
        )
    if uri and not patterns.is_pattern(uri):
        return None
    _refuse_pins(source, field="source", remedy="Pin each address of source.shards.")
    is_wildcard = bool(uri) and patterns.has_wildcard(uri)
    if is_wildcard:
        patterns.check_wildcard(uri)
        check_source(source)
    addresses = [_shard(one) for one in patterns.expanded(uri)] if uri else _listed(given)
    if is_wildcard and len(addresses) > 1:
        raise InvalidInputError(
            "An address has either braces or a wildcard.", field="source.uri", remedy="Use one of them."
        )
    for i, shard in enumerate(addresses):
        _check(source, shard["uri"], field="source.uri" if uri else f"{FIELD}.{i}.uri")
    _check_hosts(source, addresses)
    return [] if is_wildcard else named(addresses)


def check_sharded_format(format: str) -> None:
    """Raises InvalidInputError for a format whose files are not read together."""
    if format not in SHARDED:
        raise InvalidInputError(
            f"A dataset of the format {format} is one file.",
            field="source.uri",
            remedy=f"Several files are read together as {', '.join(SHARDED)}; pack others into one.",
        )


def named(addresses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The shards, each with the name by which it is stored."""
    names = patterns.shard_names([shard["uri"] for shard in addresses])
    return [{**shard, "name": name} for shard, name in zip(addresses, names, strict=True)]


def shards_of_uris(uris: list[str]) -> list[dict[str, Any]]:
    """Shards of which nothing is required."""
    return named([_shard(uri) for uri in uris])


def keep_shard(
    version: DatasetVersion,
    index: int,
    found: dict[str, Any],
    staging: StagedBytes | None,
    earlier: Mapping[str, Any],
) -> bool:
    """Holds a fetched shard for the version, so that a later try goes on behind it. False when the version is gone.

    staging: None = the bytes of the earlier version's shard. Raises what storing raises.
    """
    project, user, owner_id = version.dataset.project, version.created_by, UUID(str(version.pk))
    with transaction.atomic():
        row = DatasetVersion.objects.select_for_update().filter(pk=version.pk, state=VersionState.FETCHING).first()
        if row is None or row.source is None:
            return False
        if staging is not None:
            sha256, size_bytes = staging.finish()
            storage.keep(staging, place=project, owner_kind=actions.OWNER_KIND, owner_id=owner_id, user=user)
        else:
            sha256, size_bytes = earlier["stored"], earlier["size_bytes"]
            storage.hold(
                project,
                sha256=sha256,
                size_bytes=size_bytes,
                owner_kind=actions.OWNER_KIND,
                owner_id=owner_id,
                user=user,
            )
        changes = {"found": found, "stored": sha256, "size_bytes": size_bytes}
        row.source["shards"][index] |= changes
        row.source |= {"n_fetches": 0, "partial": {}}  # tries that came no further count
        row.save(update_fields=["source"])
        version.source = row.source
    return True


def finish_shards(version: DatasetVersion, earlier: Mapping[str, Mapping[str, Any]], *, format: str) -> bool:
    """FETCHING becomes INSPECTING, all shards being held. earlier: those of the version that it refreshes, by address.
    format: of the version, now that its shards are there.

    False when the version was deleted meanwhile.
    """
    source = dict(version.source or {})
    files = [
        {"name": shard["name"], "sha256": shard["stored"], "size_bytes": shard["size_bytes"]}
        for shard in source["shards"]
    ]
    now = {shard["uri"]: shard["stored"] for shard in source["shards"]}
    before = {uri: shard["stored"] for uri, shard in earlier.items()}
    is_changed = now != before if earlier else None
    last: dict[str, Any] = source["shards"][-1]["found"]
    found = {"fetched_at": last["fetched_at"], "revision": last.get("revision", ""), "is_changed": is_changed}
    size_bytes = sum(file["size_bytes"] for file in files)
    with transaction.atomic():
        moved = DatasetVersion.objects.filter(pk=version.pk, state=VersionState.FETCHING).update(
            state=VersionState.INSPECTING,
            format=format,
            source={**source, "found": found, "progress": None},
            files=files,
            size_bytes=size_bytes,
            manifest_sha256=actions.manifest_sha256(files, version.options),
        )
        if not moved:
            return False
        version.size_bytes = size_bytes
        actions.enqueue_inspection(version, version.created_by)
        facts = {"version_id": str(version.pk), "number": version.number, "is_changed": is_changed}
        actions.record("dataset.fetched", version.dataset, None, name=version.dataset.name, **facts)
    return True


def stored_shards(version: DatasetVersion | None) -> dict[str, dict[str, Any]]:
    """The shards of a version by address, whose bytes it holds; {} of none, of a refused one and of a single file."""
    if version is None or version.source is None or version.state in (VersionState.REFUSED, VersionState.FETCHING):
        return {}
    return {shard["uri"]: shard for shard in version.source.get("shards", []) if shard["stored"]}


def _listed(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for i, one in enumerate(given):
        field = f"{FIELD}.{i}"
        if patterns.has_wildcard(one["uri"]):
            raise InvalidInputError(
                "A list has no wildcards.", field=f"{field}.uri", remedy="Give the pattern alone, as source.uri."
            )
        uris = patterns.expanded(one["uri"], field=f"{field}.uri")
        if len(uris) > 1:
            _refuse_pins(one, field=field, remedy="Give each address on its own.")
        found += [_shard(uri, **{pin: one.get(pin) or "" for pin in PINS}) for uri in uris]
        if len(found) > patterns.MAX_SHARDS:
            raise patterns.too_many(f"{field}.uri")
    uri, n = Counter(shard["uri"] for shard in found).most_common(1)[0]
    if n > 1:
        raise InvalidInputError(f"{uri[:200]} is named twice.", field=FIELD, remedy="Name each shard once.")
    return found


def _shard(uri: str, *, sha256: str = "", etag: str = "") -> dict[str, Any]:
    return {"uri": uri, "sha256": sha256, "etag": etag, "found": {}, "size_bytes": None, "stored": ""}


def _check(source: Mapping[str, Any], uri: str, *, field: str) -> None:
    try:
        check_source({**source, "uri": uri})
    except InvalidInputError as error:
        if error.field == "source.uri":
            error.field = field
        raise


def _check_hosts(source: Mapping[str, Any], addresses: list[dict[str, Any]]) -> None:
    """Secrets go to the hosts that the user named: with several, it would not be clear for which of them they are."""
    places = [(scheme_of(shard["uri"]), urlsplit(shard["uri"]).netloc.lower()) for shard in addresses]
    field = "source.uri" if source.get("uri") else FIELD
    if len({scheme for scheme, _ in places}) > 1:
        raise InvalidInputError(
            "The shards are at different kinds of places.", field=field, remedy="Make a dataset of each kind."
        )
    if source.get("secrets") and len(set(places)) > 1:
        raise InvalidInputError(
            f"The shards are on {len(set(places))} hosts, and secrets go to one.",
            field=field,
            remedy="Name shards of one host or bucket, or leave secrets out.",
        )


def _refuse_pins(given: Mapping[str, Any], *, field: str, remedy: str) -> None:
    for pin in PINS:
        if given.get(pin):
            raise InvalidInputError(f"One {pin} cannot hold for several files.", field=f"{field}.{pin}", remedy=remedy)
