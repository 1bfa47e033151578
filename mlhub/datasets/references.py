# SPDX-License-Identifier: Apache-2.0
"""Dataset versions by reference: an address instead of an upload, fetched by a worker and pinned by what it found.

A version's `source`: uri, sha256, etag (what the file must be), endpoint and region (of s3), secrets (names by
purpose), refresh_of (the version that it looks for news of), found (etag, last_modified, revision, fetched_at,
is_changed), progress (fetched_bytes, total_bytes), n_fetches (that were begun), shards (of many files: shards.py),
partial (what earlier turns left of the file that is being fetched: sources/turns.py), is_format_open (the request gave
no format: what was fetched decides).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.datasets import actions, shards
from mlhub.datasets.formats import ANY_KIND, guess
from mlhub.datasets.models import Dataset, DatasetVersion, VersionState
from mlhub.datasets.sources.downloads import FoundFile
from mlhub.datasets.sources.failure import FetchError
from mlhub.datasets.sources.locations import SECRETS_OF, check_source, filename_of, scheme_of
from mlhub.environments.secrets import check_secrets
from mlhub.storage import actions as storage
from mlhub.storage import work_queue
from mlhub.storage.models import Blob
from mlhub.storage.stores import StagedBytes
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role
from mlhub.wire.formats import FORMATS, SHARDED, by_suffix, taking

FETCH = "mlhub.datasets.tasks.fetch_version"


def refer_to_dataset(
    project: Project,
    *,
    name: str,
    source: dict[str, Any],
    actor: User,
    description: str = "",
    format: str | None = None,
    **options: Any,
) -> Dataset:
    """A dataset whose first version is fetched from its source. Raises what upload_dataset raises."""
    require_role(actor, project, Role.MEMBER)
    require_open(project)
    with transaction.atomic():
        dataset = actions.create_dataset(project, name=name, description=description, actor=actor)
        _add(dataset, source=source, format=format, options=options, actor=actor)
        actions.record("dataset.created", dataset, actor, name=name, project_id=str(project.id))
    return dataset


def refer_to_version(
    dataset: Dataset, *, source: dict[str, Any], actor: User, format: str | None = None, **options: Any
) -> DatasetVersion:
    """Another version, which is fetched from its source. Raises what upload_dataset raises."""
    require_role(actor, dataset.project, Role.MEMBER)
    require_open(dataset.project)
    with transaction.atomic():
        Dataset.objects.select_for_update().get(pk=dataset.pk)
        version = _add(dataset, source=source, format=format, options=options, actor=actor)
        _record_created(version, actor)
    return version


def refresh_version(version: DatasetVersion, *, actor: User) -> DatasetVersion:
    """A new version of what is at the same address now; `source.found.is_changed` says whether it is another file.

    What the earlier version was pinned to by its request is left out. Raises ConflictError for an upload, and while the
    dataset is being fetched.
    """
    dataset = version.dataset
    require_role(actor, dataset.project, Role.MEMBER)
    require_open(dataset.project)
    if version.source is None:
        raise ConflictError(
            "The version was uploaded: there is no address to look at again.",
            code="no_source",
            remedy="Upload a new version, or create one from an address.",
        )
    with transaction.atomic():
        Dataset.objects.select_for_update().get(pk=dataset.pk)
        if dataset.versions.filter(state=VersionState.FETCHING).exists():
            raise ConflictError(
                f"A version of {dataset.name} is being fetched.", code="not_ready", remedy="Wait until it is there."
            )
        source = {name: version.source[name] for name in ("uri", "endpoint", "region", "secrets")}
        if not source["uri"]:
            source["shards"] = [{"uri": shard["uri"]} for shard in version.source["shards"]]
        source |= {"refresh_of": str(version.id)}
        added = _add(dataset, source=source, format=version.format, options=version.options, actor=actor)
        _record_created(added, actor)
    return added


def source_of(version: DatasetVersion) -> dict[str, Any]:
    """The source of a version by reference. Raises ValueError for an upload."""
    if version.source is None:
        raise ValueError(f"version {version.pk} was uploaded")
    found: dict[str, Any] = version.source
    return found


def begin_fetch(version: DatasetVersion, *, at_most: int) -> bool:
    """Counts a try. False when there were at_most, each of which broke off."""
    n_fetches = source_of(version)["n_fetches"]
    if n_fetches >= at_most:
        return False
    return keep_source(version, n_fetches=n_fetches + 1)


def keep_source(version: DatasetVersion, **changes: Any) -> bool:
    """Writes what is known of the fetch. False when the version is no longer there to be fetched."""
    version.source = {**source_of(version), **changes}
    fetching = DatasetVersion.objects.filter(pk=version.pk, state=VersionState.FETCHING)
    return bool(fetching.update(source=version.source))


def earlier_files(version: DatasetVersion) -> list[dict[str, Any]]:
    """The files of the version that this one refreshes, while they are stored; [] otherwise."""
    base = (
        DatasetVersion.objects.filter(pk=source_of(version)["refresh_of"]).exclude(state=VersionState.REFUSED).first()
    )
    if base is None or not base.files or not Blob.objects.filter(pk=base.files[0]["sha256"]).exists():
        return []
    files: list[dict[str, Any]] = base.files
    return files


def earlier_etag(version: DatasetVersion) -> str:
    """The entity tag of the version that this one refreshes; "" where there is none."""
    base = DatasetVersion.objects.filter(pk=source_of(version)["refresh_of"]).first()
    return str(base.source["found"].get("etag", "")) if base is not None and base.source else ""


def finish_fetch(version: DatasetVersion, found: FoundFile, staging: StagedBytes | None) -> bool:
    """FETCHING becomes INSPECTING, with the file held. staging: None = the file of the version that it refreshes.

    False when the version was deleted meanwhile. Raises QuotaExceededError, ConflictError, UnavailableError.
    """
    files = earlier_files(version)
    earlier = files[0]["sha256"] if files else None
    if staging is not None:
        sha256, size_bytes = staging.finish()
        files = [{"name": filename_of(source_of(version)["uri"]), "sha256": sha256, "size_bytes": size_bytes}]
    is_changed = None if earlier is None else files[0]["sha256"] != earlier
    source = {**source_of(version), "found": {**facts_of(found), "is_changed": is_changed}}
    source |= {"progress": None, "partial": {}}
    size_bytes = files[0]["size_bytes"]
    kind = version.format if staging is None else format_of_fetched(version, staging.open)
    with transaction.atomic():
        moved = DatasetVersion.objects.filter(pk=version.pk, state=VersionState.FETCHING).update(
            state=VersionState.INSPECTING,
            format=kind,
            source=source,
            files=files,
            size_bytes=size_bytes,
            manifest_sha256=actions.manifest_sha256(files, version.options),
        )
        if not moved:
            return False
        owner: dict[str, Any] = {
            "owner_kind": actions.OWNER_KIND,
            "owner_id": UUID(str(version.pk)),
            "user": version.created_by,
        }
        project = version.dataset.project
        if staging is not None:
            storage.keep(staging, place=project, **owner)
        else:
            storage.hold(project, sha256=files[0]["sha256"], size_bytes=size_bytes, **owner)
        version.size_bytes = size_bytes
        actions.enqueue_inspection(version, version.created_by)
        facts = {"version_id": str(version.pk), "number": version.number, "is_changed": is_changed}
        actions.record("dataset.fetched", version.dataset, None, name=version.dataset.name, **facts)
    return True


def format_of_fetched(version: DatasetVersion, opened: Callable[[], BinaryIO]) -> str:
    """The format of a version: as of an upload, the content decides where the request gave none, as for a zip of audio.

    opened: gives the first file that was fetched, each time anew. The name's format stays where the request has options
    that only it takes, and where many files of the other one would not be read together.
    """
    source = source_of(version)
    if not source.get("is_format_open"):
        return version.format
    is_sharded = "shards" in source
    kind = guess(filename_of(source["shards"][0]["uri"] if is_sharded else source["uri"]), opened)
    fits = all(kind in taking(option) for option in version.options) and (not is_sharded or kind in SHARDED)
    return kind if fits else version.format


def facts_of(found: FoundFile) -> dict[str, Any]:
    """What a version keeps of an answer."""
    return {
        "etag": found.etag,
        "last_modified": found.last_modified,
        "revision": found.revision,
        "fetched_at": timezone.now().isoformat(),
        "is_changed": None,
    }


def check_digest(asked: str, got: str) -> None:
    """Raises FetchError when another file came than the one that was asked for. asked: "" = any."""
    if asked and asked != got:
        raise FetchError(
            "changed",
            f"The file has the SHA-256 {got}, not {asked}: it is another file.",
            "Fetch it without a digest to get what is there now, or give the address of the file that is meant.",
            field="source.sha256",
        )


def enqueue_fetch(version: DatasetVersion, actor: User) -> None:
    """Adds the version's fetch to the queue, in the present transaction; it comes after interactive work."""
    organisation = version.dataset.project.organisation
    work_queue.enqueue(FETCH, version.id, organisation=organisation, user=actor, is_bulk=True, is_outgoing=True)


def _add(
    dataset: Dataset, *, source: dict[str, Any], format: str | None, options: dict[str, Any], actor: User
) -> DatasetVersion:
    asked = shards.asked_shards(source)
    first = source.get("uri") or (asked or [])[0]["uri"]
    if asked is None:
        check_source(source)
    secrets = {purpose: name for purpose, name in (source.get("secrets") or {}).items() if name}
    _check_secrets(dataset.project, scheme_of(first), secrets)
    kind = format or _format_of(first)
    kept = {
        "uri": source.get("uri") or "",
        "sha256": source.get("sha256") or "",
        "etag": source.get("etag") or "",
        "endpoint": source.get("endpoint") or "",
        "region": source.get("region") or "",
        "secrets": secrets,
        "refresh_of": source.get("refresh_of"),
        "found": {},
        "progress": None,
        "partial": {},
        "n_fetches": 0,
        "is_format_open": format is None,
    }
    if asked is not None:
        shards.check_sharded_format(kind)
        kept["shards"] = asked
    version = actions.create_version(
        dataset,
        format=kind,
        options=actions.checked_options(kind, options),
        files=[],
        actor=actor,
        source=kept,
        state=VersionState.FETCHING,
    )
    enqueue_fetch(version, actor)
    return version


def _check_secrets(project: Project, scheme: str, secrets: dict[str, str]) -> None:
    check_secrets(project, list(secrets.values()))
    needed = SECRETS_OF[scheme][:2]
    missing = [purpose for purpose in needed if purpose not in secrets]
    if secrets and missing:
        raise InvalidInputError(
            f"A signed request needs {' and '.join(needed)}.",
            field=f"source.secrets.{missing[0]}",
            remedy="Name both secrets, or none for a public bucket.",
        )


def _format_of(uri: str) -> str:
    found = by_suffix("." + filename_of(uri).rpartition(".")[2])
    if found is None:
        raise InvalidInputError(
            f"The name {filename_of(uri)} does not show the format.",
            field="format",
            remedy=f"Give the format: {', '.join(FORMATS)}. A script reads files of any kind: {ANY_KIND}.",
        )
    return found


def _record_created(version: DatasetVersion, actor: User) -> None:
    # without the query of the address, which may hold a signature
    source = source_of(version)
    uri = (source["uri"] or source["shards"][0]["uri"]).partition("?")[0]
    actions.record(
        "dataset.version_created", version.dataset, actor, version_id=str(version.id), number=version.number, uri=uri
    )
