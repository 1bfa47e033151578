# SPDX-License-Identifier: Apache-2.0
"""What PostgreSQL refused, by its own codes."""

from __future__ import annotations

from django.db import InternalError

DISK_FULL = "53100"
READ_ONLY_TRANSACTION = "25006"  # a standby, or a primary that was set to read only


def code_of(exception: BaseException) -> str | None:
    """What PostgreSQL calls the error."""
    return getattr(exception.__cause__, "pgcode", None)


def is_of_read_only_database(exception: BaseException | None) -> bool:
    return isinstance(exception, InternalError) and code_of(exception) == READ_ONLY_TRANSACTION
