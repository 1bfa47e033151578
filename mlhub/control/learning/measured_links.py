# SPDX-License-Identifier: Apache-2.0
"""Network links as they were measured, for the snapshot."""

from __future__ import annotations

from mlhub.clusters.models import LinkEstimate


def slow_links() -> dict[tuple[str, str], float]:
    """Returns the measured bit/s of the links that were found to be clearly slower than declared, by kind and name."""
    found = LinkEstimate.objects.filter(slow_since__isnull=False, bps__gt=0)
    return {(kind, name): bps for kind, name, bps in found.values_list("kind", "name", "bps")}
