# SPDX-License-Identifier: Apache-2.0
"""Whether an object is still as MLHub applied it: its fields have their values; what others added is no drift. Pure."""

from __future__ import annotations

import re
from typing import Any

from mlhub.backends.kubernetes.client.objects import Manifest, Object
from mlhub.backends.kubernetes.client.quantities import quantity

QUANTITY = re.compile(r"[0-9.]+([eE][0-9]+)?[a-zA-Z]*")
EXACT = ("NetworkPolicy", "LimitRange")  # an addition to these changes what they mean


def differs(found: Object, wanted: Manifest) -> bool:
    """found: as the API server shows it, with defaults and status."""
    metadata, ours = found["metadata"], wanted["metadata"]
    for key in ("labels", "annotations"):
        if not _has(metadata.get(key) or {}, ours.get(key) or {}):
            return True
    kind = wanted["kind"]
    if kind == "PersistentVolumeClaim":
        return _size(found) < _size(wanted)  # an administrator may have made it larger; nothing else can be changed
    rest = [key for key in wanted if key not in ("apiVersion", "kind", "metadata")]
    if kind in EXACT:
        return any(not _is(found.get(key), wanted[key]) for key in rest)
    return any(not _has(found.get(key), wanted[key]) for key in rest)


def _has(found: Any, wanted: Any) -> bool:
    """Each field of wanted is in found with its value."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and _has(found[key], value) for key, value in wanted.items()
        )
    return _is(found, wanted)


def _is(found: Any, wanted: Any) -> bool:
    """Equal, but for the way in which quantities are written: 1000m is 1."""
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict) and found.keys() == wanted.keys() and all(_is(found[k], wanted[k]) for k in wanted)
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(_is, found, wanted))
    if isinstance(wanted, str) and isinstance(found, str) and found != wanted:
        return _is_quantity(found) and _is_quantity(wanted) and quantity(found) == quantity(wanted)
    return bool(found == wanted)


def _is_quantity(text: str) -> bool:
    return QUANTITY.fullmatch(text) is not None and quantity(text) > 0


def _size(claim: Object) -> float:
    return quantity(claim["spec"]["resources"]["requests"]["storage"])
