# SPDX-License-Identifier: Apache-2.0
"""Writes to storage: a project or an organisation holds a blob, within the quotas that count for it, or releases it;
what no owner holds is collected.

A transaction that names or removes the bytes of a blob does so under that blob's lock, so that the collector never
removes what an upload is about to hold. Order of locks: the organisation's quota row, then the blob, then (in events)
the event log.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from mlhub.core.errors import ConflictError, QuotaExceededError
from mlhub.core.installation import is_restored_lately
from mlhub.core.locks import lock_until_commit
from mlhub.storage.models import Blob, Holding, ResumableUpload
from mlhub.storage.stores import StagedBytes, blob_store
from mlhub.tenants.actions.limits.quotas import Owner, raised_by, rules_above, within
from mlhub.tenants.models import Organisation, Project, Quota, User, UserQuota
from mlhub.tenants.quota_terms.user_quotas import quota_of_user

StoragePlace = Organisation | Project  # where bytes are stored: quotas of all above a project count
logger = structlog.stdlib.get_logger(__name__)
UNHELD_FOR = timedelta(days=1)
REMOVAL = "removal of blobs"  # a lock: blobs are not removed while a backup is made
BATCH = 1000
NO_SUCH_BLOB = "no_such_blob"


def used_bytes(organisation: Organisation) -> int:
    """Storage that counts against the organisation's quota: what it holds, and what uploads under way reserve."""
    return Holding.objects.used_bytes(organisation) + ResumableUpload.objects.reserved_bytes(organisation)


def bytes_left(organisation: Organisation) -> int | None:
    """What the organisation's quota still has room for; 0 or less when it is used up, None without a limit."""
    quota: Quota | None = getattr(organisation, "quota", None)
    if quota is None or quota.max_storage_bytes is None:
        return None
    return int(quota.max_storage_bytes) - used_bytes(organisation)


def used_bytes_of_user(organisation: Organisation, user: User) -> int:
    """What of it counts against the user's limit: what the user uploaded, trained or is uploading."""
    return Holding.objects.used_bytes(organisation, user) + ResumableUpload.objects.reserved_bytes(organisation, user)


def bytes_left_of_user(organisation: Organisation, user: User) -> int | None:
    """What the user's limit still has room for; 0 or less when it is used up, None without a limit."""
    return bytes_left_within(quota_of_user(organisation, user), organisation, user)


def bytes_left_within(limit: UserQuota | None, organisation: Organisation, user: User) -> int | None:
    """As bytes_left_of_user, of a limit that was read before."""
    if limit is None or limit.max_storage_bytes is None:
        return None
    return int(limit.max_storage_bytes) - used_bytes_of_user(organisation, user)


def used_bytes_within(owner: Owner) -> int:
    """Storage that counts against the quota of an organisation, a team or a project."""
    if isinstance(owner, Organisation):
        return used_bytes(owner)
    rows = within(owner)
    return Holding.objects.filter(**rows).size_bytes() + ResumableUpload.objects.filter(**rows).length_bytes()


def storage_limits(place: StoragePlace) -> list[tuple[Owner, int]]:
    """The most bytes that the project and the teams above it may store, where they are limited; the nearest first."""
    if isinstance(place, Organisation):
        return []
    limited = [(owner, rules.max_storage_bytes) for owner, rules in rules_above(place)]
    return [(o, most) for o, most in limited if most is not None and not isinstance(o, Organisation)]


def bytes_left_for(place: StoragePlace, user: User | None) -> int | None:
    """What all quotas that count there and the user's limit have room for; None without any limit."""
    organisation = _organisation_of(place)
    lefts = [bytes_left(organisation), None if user is None else bytes_left_of_user(organisation, user)]
    lefts += [most - used_bytes_within(owner) for owner, most in storage_limits(place)]
    return min((left for left in lefts if left is not None), default=None)


def require_room(place: StoragePlace, *, size_bytes: int, user: User | None = None) -> None:
    """Whether so many further bytes fit into all quotas, and the user's limit, now. Raises QuotaExceededError.

    For bytes whose size is known before they are staged: the platform's disk is not filled with what keep() refuses.
    """
    _require_room(place, sha256=None, size_bytes=size_bytes, user=user)


def reserve(place: StoragePlace, *, size_bytes: int, user: User | None = None) -> None:
    """As require_room, until the transaction that stores the reservation ends. Raises QuotaExceededError."""
    _require_room(place, sha256=None, size_bytes=size_bytes, user=user, is_locked=True)


def keep(
    staging: StagedBytes,
    *,
    place: StoragePlace,
    owner_kind: str,
    owner_id: UUID,
    user: User | None = None,
    within_quota: bool = True,
) -> Blob:
    """Stores staged bytes and holds them. Raises QuotaExceededError, as a rule before anything is stored.

    Bytes are stored before any lock is taken, since a bucket may take minutes. When uploads at the same time pass the
    quota only together, the last ones are refused then; what they stored is held by no owner, and collected.
    Call it inside the transaction that makes the owner. within_quota: as for hold().
    """
    sha256, size_bytes = staging.finish()
    if within_quota:
        _require_room(place, sha256=sha256, size_bytes=size_bytes, user=user)
    hold_it = partial(
        hold,
        place,
        sha256=sha256,
        size_bytes=size_bytes,
        owner_kind=owner_kind,
        owner_id=owner_id,
        user=user,
        within_quota=within_quota,
    )
    blob_store().keep(staging)
    try:
        return hold_it()
    except ConflictError as error:
        if error.code != NO_SUCH_BLOB or not staging.stays:
            raise
    # the collector had found them old, as no one held them, and removed what had just been stored again
    blob_store().keep(staging)
    return hold_it()


def hold(
    place: StoragePlace,
    *,
    sha256: str,
    size_bytes: int,
    owner_kind: str,
    owner_id: UUID,
    user: User | None = None,
    within_quota: bool = True,
) -> Blob:
    """Holds bytes that the store has already. Holding again for the same owner changes nothing.

    user: whose limit of storage it counts against, too; None = of no single person. within_quota: False for what the
    platform itself must not lose, such as trained weights.
    Raises QuotaExceededError, or ConflictError when the store lacks the bytes (write them again).
    """
    with transaction.atomic():
        if within_quota:
            # locked until the commit, so that uploads at the same time cannot pass it together
            _require_room(place, sha256=sha256, size_bytes=size_bytes, user=user, is_locked=True)
        lock_until_commit(f"blob:{sha256}")
        if not blob_store().exists(sha256):
            raise ConflictError("These bytes are not stored.", code=NO_SUCH_BLOB, remedy="Send them again.")
        return _hold(place, sha256, size_bytes, owner_kind, owner_id, user)


def release(*, owner_kind: str, owner_id: UUID, sha256: str | None = None) -> int:
    """Releases all that the owner holds, or one blob; returns how many.

    Bytes that no owner holds are collected when a day old.
    """
    held = Holding.objects.filter(owner_kind=owner_kind, owner_id=owner_id)
    return (held if sha256 is None else held.filter(blob=sha256)).delete()[0]


def collect(sha256: str, *, unheld_for: timedelta = UNHELD_FOR) -> bool:
    """Removes a blob, row and bytes, if no owner holds it and no upload stored it lately. Returns whether it did.

    unheld_for: how long ago it was stored at least. For a while after a restore nothing is removed: work that this
    database does not know may need the bytes.
    """
    if is_restored_lately(timezone.now()):
        return False
    store = blob_store()
    with transaction.atomic():
        lock_until_commit(f"blob:{sha256}")
        if Holding.objects.filter(blob=sha256).exists() or store.age_s(sha256) < unheld_for.total_seconds():
            return False
        try:
            Blob.objects.filter(pk=sha256).delete()
        except ProtectedError:
            logger.warning("storage.named_but_not_held", sha256=sha256)
            return False
        # before the commit: should it fail, a row without bytes is left, which the next collection takes
        store.delete(sha256)
    return True


def _require_room(
    place: StoragePlace, *, sha256: str | None, size_bytes: int, user: User | None, is_locked: bool = False
) -> None:
    """sha256: None for bytes that are not read yet, which count as new. is_locked: until the transaction ends."""
    organisation = _organisation_of(place)
    quotas = Quota.objects.select_for_update() if is_locked else Quota.objects.all()
    quota = quotas.filter(organisation=organisation).first()
    if user is not None:
        _require_room_of_user(organisation, user, sha256=sha256, size_bytes=size_bytes)
    _require_room_of_parts(place, sha256=sha256, size_bytes=size_bytes, is_locked=is_locked)
    if quota is None or quota.max_storage_bytes is None:
        return
    if sha256 is not None and Holding.objects.filter(organisation=organisation, blob=sha256).exists():
        return
    used = used_bytes(organisation)
    if used + size_bytes > quota.max_storage_bytes:
        raise QuotaExceededError(
            f"{organisation.name} may store {quota.max_storage_bytes:,} bytes and uses {used:,}"
            f"{_of_which(organisation)}; this needs {size_bytes:,} more.",
            field="file",
            remedy="Delete datasets or models that are no longer needed, or ask an administrator for a larger quota.",
            limit="max_storage_bytes",
            limit_bytes=quota.max_storage_bytes,
            used_bytes=used,
            asked_bytes=size_bytes,
        )


def _require_room_of_parts(place: StoragePlace, *, sha256: str | None, size_bytes: int, is_locked: bool) -> None:
    """Whether the project and the teams above it have room."""
    limits = storage_limits(place)
    if limits and is_locked:  # an organisation may have no quota of its own that could be locked
        lock_until_commit(f"storage:{_organisation_of(place).pk}")
    for owner, most in limits:
        if sha256 is not None and Holding.objects.filter(blob=sha256, **within(owner)).exists():
            continue
        used = used_bytes_within(owner)
        if used + size_bytes > most:
            raise QuotaExceededError(
                f"{owner.name} may store {most:,} bytes and uses {used:,}; this needs {size_bytes:,} more.",
                field="file",
                remedy=f"Delete datasets or models that are no longer needed, or ask {raised_by(owner)} to raise "
                f"max_storage_bytes of {owner.name} on the page Quotas.",
                limit="max_storage_bytes",
                limit_bytes=most,
                used_bytes=used,
                asked_bytes=size_bytes,
                owner=owner.name,
            )


def _organisation_of(place: StoragePlace) -> Organisation:
    return place if isinstance(place, Organisation) else place.organisation


def _require_room_of_user(organisation: Organisation, user: User, *, sha256: str | None, size_bytes: int) -> None:
    row = quota_of_user(organisation, user)
    if row is None or row.max_storage_bytes is None:
        return
    held = Holding.objects.filter(organisation=organisation, user=user, blob=sha256)
    if sha256 is not None and held.exists():
        return
    used = used_bytes_of_user(organisation, user)
    if used + size_bytes > row.max_storage_bytes:
        raise QuotaExceededError(
            f"In {organisation.name} {user.username} may store {row.max_storage_bytes:,} bytes and uses {used:,}; this "
            f"needs {size_bytes:,} more.",
            field="file",
            remedy=f"Delete datasets or models that are no longer needed, or ask an admin of "
            f"{organisation.name} to raise the limit of users.",
            limit="user_max_storage_bytes",
            limit_bytes=row.max_storage_bytes,
            used_bytes=used,
            asked_bytes=size_bytes,
        )


def _of_which(organisation: Organisation) -> str:
    reserved = ResumableUpload.objects.reserved_bytes(organisation)
    return f", of which {reserved:,} are reserved by uploads under way" if reserved else ""


def _hold(
    place: StoragePlace, sha256: str, size_bytes: int, owner_kind: str, owner_id: UUID, user: User | None
) -> Blob:
    project = None if isinstance(place, Organisation) else place
    blob, _ = Blob.objects.get_or_create(sha256=sha256, defaults={"size_bytes": size_bytes})
    Holding.objects.get_or_create(
        blob=blob,
        owner_kind=owner_kind,
        owner_id=owner_id,
        defaults={"organisation": _organisation_of(place), "project": project, "user": user},
    )
    return blob


def collectable() -> list[str]:
    """Blobs that were unheld for long: rows without holdings, and files whose row was never committed."""
    store, before = blob_store(), timezone.now() - UNHELD_FOR
    rows = set(Blob.objects.unheld_since(before).values_list("sha256", flat=True))
    files = sorted(store.older_than(UNHELD_FOR.total_seconds()))  # nearly every blob there is: asked for in batches
    batches = (files[i : i + BATCH] for i in range(0, len(files), BATCH))
    known = {sha256 for batch in batches for sha256 in Blob.objects.in_bulk(batch)}
    return sorted(rows | (set(files) - known))
