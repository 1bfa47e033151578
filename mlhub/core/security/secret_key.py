# SPDX-License-Identifier: Apache-2.0
"""No process serves without a key of its own installation: a person who knows the key can sign in as anybody."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def require_secret_key() -> None:
    """Raises ImproperlyConfigured when MLHUB_SECRET_KEY is not set. Celery and commands that sign
    nothing work without one."""
    try:
        key = settings.SECRET_KEY
    except ImproperlyConfigured:  # Django refuses to give an empty one
        key = ""
    if not key:
        raise ImproperlyConfigured(
            "MLHUB_SECRET_KEY is not set. Set it, or MLHUB_SECRET_KEY_FILE, to the same random text for all processes"
            " of this installation: python -c 'import secrets; print(secrets.token_urlsafe(48))'"
        )
