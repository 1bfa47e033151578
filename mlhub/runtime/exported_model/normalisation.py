# SPDX-License-Identifier: Apache-2.0
"""The default preprocessing of training; an export carries its module in the place of this one."""

from __future__ import annotations

from mlhub.runtime.data.normalisation import ColumnScale, Standardised

__all__ = ["ColumnScale", "Standardised"]
