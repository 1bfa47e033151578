# SPDX-License-Identifier: Apache-2.0
"""The certificates of one gang: an authority that follows from its secret, and a leaf for each member."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gang")])
_MEMBER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "member")])
# a gang's certificates live as long as its secret, and pods' clocks may be wrong
_FROM, _UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@dataclass(frozen=True)
class GangMember:
    """PEM. trusted: the authority's certificate, the same for all of the gang; chain: own key and certificate."""

    trusted: str
    chain: str


def member_of(secret: bytes) -> GangMember:
    """A new member of the gang with that secret."""
    authority = Ed25519PrivateKey.from_private_bytes(
        hmac.new(secret, b"certificate authority", hashlib.sha256).digest()
    )
    own = Ed25519PrivateKey.generate()
    trusted = _certificate(_AUTHORITY, authority, signer=authority, serial=1, is_authority=True)
    leaf = _certificate(_MEMBER, own, signer=authority, serial=x509.random_serial_number(), is_authority=False)
    key = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return GangMember(_pem(trusted), key.decode() + _pem(leaf))


def _certificate(
    name: x509.Name, key: Ed25519PrivateKey, *, signer: Ed25519PrivateKey, serial: int, is_authority: bool
) -> x509.Certificate:
    usage = {
        "key_cert_sign": is_authority,
        "digital_signature": not is_authority,
        **dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign"), False
        ),
    }
    return (
        x509.CertificateBuilder(_AUTHORITY, name, key.public_key(), serial, _FROM, _UNTIL)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usage, encipher_only=False, decipher_only=False), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, algorithm=None)
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()
