# SPDX-License-Identifier: Apache-2.0
"""What an API server does to a body before it stores it: unknown fields, wrong values, and what must not be changed."""

from __future__ import annotations

import copy
import re
from typing import Any

from tests.backends.kubernetes.schema import MODELS, problems
from tests.backends.kubernetes.store import Object, RefusedError, merged

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
WITH_SHORT_NAMES = ("Service", "Namespace")  # of at most 63 characters; others may have 253


def validated(body: Object, *, is_strict: bool) -> Object:
    """The body as it is stored. Unknown fields are dropped, or with strict validation refused, as servers do it."""
    if (body.get("apiVersion", ""), body.get("kind", "")) not in MODELS:
        return body
    found = problems(body)
    unknown = [p.removesuffix(": unknown field") for p in found if p.endswith(": unknown field")]
    if unknown and is_strict:
        listed = ", ".join(f'unknown field "{place.partition(".")[2]}"' for place in unknown)
        raise RefusedError(400, f"strict decoding error: {listed}", "BadRequest")
    kept = copy.deepcopy(body)
    for place in unknown:
        _drop(kept, place.split(".")[1:])
    wrong = (problems(kept) if unknown else found) + _metadata_problems(body)
    if wrong:
        kind, name = body["kind"], body["metadata"].get("name")
        raise RefusedError(422, f'{kind} "{name}" is invalid: {"; ".join(wrong)}', "Invalid")
    return kept


def check_change(plural: str, before: Object, change: Object) -> None:
    """Raises RefusedError for what is immutable once it is made."""
    after = merged(before, change)
    is_held = plural in ("configmaps", "secrets") and before.get("immutable")
    if is_held and any(after.get(key) != before.get(key) for key in ("data", "stringData", "immutable")):
        raise RefusedError(422, "data: Forbidden: field is immutable when `immutable` is set", "Invalid")
    if plural == "resourceclaims" and after.get("spec") != before.get("spec"):
        raise RefusedError(422, "spec: Invalid value: field is immutable", "Invalid")
    if plural == "pods":
        _check_pod(before, after)
    added = set(after["metadata"].get("finalizers") or []) - set(before["metadata"].get("finalizers") or [])
    if before["metadata"].get("deletionTimestamp") and added:
        why = "Forbidden: no new finalizers can be added if the object is being deleted"
        raise RefusedError(422, f"metadata.finalizers: {why}", "Invalid")


def _check_pod(before: Object, after: Object) -> None:
    old, new = dict(before["spec"]), dict(after["spec"])
    gates, left = old.pop("schedulingGates", None) or [], new.pop("schedulingGates", None) or []
    if old != new:
        why = "pod updates may not change fields other than image, tolerations (only additions) and schedulingGates"
        raise RefusedError(422, f"spec: Forbidden: {why}", "Invalid")
    if any(gate not in gates for gate in left):
        raise RefusedError(422, "spec.schedulingGates: Forbidden: only deletion is allowed", "Invalid")


def _metadata_problems(body: Object) -> list[str]:
    name, longest = str(body["metadata"].get("name", "")), 63 if body["kind"] in WITH_SHORT_NAMES else 253
    found = [] if SUBDOMAIN.fullmatch(name) and len(name) <= longest else [f"metadata.name: Invalid value: {name!r}"]
    labels = body["metadata"].get("labels") or {}
    found += [f"metadata.labels: Invalid value: {v!r}" for v in labels.values() if not LABEL_VALUE.fullmatch(v)]
    owners = body["metadata"].get("ownerReferences") or []
    return found + [
        f"metadata.ownerReferences.{key}: Required value"
        for owner in owners
        for key in ("apiVersion", "kind", "name", "uid")
        if not owner.get(key)
    ]


def _drop(found: Any, place: list[str]) -> None:
    *above, last = place
    for step in above:
        name, *numbers = re.findall(r"[^\[\]]+", step)
        found = found[name]
        for number in numbers:
            found = found[int(number)]
    found.pop(last, None)
