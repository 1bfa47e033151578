# SPDX-License-Identifier: Apache-2.0
"""Edits of what another person may have changed meanwhile: the caller says what was seen of the fields to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlhub.core.errors import ConflictError

SEEN = "The values that the caller saw of what is changed; 409 with both versions when one of them is another now."


def require_as_seen(
    what: str, *, seen: Mapping[str, Any] | None, present: Mapping[str, Any], yours: Mapping[str, Any]
) -> None:
    """Raises ConflictError with both versions when a field that was seen has another value now.

    seen: None = the caller does not mind. present: what there is, read under the lock of the change. yours: the change.
    """
    if not any(present[field] != value for field, value in (seen or {}).items()):
        return
    raise ConflictError(
        f"Another person changed {what} meanwhile.",
        code="changed_meanwhile",
        field="seen",
        remedy="Compare `present` with `yours`, and send your change with `seen` as it is at present, or leave it.",
        present={field: present[field] for field in yours},
        yours=dict(yours),
    )
