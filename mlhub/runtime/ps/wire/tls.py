# SPDX-License-Identifier: Apache-2.0
"""TLS between a gang's members: both ends show a certificate of the gang's own authority, and trust no other.

The authority's key follows from the gang's secret, which only its pods have, so that nothing else must be handed out;
every member makes itself a leaf. TLS 1.3 only.
"""

from __future__ import annotations

import ssl
import tempfile

from mlhub.runtime.ps.wire.certificates import member_of


def context_for(secret: bytes, *, is_server: bool) -> ssl.SSLContext:
    """One for all of a process' connections."""
    member = member_of(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # every holder of a certificate is of the gang; addresses change with every attempt
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=member.trusted)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # ssl reads keys from files only; mode 600
        file.write(member.chain)
        file.flush()
        context.load_cert_chain(file.name)
    return context
