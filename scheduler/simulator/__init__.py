# SPDX-License-Identifier: Apache-2.0
"""Replays traces through the same decide() as the live platform: traces, clusters, environments, the engine, reports.

Reads no files: texts come in, results go out; scheduler/commands/ touches the disk.
"""

from scheduler.simulator.engine import simulate
from scheduler.simulator.environments.environment import Arrival, Environment
from scheduler.simulator.outcome import SimulationOutcome

__all__ = ["Arrival", "Environment", "SimulationOutcome", "simulate"]
