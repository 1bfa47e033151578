# SPDX-License-Identifier: Apache-2.0
"""After a rotation of MLHUB_SECRET_KEY: what the database keeps encrypted, encrypted anew with the present key.

Until then the earlier key must stay in MLHUB_SECRET_KEY_FALLBACKS: without it nothing decrypts these values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import InvalidToken
from django.db import models, transaction

from mlhub.core.security.encryption import cipher
from mlhub.environments import secrets
from mlhub.environments.models import ProjectSecret
from mlhub.tenants.actions.sign_in import second_factor
from mlhub.tenants.models import SecondFactor
from mlhub.webhooks import actions as webhooks
from mlhub.webhooks.models import Webhook


@dataclass(frozen=True)
class EncryptedColumn:
    """plural: what its rows are to people. named: one of them."""

    model: type[models.Model]
    field: str
    purpose: str
    plural: str
    named: Callable[[Any], str]
    remedy: str


COLUMNS = (
    EncryptedColumn(
        ProjectSecret, "encrypted", secrets.PURPOSE, "secrets of projects",
        lambda row: f"the secret {row.name} of the project {row.project.name} ({row.project_id})", "set it again",
    ),
    EncryptedColumn(
        Webhook, "encrypted_secret", webhooks.PURPOSE, "webhooks",
        lambda row: f"the webhook {row.id} of {row.organisation.name}", "make it anew",
    ),
    EncryptedColumn(
        SecondFactor, "encrypted_secret", second_factor.PURPOSE, "second factors",
        lambda row: f"the second factor of {row.user.username}", "reset it on the page Users",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Reencrypted:
    """counts: rows by what they are, that the keys decrypt. lost: what none decrypts, with the remedy."""

    counts: dict[str, int]
    lost: list[str]


def reencrypt(*, is_trial: bool = False) -> Reencrypted:
    """Row by row; one that is interrupted is repeated. is_trial: only decrypts, and changes nothing."""
    counts, lost = {}, []
    for column in COLUMNS:
        counts[column.plural] = 0
        for pk in list(column.model._default_manager.order_by("pk").values_list("pk", flat=True)):
            missing = _renew(column, pk, is_trial=is_trial)
            counts[column.plural] += missing is None
            lost += [missing] if missing else []
    return Reencrypted(counts, lost)


def _renew(column: EncryptedColumn, pk: Any, *, is_trial: bool) -> str | None:
    """None: done, or the row is gone; else what is lost. The row is locked: a value that a person sets now counts."""
    with transaction.atomic():
        row: Any = column.model._default_manager.select_for_update().filter(pk=pk).first()
        if row is None:
            return None
        stored = getattr(row, column.field)
        is_text = isinstance(stored, str)
        try:
            renewed = cipher(column.purpose).rotate(stored.encode() if is_text else bytes(stored))
        except InvalidToken:
            return f"{column.named(row)}: {column.remedy}"
        if not is_trial:
            value = renewed.decode() if is_text else renewed
            column.model._default_manager.filter(pk=pk).update(**{column.field: value})
    return None
