# SPDX-License-Identifier: Apache-2.0
"""Reads of nodes."""

from __future__ import annotations

from typing import Any

from django.db import models


class NodeQuerySet(models.QuerySet[Any]):
    def gpus_by_type(self) -> dict[str, int]:
        """Returns how many GPUs these nodes have of each type, those that are away or closed included."""
        return {row["gpu_type"]: row["n"] for row in self.values("gpu_type").annotate(n=models.Sum("n_slots"))}
