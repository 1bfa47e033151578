# SPDX-License-Identifier: Apache-2.0
"""What the connections between workers and servers are for; each request is declared for some of these."""

from __future__ import annotations

from enum import StrEnum


class Purpose(StrEnum):
    """What a connection is for."""

    TRAINING = "training"
    PUSHES_ONLY = "pushes only"  # weights are received on another connection, which was made before
    WEIGHTS_ONLY = "weights only"  # that other connection
    ORDERS = "orders"  # requests for batches, while an exchange is under way
    SNAPSHOTS = "snapshots"
    TABLES = "tables"  # of scripts: mlhub.runtime.compat.tables

    @property
    def is_training(self) -> bool:
        return self in (Purpose.TRAINING, Purpose.PUSHES_ONLY)


TRAINING = (Purpose.TRAINING, Purpose.PUSHES_ONLY)
