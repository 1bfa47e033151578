# SPDX-License-Identifier: Apache-2.0
"""Values that are encrypted in the database by keys that follow from MLHUB_SECRET_KEY, one for each purpose.

After a rotation, MLHUB_SECRET_KEY_FALLBACKS still decrypt; what is written again is encrypted with the new key.
"""

from __future__ import annotations

import base64
import hashlib

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


def cipher(purpose: str) -> MultiFernet:
    """Encrypts with the present key, decrypts with earlier ones too (raises cryptography's InvalidToken)."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_derived(purpose, key)) for key in keys])


def _derived(purpose: str, key: str) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(f"{purpose}|{key}".encode()).digest())
