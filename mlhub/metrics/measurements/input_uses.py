# SPDX-License-Identifier: Apache-2.0
"""Which inputs a pod found in the cache of its machine, and which it fetched: believed where it can be true."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from mlhub.clusters.cached_inputs import InputUse, record_input_use
from mlhub.jobs.execution.inputs import inputs_of
from mlhub.jobs.models import Attempt
from mlhub.metrics.measurements.plausibility import SLACK_S, ImplausibleValue, record_refused
from mlhub.wire.report import MAX_INPUTS, PhaseReport

SHA256 = re.compile(r"[0-9a-f]{64}")
FASTEST_BPS = 1e12  # no pod fetches faster


def record_inputs(attempt: Attempt, report: PhaseReport, *, role: str, index: int) -> None:
    """Counts and remembers what one pod says of the attempt's inputs. What cannot be true is refused and costs itself.

    The node is the one to which the platform sent the pod, and sizes are those of the platform's own files.
    """
    placement = attempt.placement()
    nodes = [node for node, _ in placement.workers] if role == "worker" else placement.servers
    if index >= len(nodes):
        return
    items = report.detail.get("inputs")
    if not isinstance(items, list) or len(items) > MAX_INPUTS:
        record_refused(attempt, [ImplausibleValue("inputs", 0, f"It is no list of at most {MAX_INPUTS} inputs.")])
        return
    now = timezone.now()
    all_inputs = inputs_of(attempt.job)
    sizes = {item.sha256: item.size_bytes for item in all_inputs}
    lived_s = (now - attempt.created_at).total_seconds()
    uses: dict[str, InputUse] = {}
    refused = []
    for item in items:
        use = _use(item, sizes, most_s=lived_s + SLACK_S)
        if isinstance(use, ImplausibleValue):
            refused.append(use)
        else:
            uses.setdefault(use.sha256, use)
    if refused:
        record_refused(attempt, refused[:1])
    if uses:
        node = nodes[index]
        record_input_use(node, project=attempt.job.project_id, uses=list(uses.values()), now=now)
        _add_to_attempt(attempt, node, list(uses.values()), inputs_bytes=sum(sizes.values()))


def _use(item: Any, sizes: Mapping[str, int], *, most_s: float) -> InputUse | ImplausibleValue:
    """The use, or why it cannot be true."""
    if not isinstance(item, dict):
        return ImplausibleValue("inputs", 0, "An input is an object with sha256, is_found and seconds.")
    sha256, is_found, seconds = item.get("sha256"), item.get("is_found"), item.get("seconds")
    if not isinstance(sha256, str) or not SHA256.fullmatch(sha256) or sha256 not in sizes:
        return ImplausibleValue("inputs", 0, "The attempt has no input of that hash.")
    if not isinstance(is_found, bool):
        return ImplausibleValue("inputs.is_found", 0, "It must be true or false.")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= most_s:
        is_number = isinstance(seconds, int | float) and abs(seconds) < 1e300
        value = float(seconds) if is_number else 0.0  # type: ignore[arg-type]
        return ImplausibleValue("inputs.seconds", value, "The attempt has not existed for so long.")
    if not is_found and sizes[sha256] * 8 > FASTEST_BPS * max(seconds, 1e-3):
        return ImplausibleValue("inputs.seconds", float(seconds), f"{sizes[sha256]:,} bytes are not fetched so fast.")
    return InputUse(sha256, sizes[sha256], None if is_found else float(seconds))


def _add_to_attempt(attempt: Attempt, node: str, uses: list[InputUse], *, inputs_bytes: int) -> None:
    """Pods of one node fetch a file once: one of them does, and the others find it. The caller has locked the job."""
    known = Attempt.objects.values_list("inputs", flat=True).get(pk=attempt.pk)
    before = known.get(node, {"fetched_bytes": 0, "fetch_s": 0.0})
    fetched = [use for use in uses if use.fetch_s is not None]
    known[node] = {
        "inputs_bytes": inputs_bytes,
        "fetched_bytes": min(inputs_bytes, before["fetched_bytes"] + sum(use.size_bytes for use in fetched)),
        "fetch_s": before["fetch_s"] + sum(use.fetch_s or 0.0 for use in fetched),
    }
    Attempt.objects.filter(pk=attempt.pk).update(inputs=known)
