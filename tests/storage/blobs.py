# SPDX-License-Identifier: Apache-2.0
"""Files for tests of inspections, put into the store of the settings."""

from __future__ import annotations

from pathlib import Path

from mlhub.storage.stores import blob_store
from mlhub.wire.sandbox import BlobArgument


def stored(path: Path) -> BlobArgument:
    with path.open("rb") as file:
        found = blob_store().write(file, limit_bytes=2**32)
    return BlobArgument(found.sha256, found.size_bytes)
