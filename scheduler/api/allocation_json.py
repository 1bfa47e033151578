# SPDX-License-Identifier: Apache-2.0
"""A gang's allocation as JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler.api.snapshot import GangAllocation, Mode, NodeAllocation


def allocation_to_json(allocation: GangAllocation) -> dict[str, Any]:
    shares = [{"node": s.node, "gpus": list(s.gpus), "n_servers": s.n_servers} for s in allocation.shares]
    return {
        "mode": allocation.mode.value,
        "n_workers": allocation.n_workers,
        "n_servers": allocation.n_servers,
        "shares": shares,
    }


def allocation_from_json(value: Mapping[str, Any]) -> GangAllocation:
    """Raises KeyError, TypeError or ValueError for a value that allocation_to_json did not write."""
    shares = tuple(NodeAllocation(s["node"], tuple(s["gpus"]), s["n_servers"]) for s in value["shares"])
    return GangAllocation(Mode(value["mode"]), value["n_workers"], value["n_servers"], shares)
