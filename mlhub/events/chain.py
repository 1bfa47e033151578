# SPDX-License-Identifier: Apache-2.0
"""The hash chain of events: each holds the hash of the one before, so that no past event can be changed unseen.

The hash of an event is the SHA-256 of the hash before it and of its content as canonical JSON. It proves that events
have not been changed one by one; who rewrites all of them is found by a head that was kept elsewhere (verify_audit).
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC
from decimal import Decimal
from typing import Any

GENESIS = "0" * 64  # stands for the hash before the first event
CONTENT = ("id", "organisation_id", "kind", "subject_kind", "subject_id", "actor_id", "at", "facts")


def hash_of(event: Any, previous_hash: str) -> str:
    """The hash in hex. event: a row, or anything with the attributes of CONTENT."""
    content = {name: getattr(event, name) for name in CONTENT}
    content["at"] = event.at.astimezone(UTC).isoformat(timespec="microseconds")
    for name in ("organisation_id", "subject_id", "actor_id"):
        content[name] = None if content[name] is None else str(content[name])
    content["facts"] = _canonical(event.facts)
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(f"{previous_hash}\n{text}".encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """Numbers as texts in one form: PostgreSQL gives 1e22 back as an integer, and -0.0 as 0.0."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return ["number", "0" if value == 0 else str(Decimal(repr(value)).normalize())]
    if isinstance(value, dict):
        return {str(key): _canonical(each) for key, each in value.items()}
    return [_canonical(each) for each in value]
