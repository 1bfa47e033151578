# SPDX-License-Identifier: Apache-2.0
"""The lock of a name after repeated failures, for every credential that people type: passwords and codes."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from mlhub.core.errors import TooManyAttemptsError


def refuse_if_locked(request: HttpRequest) -> None:
    """After an attempt. Raises TooManyAttemptsError when django-axes found the name locked."""
    if getattr(request, "axes_locked_out", False):
        request.axes_locked_out = False  # type: ignore[attr-defined]  # else its middleware puts a page over our answer
        refuse_while_locked(False)


def refuse_while_locked(is_allowed: bool) -> None:
    """Raises TooManyAttemptsError unless attempts are allowed."""
    if not is_allowed:
        wait_s = int(settings.AXES_COOLOFF_TIME * 3600)
        raise TooManyAttemptsError(
            "Too many failed attempts to sign in with this name from here.",
            code="locked_out",
            remedy=f"Wait {wait_s // 60} minutes, then try again.",
            retry_after_s=wait_s,
        )
