# SPDX-License-Identifier: Apache-2.0
"""Signatures of deliveries by the Standard Webhooks specification (standardwebhooks.com), which has libraries for
receivers in most languages: HMAC-SHA256 over id, time and body."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
SECRET_BYTES = 24


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def headers_of(identity: str, body: str, *, secret: str, at_s: int) -> dict[str, str]:
    """The headers that let the receiver check who sent the body, and when. at_s: seconds since 1970."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{identity}.{at_s}.{body}".encode()
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": identity, "webhook-timestamp": str(at_s), "webhook-signature": f"v1,{signature}"}
