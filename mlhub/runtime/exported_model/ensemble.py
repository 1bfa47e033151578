# SPDX-License-Identifier: Apache-2.0
"""Models of several members; an export carries their module in the place of this one."""

from __future__ import annotations

from mlhub.runtime.model.ensemble import EnsembleModel, first_member, further_members

__all__ = ["EnsembleModel", "first_member", "further_members"]
