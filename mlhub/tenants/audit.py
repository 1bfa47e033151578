# SPDX-License-Identifier: Apache-2.0
"""Audit events from below the events app, which knows tenants: what it provides is named by its path, not imported."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from django.conf import settings
from django.utils.module_loading import import_string

from mlhub.core.web.origin import current_origin

if TYPE_CHECKING:
    from uuid import UUID

    from mlhub.tenants.models import Organisation, User

DEFAULT_RECORDER = "mlhub.events.actions.append"
CURSOR = "mlhub.events.cursor.present_cursor"


class Recorder(Protocol):
    def __call__(
        self,
        kind: str,
        *,
        organisation: Organisation | None,
        subject_kind: str,
        subject_id: UUID | None,
        actor: User | None = None,
        **facts: Any,
    ) -> object: ...


def record(
    kind: str,
    *,
    organisation: Organisation | None,
    subject_kind: str,
    subject_id: UUID | None,
    actor: User | None,
    **facts: Any,
) -> None:
    """Appends an event in the present transaction through the recorder that settings.AUDIT_RECORDER names.

    Events without an organisation, which only platform administrators see, carry the address and the user agent of
    the request.
    """
    origin = current_origin() if organisation is None else None
    if origin is not None:
        facts |= {"address": origin.address, "user_agent": origin.user_agent}
    recorder = _recorder(getattr(settings, "AUDIT_RECORDER", DEFAULT_RECORDER))
    recorder(kind, organisation=organisation, subject_kind=subject_kind, subject_id=subject_id, actor=actor, **facts)


def stream_cursor() -> str:
    """From where on the organisation-wide stream reports all that comes after this call. Reads the database."""
    return cast("str", import_string(CURSOR)())


@cache
def _recorder(path: str) -> Recorder:
    return cast("Recorder", import_string(path))
