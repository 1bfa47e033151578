# SPDX-License-Identifier: Apache-2.0
"""AntMan's sharing as Muri's simulator has it: what an opportunistic job's step takes with a guaranteed one."""

from __future__ import annotations

import math

from scheduler.models.interference.interleaving import Stages


def opportunistic_step_s(own: Stages, host: Stages, *, host_step_s: float) -> float:
    """Returns the seconds of a step of the opportunistic job, whose stages run while the host does not use the same
    resource.

    Counted in whole iterations of the host: each of the own stages needs as many as it fits into what the host leaves
    of them; what of an iteration is left over already serves the next stage.
    """
    load_s, compute_s, sync_s = own
    host_load_s, host_compute_s, host_sync_s = host
    n, rest_s = _rounds(load_s, host_compute_s + host_sync_s)
    n_host = n
    if rest_s > 0:
        n_host += 1
        compute_s -= min(compute_s, host_sync_s, host_compute_s + host_sync_s - rest_s)
    n, rest_s = _rounds(compute_s, host_load_s + host_sync_s)
    n_host += n
    if rest_s > 0:
        n_host += 1
        if rest_s < host_load_s:
            sync_s -= min(sync_s, host_load_s + host_compute_s - rest_s)
    n, rest_s = _rounds(sync_s, host_load_s + host_compute_s)
    n_host += n + (rest_s > host_load_s)
    return n_host * host_step_s


def _rounds(seconds: float, window_s: float) -> tuple[int, float]:
    """Whole windows, and what is left."""
    window_s = max(window_s, 1e-9)
    return math.floor(seconds / window_s), seconds % window_s
