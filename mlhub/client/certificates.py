# SPDX-License-Identifier: Apache-2.0
"""The authorities that a client trusts: read once a process, since reading them takes longer than most requests do."""

from __future__ import annotations

import os
from pathlib import Path
from ssl import SSLContext

import httpx

_known: dict[tuple[str | None, str | None, int], SSLContext] = {}


def authorities() -> SSLContext:
    """Those of SSL_CERT_FILE or SSL_CERT_DIR where they are set, else those that come with httpx.

    A file that was replaced is read again. Raises FileNotFoundError when it is not there.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    source = file, folder, Path(file).stat().st_mtime_ns if file else 0
    if source not in _known:
        _known[source] = httpx.create_ssl_context()
    return _known[source]
