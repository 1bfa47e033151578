# SPDX-License-Identifier: Apache-2.0
"""A gang's allocation as JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler.api.snapshot import GangAllocation, Mode, NodeAllocation


def allocation_to_json(allocation: GangAllocation) -> dict[str, Any]:
    """Returns a gang allocation as JSON values, which allocation_from_json() reads back exactly."""
    shares = [{"node": s.node, "gpus": list(s.gpus), "n_servers": s.n_servers} for s in allocation.shares]
    return {
        "mode": allocation.mode.value,
        "n_workers": allocation.n_workers,
        "n_servers": allocation.n_servers,
        "shares": shares,
    }


def allocation_from_json(value: Mapping[str, Any]) -> GangAllocation:
    """Returns the gang allocation that allocation_to_json() wrote.

    Raises KeyError, TypeError or ValueError for any other value.
    """
    shares = tuple(NodeAllocation(s["node"], tuple(s["gpus"]), s["n_servers"]) for s in value["shares"])
    return GangAllocation(Mode(value["mode"]), value["n_workers"], value["n_servers"], shares)
