# SPDX-License-Identifier: Apache-2.0
"""Policies that misbehave. Loaded by deciding processes too, so there is no Django here."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler import policy_named
from scheduler.policies.toolkit.policy import Proposal, View
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Broken:
    """Raises whenever it is asked."""

    name: str = "broken"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        raise ZeroDivisionError("a bug")


@dataclass(frozen=True)
class Allergic:
    """Raises when a job of a certain name takes part, and gives nothing to others."""

    name: str = "allergic"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        if any(job.name == "indigestible" for job in view.jobs):
            raise ZeroDivisionError("a bug")
        return policy_named("fifo", {}).propose(view, budget=budget, memory=memory)


@dataclass(frozen=True)
class Endless:
    """Never answers."""

    name: str = "endless"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        while True:
            time.sleep(1)


@dataclass(frozen=True)
class Deadly:
    """Takes the process with it, as one that uses up the memory would."""

    name: str = "deadly"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        os._exit(1)
