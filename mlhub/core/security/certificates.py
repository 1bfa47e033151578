# SPDX-License-Identifier: Apache-2.0
"""The authorities whose certificates this process trusts, read once: reading takes longer than most requests do.

Those of the site (MLHUB_CA_FILE) count next to all others.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import httpx
from django.conf import settings

Source = tuple[str | None, str | None, int, str, int]
_read: dict[Source, ssl.SSLContext] = {}


def public_authorities() -> ssl.SSLContext:
    """Those that come with the packages, whatever the environment says: for addresses that users name.

    A file that was replaced is read again. Raises OSError when it cannot be read.
    """
    return _authorities(None, None)


def configured_authorities() -> ssl.SSLContext:
    """Those of SSL_CERT_FILE or SSL_CERT_DIR, as httpx reads them, where they are set; else the public ones.

    A file that was replaced is read again. Raises OSError when it cannot be read.
    """
    return _authorities(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


def certificates_of_programs() -> str:
    """The certificates, in PEM, that a program is given which reads one file alone: those of SSL_CERT_FILE or the
    public ones, and those of the site. Raises OSError."""
    trusted = _authorities(os.environ.get("SSL_CERT_FILE"), None)
    return "".join(map(ssl.DER_cert_to_PEM_cert, trusted.get_ca_certs(binary_form=True)))


def check_authorities(file: str) -> None:
    """Raises ValueError for a file that has no certificates or cannot be read."""
    try:
        found = ssl.create_default_context(cafile=file).get_ca_certs()
    except OSError as error:  # what OpenSSL says is one, too
        raise ValueError(f"{file} cannot be read: {error}; name a file of certificates in PEM") from error
    if not found:
        raise ValueError(f"{file} has no certificate of an authority; name a file of certificates in PEM")


def _authorities(file: str | None, folder: str | None) -> ssl.SSLContext:
    own: str = settings.CA_FILE
    source = file, folder, _changed_at(file), own, _changed_at(own)
    if source not in _read:
        context = httpx.create_ssl_context(trust_env=bool(file or folder))
        if own:
            context.load_verify_locations(own)
        _read[source] = context
    return _read[source]


def _changed_at(file: str | None) -> int:
    return Path(file).stat().st_mtime_ns if file else 0
