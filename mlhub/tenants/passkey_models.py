# SPDX-License-Identifier: Apache-2.0
"""Passkeys of accounts. models.py names them, so that Django finds them."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.tenants.querysets import OwnQuerySet


class Passkey(models.Model):
    """A WebAuthn credential that opens an account. Nothing of it is secret: the private key never leaves its device.

    credential_id: base64url, as browsers send it. credential: id and public key (COSE), as the device attested them.
    counter: of signatures, of the last one; 0 for passkeys that count none. is_synced: whether it is kept in an
    account of its maker's and so on several devices.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey("tenants.User", on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=100)
    credential_id = models.CharField(max_length=1400, unique=True)
    credential = models.BinaryField()
    counter = models.BigIntegerField(default=0)
    is_synced = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = OwnQuerySet.as_manager()


class UsedChallenge(models.Model):
    """A challenge that was answered, kept until it would have expired: an answer counts once."""

    challenge_hash = models.CharField(max_length=64, primary_key=True)
    expires_at = models.DateTimeField(db_index=True)
