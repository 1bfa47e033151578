# SPDX-License-Identifier: Apache-2.0
"""The authorities whose certificates this process trusts, read once: reading takes longer than most requests do."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from ssl import SSLContext

import httpx

_configured: dict[tuple[str | None, str | None, int], SSLContext] = {}


@cache
def public_authorities() -> SSLContext:
    """Those that come with the packages, whatever the environment says: for addresses that users name."""
    return httpx.create_ssl_context(trust_env=False)


def configured_authorities() -> SSLContext:
    """Those of SSL_CERT_FILE or SSL_CERT_DIR, as httpx reads them, where they are set; else the public ones.

    A file that was replaced is read again. Raises FileNotFoundError when it is not there.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    source = file, folder, Path(file).stat().st_mtime_ns if file else 0
    if source not in _configured:
        _configured[source] = httpx.create_ssl_context()
    return _configured[source]
