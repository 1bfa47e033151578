# SPDX-License-Identifier: Apache-2.0
"""The prior's terms of one synchronisation on a layout, which the fit of a speed model scales."""

from __future__ import annotations

from scheduler.api.snapshot import Mode, SpeedObservation
from scheduler.models.bounded_tables import BoundedTable
from scheduler.models.layout import Layout
from scheduler.models.network.bandwidth import all_reduce_wire_s, parameter_server_wire_s

HOP_S = 25e-6  # one message between two processes
INSIDE = 0.25  # of that, within a node
SERVER_STEP_S = 400e-6  # a server's fixed part of a step: unpack, sum, optimise, pack
MAX_ENTRIES = 100_000

Terms = tuple[float, float, float]  # seconds: latency, wires, crowding of several workers on a node


def sync_terms(layout: Layout, mode: Mode, *, parameters_bytes: int) -> Terms:
    """Returns the prior's seconds of a synchronisation: (latency, wires, crowding of several workers on a node).

    The prior has no crowding (NICs and buses are shared fairly); its factor starts at 0.
    """
    if mode is Mode.PARAMETER_SERVER:
        wire = parameter_server_wire_s(layout, parameters_bytes=parameters_bytes)
        latency = SERVER_STEP_S + 2 * HOP_S * (layout.n_workers + layout.n_servers) if layout.n_servers else 0.0
    else:
        wire = all_reduce_wire_s(layout, parameters_bytes=parameters_bytes)
        latency = 2 * HOP_S * (layout.n_nodes - 1 + INSIDE * (layout.n_workers / layout.n_nodes - 1))
    crowding = wire * (layout.n_workers / layout.n_nodes - 1) * 2 / layout.n_nodes if layout.n_nodes > 1 else 0.0
    return latency, wire, crowding


def observed_layout(o: SpeedObservation, *, nic_bps: float) -> Layout:
    """Returns the layout of a past measurement as far as it is known: workers spread evenly over nodes and racks with
    such links.
    """
    n_nodes = max(1, min(o.n_nodes, o.n_workers))
    each, more = divmod(o.n_workers, n_nodes)
    workers = tuple(each + (i < more) for i in range(n_nodes))
    n_racks = max(1, min(o.n_racks, n_nodes))
    rack = tuple(i * n_racks // n_nodes for i in range(n_nodes))
    layout = Layout(workers, (0,) * n_nodes, (nic_bps,) * n_nodes, rack, (nic_bps,) * n_racks, o.gpu_type)
    return layout.with_servers(o.n_servers)


class SyncTerms:
    """Keeps sync_terms() of layouts and of observations, each worked out once. Speed models of one cache share it."""

    def __init__(self) -> None:
        self._by_layout = BoundedTable[tuple[Layout, Mode, int], Terms](MAX_ENTRIES)
        self._by_observation = BoundedTable[tuple[object, ...], Terms](MAX_ENTRIES)

    def of(self, layout: Layout, mode: Mode, *, parameters_bytes: int) -> Terms:
        """Returns sync_terms() of the layout, from the table where they are known."""
        key = (layout, mode, parameters_bytes)
        found = self._by_layout.get(key)
        if found is None:
            found = self._by_layout.store(key, sync_terms(layout, mode, parameters_bytes=parameters_bytes))
        return found

    def observed(self, o: SpeedObservation, *, nic_bps: float, parameters_bytes: int) -> Terms:
        """Returns the terms of observed_layout()."""
        key = (o.mode, o.n_workers, o.n_servers, o.n_nodes, o.n_racks, o.gpu_type, nic_bps, parameters_bytes)
        found = self._by_observation.get(key)
        if found is None:
            layout = observed_layout(o, nic_bps=nic_bps)
            found = self._by_observation.store(key, sync_terms(layout, o.mode, parameters_bytes=parameters_bytes))
        return found
