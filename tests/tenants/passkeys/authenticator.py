# SPDX-License-Identifier: Apache-2.0
"""An authenticator in software: makes passkeys (ES256) and signs with them, honestly unless a test asks for more."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode

ORIGIN = "http://localhost:8000"
PRESENT, VERIFIED, SYNCED, ATTESTED = 0x01, 0x04, 0x18, 0x40


@dataclass
class SoftPasskey:
    """counter: of signatures; None for a passkey that counts none."""

    id: bytes
    key: ec.EllipticCurvePrivateKey
    user_handle: bytes
    counter: int | None = 0


class SoftAuthenticator:
    def __init__(self) -> None:
        self.passkeys: list[SoftPasskey] = []

    def create(
        self, options: dict[str, Any], *, origin: str = ORIGIN, counts: bool = True, flags: int = PRESENT | VERIFIED
    ) -> dict[str, str]:
        """What a page sends of navigator.credentials.create()."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = SoftPasskey(secrets.token_bytes(16), key, websafe_decode(options["user"]["id"]), 0 if counts else None)
        self.passkeys.append(made)
        public_key = cbor.encode(ES256.from_cryptography_key(key.public_key()))
        attested = bytes(16) + len(made.id).to_bytes(2, "big") + made.id + public_key
        data = _authenticator_data(options["rp"]["id"], flags | ATTESTED, 0) + attested
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        client_data = _client_data("webauthn.create", options["challenge"], origin)
        return {"client_data": websafe_encode(client_data), "attestation": websafe_encode(attestation)}

    def sign(
        self,
        options: dict[str, Any],
        *,
        passkey: SoftPasskey | None = None,
        origin: str = ORIGIN,
        flags: int = PRESENT | VERIFIED,
        rp_id: str | None = None,
        **client_data: Any,
    ) -> dict[str, str]:
        """What a page sends of navigator.credentials.get(). client_data: further members of what is signed."""
        used = passkey or self.passkeys[-1]
        if used.counter is not None:
            used.counter += 1
        data = _authenticator_data(rp_id or options["rpId"], flags, used.counter or 0)
        said = _client_data("webauthn.get", options["challenge"], origin, **client_data)
        signature = used.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        return {
            "id": websafe_encode(used.id),
            "client_data": websafe_encode(said),
            "authenticator_data": websafe_encode(data),
            "signature": websafe_encode(signature),
            "user_handle": websafe_encode(used.user_handle),
        }


def _authenticator_data(rp_id: str, flags: int, counter: int) -> bytes:
    return hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + counter.to_bytes(4, "big")


def _client_data(kind: str, challenge: str, origin: str, **more: Any) -> bytes:
    said = {"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False}
    return json.dumps(said | more).encode()
