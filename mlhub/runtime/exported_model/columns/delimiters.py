# SPDX-License-Identifier: Apache-2.0
"""The delimiters of CSV files; an export carries their module in the place of this one."""

from __future__ import annotations

from mlhub.wire.delimiters import delimiter_of

__all__ = ["delimiter_of"]
