"""TLS between a gang's members: both ends show a certificate of the gang's own authority, and trust no other.

The authority's key follows from the gang's secret, which only its pods have, so that nothing else must be handed out;
every member makes itself a leaf. TLS 1.3 only.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import ssl
import tempfile

from mlhub.runtime.ps.certificates import Key, certificate

AUTHORITY = "gang"


def context_for(secret: bytes, *, is_server: bool) -> ssl.SSLContext:
    """One for all of a process' connections."""
    authority = Key(hmac.new(secret, b"certificate authority", hashlib.sha256).digest())
    trusted = certificate(AUTHORITY, authority.public, issuer=AUTHORITY, signer=authority, is_authority=True)
    own = Key(secrets.token_bytes(32))
    leaf = certificate("member", own.public, issuer=AUTHORITY, signer=authority)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # whoever has a certificate is of the gang; addresses change with every attempt
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=trusted)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # ssl reads keys from files only; mode 600
        file.write(own.pem() + leaf)
        file.flush()
        context.load_cert_chain(file.name)
    return context
