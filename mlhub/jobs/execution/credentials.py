# SPDX-License-Identifier: Apache-2.0
"""What the pods of an attempt prove themselves with: a token and the gang's secret.

Both are derived from the platform's key and can be made again, so that a launch that was cut short can be repeated."""

from __future__ import annotations

import hashlib
import hmac
from uuid import UUID

from django.conf import settings

from mlhub.jobs.models import Attempt
from mlhub.tenants.sign_in.authentication import hash_token


def token_of(attempt_id: UUID, *, key: str = "") -> str:
    """The attempt's bearer token. key: settings.SECRET_KEY when it is left out."""
    return "mla_" + _derived("token", attempt_id, key)


def gang_secret_of(attempt_id: UUID, *, key: str = "") -> str:
    """What the gang's members prove to each other, in hex. key: as in token_of."""
    return _derived("gang", attempt_id, key)


def notebook_token_of(attempt_id: UUID, *, key: str = "") -> str:
    """With which the proxy speaks to the attempt's notebook. key: as in token_of."""
    return _derived("notebook", attempt_id, key)


def key_of(attempt: Attempt) -> str:
    """The key that the attempt was opened with: after a rotation that is one of the fallbacks.

    When it is none of them any more, the present one: its token is refused, so that the attempt fails and is repeated.
    """
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    made = (key for key in keys if hash_token(token_of(attempt.id, key=key)) == attempt.token_hash)
    return next(made, settings.SECRET_KEY)


def _derived(purpose: str, attempt_id: UUID, key: str) -> str:
    key = key or settings.SECRET_KEY
    return hmac.new(key.encode(), f"{purpose}|{attempt_id}".encode(), hashlib.sha256).hexdigest()


def tracking_token_of(attempt_id: UUID, *, key: str = "") -> str:
    """What a script in the attempt's pods logs with, by the MLflow protocol, and nothing else. key: as in token_of."""
    return "mlt_" + _derived("tracking", attempt_id, key)


def attempt_of_tracking_token(attempt_id: UUID, token: str) -> Attempt | None:
    """The attempt that the token belongs to; None for a wrong one."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    made = (tracking_token_of(attempt_id, key=key) for key in keys)
    if not any(hmac.compare_digest(token.encode(), own.encode()) for own in made):
        return None
    related = ("job__project__organisation", "job__created_by")
    found: Attempt | None = Attempt.objects.filter(pk=attempt_id).select_related(*related).first()
    return found
