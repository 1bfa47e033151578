# SPDX-License-Identifier: Apache-2.0
"""The versions of a quota, read from the events of its changes, and the return to an older one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mlhub.control.quotas.type_guarantees import within_cluster
from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.events.models import Event
from mlhub.tenants.actions import quota_of, set_quota
from mlhub.tenants.actions.limits.quotas import require_quota_right
from mlhub.tenants.models import Organisation, Project, QuotaRules, Team, User

MOST_SHOWN = 100


@dataclass(frozen=True)
class QuotaVersion:
    """A change of a quota: by whom (None: the platform), and the rules that it changed, before and after."""

    version: int
    at: datetime
    actor: str | None
    before: dict[str, Any]
    after: dict[str, Any]


def versions_of(owner: Organisation | Team | Project) -> list[QuotaVersion]:
    """Returns the newest changes, newest first; the first version of all is what was before the oldest one."""
    changes = Event.objects.filter(kind="quota.changed", subject_kind="quota", subject_id=owner.pk)
    return [
        QuotaVersion(event.facts["version"], event.at, event.actor_name(), event.facts["before"], event.facts["after"])
        for event in changes.select_related("actor").order_by("-id")[:MOST_SHOWN]
    ]


def restore_version(owner: Organisation | Team | Project, version: int, *, seen: int | None, actor: User) -> QuotaRules:
    """Gives the quota the rules of an older version, as a new version. seen: the version that the caller saw.

    Raises ConflictError when another user changed it since, or when its history does not reach so far back; all that
    set_quota() raises, as when a guarantee of that time has no room above any more.
    """
    present = quota_of(owner).version
    if not 1 <= version < present:
        raise InvalidInputError(
            f"There is no older version {version}.", field="version", remedy=f"Give 1 to {present - 1}."
        )
    undone = [one for one in versions_of(owner) if version < one.version <= present]
    if [one.version for one in undone] != list(range(present, version, -1)):
        raise ConflictError(
            f"What the quota was at version {version} is not known any more.",
            code="version_unknown",
            field="version",
            remedy="Choose a newer version, or set the rules one by one.",
        )
    rules: dict[str, Any] = {}
    for one in undone:  # the oldest one last: its rules before are those of the version
        rules |= one.before
    require_quota_right(owner, actor)
    with within_cluster(owner, rules.get("guarantee_by_type")):
        return set_quota(owner, version=present if seen is None else seen, actor=actor, **rules)
